"""A submission that is sent again is not done again."""

import threading
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection
from django.utils import timezone
from rest_framework.test import APIClient

from ggufhub.hub import idempotency
from ggufhub.hub.models import IdempotencyKey, Inspection, Upload
from tests import rows

URL = "/api/v1/inspections"
KEY = {"Idempotency-Key": "release-7"}
BODY = {"source": "https://host.example/a.gguf"}

pytestmark = pytest.mark.django_db


def age(**by: Any) -> None:
    IdempotencyKey.objects.update(created=timezone.now() - timedelta(**by))


def test_the_same_request_is_replayed(api: APIClient) -> None:
    first = api.post(URL, BODY, headers=KEY)
    again = api.post(URL, {**BODY, "profile": "publish"}, headers=KEY)
    assert (first.status_code, again.status_code) == (202, 202)
    assert "Idempotency-Replayed" not in first
    assert again["Idempotency-Replayed"] == "true"
    assert again.json() == first.json() and again["Location"] == first["Location"]
    assert Inspection.objects.count() == 1


def test_without_a_key_everything_is_new(api: APIClient) -> None:
    for _ in range(2):
        assert "Idempotency-Replayed" not in api.post(URL, BODY)
    assert Inspection.objects.count() == 2


@pytest.mark.parametrize(
    "body", [{"source": "https://host.example/b.gguf"}, {**BODY, "profile": "load"}]
)
def test_another_request_with_the_same_key_is_refused(api: APIClient, body: Any) -> None:
    api.post(URL, BODY, headers=KEY)
    answer = api.post(URL, body, headers=KEY)
    assert (answer.status_code, answer.json()["type"]) == (422, "/problems/key-reused")
    assert Inspection.objects.count() == 1


def test_while_the_first_runs_the_second_waits(api: APIClient) -> None:
    api.post(URL, BODY, headers=KEY)
    IdempotencyKey.objects.update(inspection=None)
    answer = api.post(URL, BODY, headers=KEY)
    assert (answer.status_code, answer.json()["type"]) == (409, "/problems/key-in-use")
    assert answer["Retry-After"] == "1"


def test_a_reservation_that_a_crash_left_lapses(api: APIClient) -> None:
    api.post(URL, BODY, headers=KEY)
    IdempotencyKey.objects.update(inspection=None)
    age(minutes=11)
    assert "Idempotency-Replayed" not in api.post(URL, BODY, headers=KEY)


def test_a_key_is_forgotten_after_a_day(api: APIClient) -> None:
    api.post(URL, BODY, headers=KEY)
    age(hours=23)
    assert "Idempotency-Replayed" in api.post(URL, BODY, headers=KEY)
    age(hours=25)
    assert "Idempotency-Replayed" not in api.post(URL, BODY, headers=KEY)
    assert IdempotencyKey.objects.count() == 1


def test_a_request_that_failed_may_be_corrected(api: APIClient) -> None:
    assert api.post(URL, {"source": "ftp://host.example/a"}, headers=KEY).status_code == 400
    assert api.post(URL, BODY, headers=KEY).status_code == 202


def test_files_are_compared_by_all_their_bytes(api: APIClient) -> None:
    def send(data: bytes) -> Any:
        file = SimpleUploadedFile("a.gguf", data)
        return api.post(URL, {"file": file}, format="multipart", headers=KEY)

    assert send(b"GGUF and more").status_code == 202
    assert send(b"GGUF and more")["Idempotency-Replayed"] == "true"
    assert send(b"GGUF and less").status_code == 422
    assert Upload.objects.get().path.read_bytes() == b"GGUF and more"


def test_a_replay_shows_how_it_stands_now(api: APIClient) -> None:
    upload = rows.upload_of(b"GGUF")
    made = api.post(URL, {"upload": str(upload.pk)}, headers=KEY).json()
    api.delete(f"{URL}/{made['id']}")
    again = api.post(URL, {"upload": str(upload.pk)}, headers=KEY)
    assert (again.status_code, again.json()["state"]) == (200, "cancelled")


@pytest.mark.parametrize("key", ["", "x" * 256, "schlüssel", "a\tb"])
def test_what_is_no_key_is_refused(api: APIClient, key: str) -> None:
    answer = api.generic(
        "POST", URL, b'{"source": "a/b"}', "application/json", HTTP_IDEMPOTENCY_KEY=key
    )
    assert answer.status_code == 400
    assert not Inspection.objects.exists()


def test_keys_of_different_callers_are_different(api: APIClient) -> None:
    for name in ("one", "two"):
        api.force_login(User.objects.create_user(name))
        assert "Idempotency-Replayed" not in api.post(URL, BODY, headers=KEY)


@pytest.mark.django_db(transaction=True)
def test_of_many_at_once_one_is_done(db: None) -> None:
    answers: list[int] = []
    start = threading.Barrier(8)

    def send() -> None:
        client = APIClient()
        start.wait()
        answers.append(client.post(URL, BODY, format="json", headers=KEY).status_code)
        connection.close()

    threads = [threading.Thread(target=send) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(answers) <= {202, 409} and 202 in answers
    assert Inspection.objects.count() == 1


def test_pruning_keeps_what_counts(api: APIClient) -> None:
    api.post(URL, BODY, headers=KEY)
    idempotency.prune(timezone.now())
    assert IdempotencyKey.objects.count() == 1
    idempotency.prune(timezone.now() + timedelta(hours=25))
    assert not IdempotencyKey.objects.exists()
