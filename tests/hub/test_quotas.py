"""What one user may have in all, and the room uploads leave on the disk."""

import shutil
from collections import namedtuple
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from ggufhub.hub import quotas, uploads
from ggufhub.hub.models import Inspection, Upload
from ggufhub.hub.quotas import QuotaExceeded
from tests import rows
from tests.live import Broker

pytestmark = pytest.mark.django_db

HEADERS = {"Tus-Resumable": "1.0.0"}


@pytest.fixture
def user(settings: Any, broker: Broker) -> User:
    settings.AUTH_MODE = "required"
    return User.objects.create_user("user")


@pytest.fixture
def signed_in(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


def submit(client: Client) -> Any:
    return client.post(
        "/api/v1/inspections", {"source": "https://a.example/m.gguf"}, "application/json"
    )


def test_inspections_of_a_day(signed_in: Client, user: User, settings: Any) -> None:
    settings.INSPECTIONS_PER_DAY = 2
    assert [submit(signed_in).status_code for _ in range(2)] == [202, 202]
    refused = submit(signed_in)
    assert (refused.status_code, refused.json()["type"]) == (429, "/problems/quota-exceeded")
    assert 86_000 < int(refused["Retry-After"]) <= 86_401
    oldest = Inspection.objects.earliest("created")
    Inspection.objects.filter(pk=oldest.pk).update(created=oldest.created - quotas.DAY)
    assert submit(signed_in).status_code == 202
    rows.queued(owner=User.objects.create_user("other"))


def test_the_page_says_so_too(signed_in: Client, settings: Any) -> None:
    settings.INSPECTIONS_PER_DAY = 1
    submit(signed_in)
    page = signed_in.post(reverse("viewer:submit"), {"link": "https://a.example/m.gguf"})
    assert page.status_code == 400 and "At most 1 inspections a day." in page.content.decode()


def test_stored_reports(signed_in: Client, user: User, settings: Any, tmp_path: Any) -> None:
    rows.finished(rows.built(b"GGUF", tmp_path), owner=user)
    settings.REPORTS_PER_USER = 1
    refused = submit(signed_in)
    assert refused.status_code == 429 and "Retry-After" not in refused
    Inspection.objects.update(audited=True)
    assert submit(signed_in).status_code == 202


def test_bytes_of_uploads(signed_in: Client, user: User, settings: Any) -> None:
    settings.UPLOAD_BYTES_PER_USER = 100
    make = {**HEADERS, "Upload-Length": "60"}
    first = signed_in.post("/api/v1/uploads", headers=make)
    assert first.status_code == 201
    refused = signed_in.post("/api/v1/uploads", headers=make)
    assert (refused.status_code, refused.json()["type"]) == (429, "/problems/quota-exceeded")
    uploads.delete_upload(Upload.objects.get())
    assert signed_in.post("/api/v1/uploads", headers=make).status_code == 201


def test_a_header_counts_what_came_of_it(user: User, settings: Any) -> None:
    settings.UPLOAD_BYTES_PER_USER = 100
    for _ in range(3):
        uploads.create_upload(owner=user, name="x", size=10**10, header_only=True)
    Upload.objects.update(received=40)
    with pytest.raises(QuotaExceeded):
        uploads.create_upload(owner=user, name="x", size=1)


def test_nobody_has_no_quota(settings: Any) -> None:
    settings.INSPECTIONS_PER_DAY = settings.UPLOAD_BYTES_PER_USER = 1
    quotas.check_inspection(None)
    quotas.check_upload(None, 10**12)


def test_a_disk_that_is_nearly_full(signed_in: Client, settings: Any, monkeypatch: Any) -> None:
    made = signed_in.post("/api/v1/uploads", headers={**HEADERS, "Upload-Length": "4"})
    Usage = namedtuple("Usage", "total used free")
    free = settings.DISK_FLOOR_BYTES + 3
    monkeypatch.setattr(shutil, "disk_usage", lambda _: Usage(10**12, 10**12 - free, free))
    begun = signed_in.post("/api/v1/uploads", headers={**HEADERS, "Upload-Length": "4"})
    more = signed_in.patch(
        made["Location"],
        b"GGUF",
        "application/offset+octet-stream",
        headers={**HEADERS, "Upload-Offset": "0"},
    )
    for refused in (begun, more):
        assert (refused.status_code, refused.json()["type"]) == (507, "/problems/storage-full")
    assert signed_in.get("/").status_code == 200
