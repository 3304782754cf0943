"""Audits over REST."""

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest
from rest_framework.test import APIClient

from ggufhub.hub import audit_steps, audits
from ggufhub.hub.audit_models import Audit, Schedule
from ggufhub.rules.model_samples import llama
from tests.audit.kit import write
from tests.audit.service import run, send_nothing

pytestmark = pytest.mark.django_db(transaction=True)

LIST = "/api/v1/audits"


@pytest.fixture(autouse=True)
def no_messages(monkeypatch: pytest.MonkeyPatch) -> None:
    send_nothing(monkeypatch)


@pytest.fixture
def done(tmp_path: Path, settings: Any) -> Audit:
    """A finished audit of a folder."""
    settings.ROOTS = (tmp_path,)
    write(tmp_path, {"m-F32.gguf": llama(), "bad.gguf": b"GGUF", "F16/m.gguf": llama()})
    audit = run(audits.start(None, audits.order(source=str(tmp_path))))
    assert audit.state == "done"
    return audit


def test_begin_and_follow(api: APIClient) -> None:
    answer = api.post(LIST, {"repository": "hf://org/repo", "filter": {"tags": ["Q4_K_M"]}})
    assert answer.status_code == 202, answer.content
    made = answer.json()
    assert answer["Location"] == f"{LIST}/{made['id']}"
    assert (made["state"], made["source"]) == ("queued", "hf://org/repo")
    assert api.get(answer["Location"]).json()["models"]["total"] == 0
    assert [one["id"] for one in api.get(LIST).json()["items"]] == [made["id"]]
    assert Audit.objects.get().wanted == {"tags": ["Q4_K_M"]}


def test_a_list_comes_as_urls_as_text_or_as_lines(api: APIClient) -> None:
    lines = "https://example.org/a.gguf\nhttps://example.org/b.gguf\n"
    for body in ({"urls": lines.split()}, {"manifest": lines}):
        answer = api.post(LIST, body)
        assert answer.status_code == 202, answer.content
        assert answer.json()["source"] == "a list of 2 links"
    answer = api.post(LIST, lines, content_type="application/x-ndjson")
    assert answer.status_code == 202
    assert Audit.objects.count() == 3


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"repository": "hf://a/b", "urls": ["https://example.org/a"]},
        {"repository": "not a source"},
        {"repository": "hf://a/b", "profile": "absent"},
        {"repository": "hf://a/b", "filter": {"smallest": -1}},
        {"repository": "hf://a/b", "schedule": "yearly"},
        {"urls": []},
        {"repository": "https://user:secret@example.org/x/"},
        {"repository": "hf://a/b", "filter": {"globs": ["\ud800"]}},
    ],
)
def test_what_makes_no_sense_is_refused(api: APIClient, body: dict[str, Any]) -> None:
    answer = api.post(LIST, json.dumps(body), content_type="application/json")
    assert answer.status_code == 400, answer.content
    assert answer["Content-Type"] == "application/problem+json"
    assert not Audit.objects.exists()


def test_lines_that_are_no_text_are_refused(api: APIClient) -> None:
    answer = api.post(LIST, b"\xff\xfe", content_type="application/x-ndjson")
    assert answer.status_code == 400


def test_models_are_filtered_sorted_and_paged(api: APIClient, done: Audit) -> None:
    place = f"{LIST}/{done.pk}/models"
    assert api.get(place).json()["total"] == 3
    (bad,) = api.get(place, {"verdict": "fail"}).json()["items"]
    assert bad["path"] == "bad.gguf"
    assert bad["errors"] > 0
    assert api.get(f"/api/v1/reports/{bad['inspection']}").status_code == 200
    assert api.get(place, {"q": "m-"}).json()["total"] == 1
    assert api.get(place, {"family": "m"}).json()["total"] == 2
    assert api.get(place, {"rule": "STR001"}).json()["total"] in (0, 1)
    largest = api.get(place, {"sort": "-size", "limit": 1}).json()["items"][0]
    assert largest["size"] == len(llama())
    assert api.get(place, {"start": 2}).json()["items"][0]["path"] == "m-F32.gguf"


def test_findings_and_changes(api: APIClient, done: Audit) -> None:
    findings = api.get(f"{LIST}/{done.pk}/findings").json()["findings"]
    assert {finding["rule"] for finding in findings} == {"AUD010"}
    assert api.get(f"{LIST}/{done.pk}/changes").json() == {"previous": None, "changes": None}


@pytest.mark.parametrize(
    ("name", "media_type"),
    [
        ("json", "application/json"),
        ("ndjson", "application/x-ndjson"),
        ("csv", "text/csv"),
        ("sarif", "application/sarif+json"),
        ("junit", "application/xml"),
        ("markdown", "text/markdown"),
        ("text", "text/plain"),
        ("html", "text/html"),
    ],
)
def test_exports(api: APIClient, done: Audit, name: str, media_type: str) -> None:
    answer = api.get(f"{LIST}/{done.pk}", {"format": name})
    assert answer["Content-Type"].startswith(media_type)
    assert "attachment" in answer["Content-Disposition"]
    assert b"bad.gguf" in b"".join(answer.streaming_content)


def test_csv_has_a_line_a_model(api: APIClient, done: Audit) -> None:
    answer = api.get(f"{LIST}/{done.pk}", {"format": "csv"})
    text = b"".join(answer.streaming_content).decode()
    assert len(list(csv.DictReader(io.StringIO(text)))) == 3 + 1


def test_an_unfinished_audit_is_exported_as_far_as_it_is(api: APIClient) -> None:
    audit = audits.start(None, audits.order(links="https://example.org/a.gguf"))
    answer = api.get(f"{LIST}/{audit.pk}", {"format": "json"})
    document = json.loads(b"".join(answer.streaming_content))
    assert document["models"] == []
    assert document["totals"]["models"] == 0


def test_cancel(api: APIClient) -> None:
    audit = audits.start(None, audits.order(links="https://example.org/a.gguf"))
    for _ in range(2):
        answer = api.delete(f"{LIST}/{audit.pk}")
        assert (answer.status_code, answer.json()["state"]) == (202, "cancelled")
    assert not audit_steps.lease(audit.pk, audit.created)


def test_schedules(api: APIClient) -> None:
    made = api.post(LIST, {"repository": "hf://org/repo", "schedule": "weekly"}).json()
    (schedule,) = api.get("/api/v1/schedules").json()["items"]
    assert made["schedule"] == schedule["id"]
    assert schedule["every"] == "weekly"
    assert api.delete(f"/api/v1/schedules/{schedule['id']}").status_code == 204
    assert not Schedule.objects.exists()
    assert Audit.objects.count() == 1


def test_inspections_of_audits_are_not_listed_among_the_others(api: APIClient, done: Audit) -> None:
    assert api.get("/api/v1/inspections").json()["items"] == []
    assert len(api.get("/api/v1/inspections", {"audit": str(done.pk)}).json()["items"]) == 3
