"""The tus protocol, as a client sees it."""

import base64
import io
import uuid
from typing import Any

import pytest
from django.conf import settings as django_settings
from django.core.files.uploadedfile import SimpleUploadedFile
from rest_framework.test import APIClient

from ggufhub.hub import services, uploads
from ggufhub.hub.models import Inspection, Upload
from tests import rows
from tests.builders import small_model

URL = "/api/v1/uploads"
TUS = {"Tus-Resumable": "1.0.0"}
BYTES = "application/offset+octet-stream"

pytestmark = pytest.mark.django_db


def create(api: APIClient, size: object = 10, metadata: str = "") -> Any:
    return api.post(URL, headers={**TUS, "Upload-Length": str(size), "Upload-Metadata": metadata})


def patch(
    api: APIClient, place: str, data: bytes, offset: object = 0, content_type: str = BYTES
) -> Any:
    headers = {**TUS, "Upload-Offset": str(offset)}
    return api.generic("PATCH", place, data, content_type=content_type, headers=headers)


def test_a_file_in_two_pieces(api: APIClient) -> None:
    name = base64.b64encode("modèle.gguf".encode()).decode()
    answer = create(api, 10, f"filename {name}")
    assert answer.status_code == 201
    place = answer["Location"]
    assert place.endswith(answer.json()["id"])
    first = patch(api, place, b"01234")
    assert (first.status_code, first["Upload-Offset"]) == (204, "5")
    head = api.head(place, headers=TUS)
    assert (head.status_code, head["Upload-Offset"], head["Upload-Length"]) == (200, "5", "10")
    assert head["Cache-Control"] == "no-store"
    assert patch(api, place, b"56789", 5)["Upload-Offset"] == "10"
    upload = Upload.objects.get()
    assert upload.name == "modèle.gguf" and not upload.header_only
    assert upload.path.read_bytes() == b"0123456789"


@pytest.mark.parametrize("offset", [0, 4, 6, 2**60])
def test_a_wrong_offset_is_a_conflict_that_says_the_right_one(api: APIClient, offset: int) -> None:
    place = create(api)["Location"]
    patch(api, place, b"01234")
    answer = patch(api, place, b"x", offset)
    assert (answer.status_code, answer["Upload-Offset"]) == (409, "5")
    assert answer.json()["type"] == "/problems/wrong-offset"
    assert answer["Tus-Resumable"] == "1.0.0"


def test_more_than_declared_is_too_large(api: APIClient) -> None:
    place = create(api)["Location"]
    assert patch(api, place, b"x" * 11).status_code == 413


def test_a_file_beyond_the_limit_is_too_large(api: APIClient, settings: Any) -> None:
    settings.UPLOAD_MAX_BYTES = 9
    assert create(api, 10).status_code == 413


@pytest.mark.parametrize("content_type", ["application/octet-stream", "", "text/plain"])
def test_another_content_type_is_refused(api: APIClient, content_type: str) -> None:
    place = create(api)["Location"]
    assert patch(api, place, b"x", content_type=content_type).status_code == 415


@pytest.mark.parametrize("method", ["head", "patch", "delete"])
def test_an_unknown_upload_is_not_found(api: APIClient, method: str) -> None:
    headers = {**TUS, "Upload-Offset": "0"}
    place = f"{URL}/{uuid.uuid4()}"
    answer = api.generic(method.upper(), place, b"x", content_type=BYTES, headers=headers)
    assert answer.status_code == 404


def test_a_deleted_upload_is_gone(api: APIClient) -> None:
    place = create(api)["Location"]
    upload = Upload.objects.get()
    assert api.delete(place, headers=TUS).status_code == 204
    assert not upload.path.exists()
    assert api.head(place, headers=TUS).status_code == 404


@pytest.mark.parametrize("size", ["", "-1", "1.5", "ten", "9" * 30, "²"])
def test_a_length_that_is_none_is_refused(api: APIClient, size: str) -> None:
    assert create(api, size.encode("latin-1", "replace").decode("latin-1")).status_code == 400


@pytest.mark.parametrize("metadata", ["filename !!!", "filename aGk", "a b c"])
def test_metadata_that_is_not_base64_is_refused(api: APIClient, metadata: str) -> None:
    assert create(api, 10, metadata).status_code == 400


@pytest.mark.parametrize(
    ("metadata", "header_only"),
    [
        ("header_only", True),
        ("header_only dHJ1ZQ==", True),
        ("header_only ZmFsc2U=", False),
        ("", False),
    ],
)
def test_header_only_is_a_flag(api: APIClient, metadata: str, header_only: bool) -> None:
    assert create(api, 10**13, metadata).status_code in (201, 413)
    assert Upload.objects.filter(header_only=True).exists() == header_only


def test_another_version_of_the_protocol_is_refused(api: APIClient) -> None:
    answer = api.post(URL, headers={"Upload-Length": 10, "Tus-Resumable": "0.2"})
    assert (answer.status_code, answer["Tus-Version"]) == (412, "1.0.0")


def test_a_client_can_ask_what_is_possible(api: APIClient, settings: Any) -> None:
    answer = api.options(URL)
    assert answer.status_code == 204
    assert answer["Tus-Extension"] == "creation,termination"
    assert answer["Tus-Max-Size"] == str(settings.UPLOAD_MAX_BYTES)


def test_an_empty_upload_can_be_inspected(api: APIClient) -> None:
    upload_id = create(api, 0).json()["id"]
    answer = api.post("/api/v1/inspections", {"upload": upload_id})
    assert answer.status_code == 202


def test_bytes_that_were_asked_for_queue_the_inspection_again(api: APIClient) -> None:
    upload = rows.header_upload(bytes(10), 10**12, sent=10)
    row = services.submit_upload(owner=None, upload=upload)
    services.need_bytes(row.pk, services.claim(row.pk), offset=10, length=90)
    place = f"{URL}/{upload.pk}"
    patch(api, place, bytes(50), 10)
    assert api.get(f"/api/v1/inspections/{row.pk}").json()["needs"] == {
        "upload": str(upload.pk),
        "offset": 60,
        "length": 40,
    }
    patch(api, place, bytes(40), 60)
    assert api.get(f"/api/v1/inspections/{row.pk}").json()["needs"] is None
    assert Inspection.objects.get().needs_until is None
    assert services.claim(row.pk) == 2


def test_an_upload_deleted_while_its_bytes_come_is_gone(api: APIClient) -> None:
    upload = rows.upload_of(b"", name="m.gguf")
    Upload.objects.filter(pk=upload.pk).update(size=10)

    class Deletes(io.BytesIO):
        def read(self, size: int | None = -1, /) -> bytes:
            uploads.delete_upload(Upload.objects.get(pk=upload.pk))
            return super().read(size)

    with pytest.raises(Upload.DoesNotExist):
        uploads.append(upload, offset=0, stream=Deletes(b"0123456789"), length=10)
    assert list(django_settings.UPLOAD_DIR.glob(f"{upload.pk}*")) == []


def test_the_file_of_a_form_is_moved_and_not_copied(api: APIClient, monkeypatch: Any) -> None:
    def copied(*_: object, **__: object) -> None:
        raise AssertionError("the bytes were written a second time")

    data = small_model().build().ljust(3 * 1024**2, b"\0")  # beyond what Django keeps in memory
    monkeypatch.setattr(uploads, "append", copied)
    file = SimpleUploadedFile("../m.gguf", data)
    made = api.post("/api/v1/inspections", {"file": file}, format="multipart")
    assert made.status_code == 202
    upload = Upload.objects.get()
    assert (upload.name, upload.received, upload.complete) == ("m.gguf", len(data), True)
    assert upload.path.read_bytes() == data
