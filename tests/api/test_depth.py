"""Asking for every byte over the API."""

from typing import Any

import pytest
from rest_framework.test import APIClient

from ggufhub.hub import services
from ggufhub.hub.models import Inspection
from tests import rows
from tests.builders import small_model

pytestmark = pytest.mark.django_db

URL = "/api/v1/inspections"
DATA = small_model().build()


@pytest.mark.parametrize(("asked", "depth"), [({}, "header"), ({"depth": "full"}, "full")])
def test_the_depth_is_kept_and_shown(api: APIClient, asked: dict[str, str], depth: str) -> None:
    answer = api.post(URL, {"source": "org/repo", **asked})
    assert answer.status_code == 202
    assert answer.json()["depth"] == depth
    assert api.get(f"{URL}/{answer.json()['id']}").json()["depth"] == depth
    assert Inspection.objects.get().depth == depth


@pytest.mark.parametrize("depth", ["deep", "", None, 1])
def test_another_depth_is_a_problem(api: APIClient, depth: Any) -> None:
    answer = api.post(URL, {"source": "org/repo", "depth": depth})
    assert answer.status_code == 400
    assert answer.json()["errors"][0]["pointer"] == "/depth"


def test_a_whole_upload_is_read_whole(api: APIClient) -> None:
    upload = rows.upload_of(DATA)
    answer = api.post(URL, {"upload": str(upload.pk), "depth": "full"})
    assert (answer.status_code, answer.json()["depth"]) == (202, "full")


def test_a_whole_upload_with_an_expected_digest_is_read_whole(api: APIClient) -> None:
    upload = rows.upload_of(DATA)
    answer = api.post(URL, {"upload": str(upload.pk), "expected": {"sha256": "ab" * 32}})
    assert answer.json()["depth"] == "full"


def test_a_header_alone_is_refused(api: APIClient) -> None:
    upload = rows.header_upload(DATA, 10**9, sent=100)
    answer = api.post(URL, {"upload": str(upload.pk), "depth": "full"})
    assert answer.status_code == 400
    assert "only the header was uploaded" in answer.json()["detail"]
    assert not Inspection.objects.exists()


def test_how_far_it_is(api: APIClient) -> None:
    row = services.submit_url(owner=None, url="org/repo", depth="full")
    attempt = services.claim(row.pk)
    assert attempt is not None
    stage = "reading every byte, 31 % of 4,000,000,000 bytes"
    services.progress(row.pk, attempt, stage=stage, requests=9, bytes_read=1_240_000_000)
    answer = api.get(f"{URL}/{row.pk}").json()
    assert answer["stage"] == stage
    assert answer["reads"]["bytes"] == 1_240_000_000
