"""Submitting, following and cancelling over HTTP."""

import threading
import time
import uuid
from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection
from rest_framework.test import APIClient

from ggufhub.api import waiting
from ggufhub.hub import services
from ggufhub.hub.models import Inspection, Report, State
from tests import rows
from tests.builders import small_model

URL = "/api/v1/inspections"

pytestmark = pytest.mark.django_db


def test_a_link_is_accepted(api: APIClient) -> None:
    answer = api.post(URL, {"source": "https://host.example/a.gguf?token=secret"})
    assert answer.status_code == 202
    body = answer.json()
    assert answer["Location"] == f"{URL}/{body['id']}"
    assert answer["Retry-After"] == "1"
    assert (body["state"], body["name"], body["report"]) == ("queued", "a.gguf", None)
    assert "secret" not in answer.content.decode()


def test_a_file_in_a_form_is_accepted(api: APIClient) -> None:
    file = SimpleUploadedFile("a.gguf", b"GGUF and more")
    answer = api.post(URL, {"file": file, "profile": "publish"}, format="multipart")
    assert answer.status_code == 202
    row = Inspection.objects.get()
    assert row.profile == "publish"
    assert row.upload.path.read_bytes() == b"GGUF and more"


def test_an_empty_file_in_a_form_is_accepted(api: APIClient) -> None:
    file = SimpleUploadedFile("empty.gguf", b"")
    assert api.post(URL, {"file": file}, format="multipart").status_code == 202


def test_a_form_beyond_the_limit_is_refused_unread(api: APIClient, settings: Any) -> None:
    settings.UPLOAD_MAX_BYTES = 10
    file = SimpleUploadedFile("a.gguf", bytes(100_000))
    answer = api.post(URL, {"file": file}, format="multipart")
    assert (answer.status_code, answer.json()["type"]) == (413, "/problems/too-large")


def test_an_upload_is_accepted(api: APIClient) -> None:
    upload = rows.upload_of(b"GGUF")
    answer = api.post(URL, {"upload": str(upload.pk)})
    assert answer.status_code == 202
    assert answer.json()["source"] == {
        "kind": "upload",
        "locator": "model.gguf",
        "upload": str(upload.pk),
    }


@pytest.mark.parametrize(
    "body",
    [
        {},
        [],
        {"source": "https://a.example/x", "upload": str(uuid.uuid4())},
        {"source": ["x"]},
        {"source": "https://a.example/x", "profile": "none"},
        {"upload": "no id"},
    ],
)
def test_what_is_no_submission_is_a_problem_with_pointers(api: APIClient, body: Any) -> None:
    answer = api.post(URL, body)
    assert answer.status_code == 400
    assert answer["Content-Type"] == "application/problem+json"
    problem = answer.json()
    assert problem["type"] == "/problems/invalid"
    assert problem["errors"] and {"pointer", "detail"} == set(problem["errors"][0])
    assert problem["request_id"] == answer["X-Request-Id"]


@pytest.mark.parametrize("source", ["hf://org/repo/m.gguf", "org/repo:Q8_0", "ollama://m:8b"])
def test_names_of_hubs_and_registries_are_sources(api: APIClient, source: str) -> None:
    answer = api.post(URL, {"source": source, "expected": {"sha256": "AB" * 32}})
    assert answer.status_code == 202
    assert answer.json()["source"]["locator"] == source
    assert Inspection.objects.get().expected == {"sha256": "ab" * 32}


@pytest.mark.parametrize("sha256", ["", "ab", "g" * 64, "a" * 65, None, 5])
def test_what_is_no_digest_is_a_problem(api: APIClient, sha256: Any) -> None:
    answer = api.post(URL, {"source": "org/repo", "expected": {"sha256": sha256}})
    assert answer.status_code == 400


@pytest.mark.parametrize("source", ["file:///etc/passwd", "http://u:p@h/x", "a\u0000b"])
def test_what_is_no_link_is_a_problem(api: APIClient, source: str) -> None:
    answer = api.post(URL, {"source": source})
    assert answer.status_code == 400
    assert not Inspection.objects.exists()


def test_an_upload_that_does_not_exist_is_not_found(api: APIClient) -> None:
    assert api.post(URL, {"upload": str(uuid.uuid4())}).status_code == 404


def test_broken_json_is_a_problem(api: APIClient) -> None:
    answer = api.generic("POST", URL, b"{", content_type="application/json")
    assert (answer.status_code, answer.json()["type"]) == (400, "/problems/parse-error")


@pytest.mark.parametrize("body", [b"[" * 100_000, b'{"source":' * 50_000])
def test_deep_json_is_a_problem(api: APIClient, body: bytes) -> None:
    answer = api.generic("POST", URL, body, content_type="application/json")
    assert (answer.status_code, answer.json()["type"]) == (400, "/problems/parse-error")


def test_large_json_is_refused_unread(api: APIClient) -> None:
    answer = api.generic("POST", URL, b" " * 2**21, content_type="application/json")
    assert answer.status_code == 413


@pytest.mark.parametrize(
    ("fields", "status"),
    [({"source": "x" * 3 * 2**20}, 413), ({f"f{n}": "x" for n in range(2000)}, 400)],
)
def test_large_forms_are_problems(api: APIClient, fields: dict[str, str], status: int) -> None:
    answer = api.post(URL, fields, format="multipart")
    assert answer.status_code == status
    assert answer["Content-Type"] == "application/problem+json"


def test_a_form_that_is_none_is_a_problem(api: APIClient) -> None:
    answer = api.generic("POST", URL, b"x", content_type="multipart/form-data")
    assert answer.status_code == 400


def test_another_content_type_is_a_problem(api: APIClient) -> None:
    answer = api.generic("POST", URL, b"x", content_type="text/plain")
    assert answer.status_code == 415


def test_a_finished_inspection_shows_what_was_found(api: APIClient, model: Report) -> None:
    body = api.get(f"{URL}/{model.pk}").json()
    assert body["state"] == "done"
    assert body["report"]["verdict"] == model.verdict
    assert body["error"] is None and body["needs"] is None


def test_a_failed_inspection_shows_why(api: APIClient) -> None:
    row = rows.queued()
    services.fail(row.pk, services.claim(row.pk), code="memory", message="Too much.")
    body = api.get(f"{URL}/{row.pk}").json()
    assert body["error"] == {"code": "memory", "message": "Too much."}


def test_a_header_only_inspection_says_what_it_needs(api: APIClient) -> None:
    upload = rows.header_upload(bytes(10), 1000, sent=10)
    row = services.submit_upload(owner=None, upload=upload)
    services.need_bytes(row.pk, services.claim(row.pk), offset=10, length=54)
    answer = api.get(f"{URL}/{row.pk}?wait=30")
    assert answer.json()["needs"] == {"upload": str(upload.pk), "offset": 10, "length": 54}


def test_cancelling_twice_is_harmless(api: APIClient) -> None:
    row = rows.queued()
    for _ in range(2):
        answer = api.delete(f"{URL}/{row.pk}")
        assert (answer.status_code, answer.json()["state"]) == (202, "cancelled")


def test_a_finished_inspection_cannot_be_cancelled(api: APIClient, model: Report) -> None:
    assert api.delete(f"{URL}/{model.pk}").json()["state"] == "done"


def test_the_list_is_paged_without_gaps_or_repeats(api: APIClient) -> None:
    made = [str(rows.queued().pk) for _ in range(7)]
    seen: list[str] = []
    link = f"{URL}?limit=3"
    while link:
        answer = api.get(link)
        page = answer.json()
        seen += [item["id"] for item in page["items"]]
        assert ('rel="next"' in answer.headers.get("Link", "")) == bool(page["next"])
        link = page["next"]
    assert seen == made[::-1]


def test_the_list_is_filtered(api: APIClient, model: Report) -> None:
    waiting_row = rows.queued()
    queued = api.get(f"{URL}?state=queued").json()["items"]
    assert [item["id"] for item in queued] == [str(waiting_row.pk)]
    done = api.get(f"{URL}?verdict={model.verdict}").json()["items"]
    assert [item["id"] for item in done] == [str(model.pk)]
    assert api.get(f"{URL}?state=asleep").status_code == 400


def test_the_list_costs_one_query(api: APIClient, django_assert_num_queries: Any) -> None:
    for _ in range(5):
        rows.queued()
    with django_assert_num_queries(1):
        api.get(URL)


@pytest.mark.parametrize("header", ["wait=0", "wait=x", "respond-async", "wait=-1"])
def test_a_preference_that_says_nothing_is_ignored(api: APIClient, header: str) -> None:
    row = rows.queued()
    answer = api.get(f"{URL}/{row.pk}", headers={"Prefer": header})
    assert answer.status_code == 200
    assert "Preference-Applied" not in answer


@pytest.mark.parametrize("wait", ["x", "-1", "61"])
def test_a_wait_out_of_range_is_a_problem(api: APIClient, wait: str) -> None:
    row = rows.queued()
    assert api.get(f"{URL}/{row.pk}?wait={wait}").status_code == 400


@pytest.mark.django_db(transaction=True)
def test_a_wait_ends_when_the_inspection_does(api: APIClient, tmp_path: Path) -> None:
    row = rows.queued()
    report = rows.built(small_model().build(), tmp_path)

    def work() -> None:
        time.sleep(0.3)
        services.finish(row.pk, services.claim(row.pk), report)
        connection.close()

    worker = threading.Thread(target=work)
    worker.start()
    answer = api.get(f"{URL}/{row.pk}", headers={"Prefer": "respond-async, wait=20"})
    worker.join()
    assert answer.json()["state"] == "done"
    assert answer["Preference-Applied"] == "wait=20"


def test_a_wait_gives_up(api: APIClient) -> None:
    row = rows.queued()
    began = time.monotonic()
    assert api.get(f"{URL}/{row.pk}?wait=1").json()["state"] == State.QUEUED
    assert time.monotonic() - began > 0.9


def test_half_of_the_threads_never_wait(api: APIClient, settings: Any) -> None:
    row = rows.queued()
    taken = settings.WEB_THREADS // 2
    for _ in range(taken):
        assert waiting._slots.acquire(blocking=False)
    try:
        answer = api.get(f"{URL}/{row.pk}?wait=30")
    finally:
        for _ in range(taken):
            waiting._slots.release()
    assert answer.status_code == 200
    assert "Preference-Applied" not in answer
