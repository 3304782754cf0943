"""Several uploads, one inspection: the shards of a split model."""

import uuid
from typing import Any

import pytest
from django.contrib.auth.models import User
from rest_framework.test import APIClient

from ggufhub.hub import services
from ggufhub.hub.models import Inspection, Upload
from ggufhub.limits import Limits
from tests import rows
from tests.shards import three_shards

URL = "/api/v1/inspections"
TUS = {"Tus-Resumable": "1.0.0"}

pytestmark = pytest.mark.django_db


def sent(owner: Any = None) -> list[Upload]:
    """The three shards as complete uploads."""
    return [rows.upload_of(data, name=name, owner=owner) for name, data in three_shards().items()]


def ids(uploads: list[Upload]) -> dict[str, list[str]]:
    return {"uploads": [str(upload.pk) for upload in uploads]}


def test_one_inspection_opens_the_first_shard_whatever_the_order(api: APIClient) -> None:
    first, second, third = sent()
    answer = api.post(URL, ids([third, first, second]))
    assert answer.status_code == 202
    body = answer.json()
    assert (body["name"], body["source"]["upload"]) == (first.name, str(first.pk))
    row = Inspection.objects.get()
    assert {shard.upload for shard in row.shards.all()} == {second, third}


def test_one_upload_in_a_list_is_like_one_alone(api: APIClient) -> None:
    upload = rows.upload_of(b"GGUF")
    body = api.post(URL, ids([upload])).json()
    assert body["source"] == {"kind": "upload", "locator": "model.gguf", "upload": str(upload.pk)}
    assert not Inspection.objects.get().shards.exists()


def test_a_form_takes_a_list_too(api: APIClient) -> None:
    assert api.post(URL, ids(sent()), format="multipart").status_code == 202
    assert Inspection.objects.get().shards.count() == 2


def test_bytes_are_asked_of_the_shard_that_lacks_them(api: APIClient) -> None:
    names = list(three_shards())
    uploads = [rows.header_upload(bytes(10), 10**12, sent=10, name=name) for name in names]
    row = services.submit_upload(owner=None, upload=uploads[0], others=uploads[1:])
    attempt = services.claim(row.pk)
    assert attempt is not None
    assert services.need_bytes(row.pk, attempt, offset=10, length=90, name=names[1])
    needs = api.get(f"{URL}/{row.pk}").json()["needs"]
    assert needs == {"upload": str(uploads[1].pk), "offset": 10, "length": 90}
    for upload, length in ((uploads[0], 90), (uploads[1], 90)):
        assert services.claim(row.pk) is None, "another shard's bytes are not what is needed"
        answer = api.generic(
            "PATCH",
            f"/api/v1/uploads/{upload.pk}",
            bytes(length),
            content_type="application/offset+octet-stream",
            headers={**TUS, "Upload-Offset": "10"},
        )
        assert answer.status_code == 204
    assert api.get(f"{URL}/{row.pk}").json()["needs"] is None
    assert services.claim(row.pk) == 2


def test_an_upload_of_somebody_else_is_not_found(api: APIClient, settings: Any) -> None:
    settings.AUTH_MODE = "required"
    owner, other = (User.objects.create_user(name) for name in ("owner", "other"))
    mine, foreign = sent(owner), sent(other)
    api.force_login(owner)
    assert api.post(URL, ids([*mine[:2], foreign[2]])).status_code == 404
    assert api.post(URL, ids(mine)).status_code == 202
    assert Inspection.objects.count() == 1


def test_an_unknown_upload_is_not_found(api: APIClient) -> None:
    uploads = sent()
    answer = api.post(URL, {"uploads": [str(uploads[0].pk), str(uuid.uuid4())]})
    assert answer.status_code == 404


def test_two_files_of_one_name_are_refused(api: APIClient) -> None:
    first, *_ = sent()
    again = rows.upload_of(b"GGUF", name=first.name)
    for uploads in ([first, again], [first, first]):
        answer = api.post(URL, ids(uploads))
        assert answer.status_code == 400
        assert "same name" in answer.json()["detail"]
    assert not Inspection.objects.exists()


def test_a_shard_that_is_not_complete_is_refused(api: APIClient) -> None:
    first, second, _ = sent()
    Upload.objects.filter(pk=second.pk).update(received=5)
    answer = api.post(URL, ids([first, second]))
    assert answer.status_code == 400
    assert f"{second.name} holds 5 of" in answer.json()["detail"]


@pytest.mark.parametrize(
    "body",
    [
        {"uploads": []},
        {"uploads": "x"},
        {"uploads": ["x"]},
        {"uploads": [str(uuid.UUID(int=1))], "upload": str(uuid.UUID(int=1))},
        {"uploads": [str(uuid.UUID(int=n)) for n in range(Limits().shards + 1)]},
    ],
)
def test_what_is_no_list_of_uploads_is_refused(api: APIClient, body: dict[str, Any]) -> None:
    assert api.post(URL, body).status_code in (400, 422)
