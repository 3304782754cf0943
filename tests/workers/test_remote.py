"""The task on names of hubs and registries, and on servers that have no time."""

from datetime import timedelta
from pathlib import Path

import pytest
from django.utils import timezone

from ggufhub.hub import selectors, services
from ggufhub.hub.models import Inspection, State
from tests.builders import small_model, vocabulary
from tests.core import rangeserver
from tests.core.fakehub import FakeHub
from tests.core.fakeregistry import IMAGE, FakeRegistry
from tests.core.rangeserver import RangeServer
from workers.inspect import inspect

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("loopback")]


def run(text: str) -> Inspection:
    row = services.submit_url(owner=None, url=text)
    inspect(str(row.pk))
    row.refresh_from_db()
    return row


def test_a_repository(monkeypatch: pytest.MonkeyPatch) -> None:
    with FakeHub({"m-Q4_K_M.gguf": vocabulary(500).build(), "m-Q8_0.gguf": b"GGUF"}) as hub:
        monkeypatch.setenv("HF_ENDPOINT", hub.endpoint)
        row = run("org/repo")
    assert (row.state, row.error_code) == (State.DONE, "")
    document = selectors.document(row.report)
    assert document["source"] == "hf://org/repo"
    assert document["name"] == "m-Q4_K_M.gguf"
    assert "Of 2 models" in document["notes"][1]


def test_a_model_in_a_registry(monkeypatch: pytest.MonkeyPatch) -> None:
    with FakeRegistry([(f"{IMAGE}model", small_model().build())]) as registry:
        monkeypatch.setenv("OLLAMA_REGISTRY", registry.base)
        row = run("ollama://tiny")
    assert row.state == State.DONE
    assert row.report.format_name == "gguf"


def test_a_name_never_opens_a_file_of_this_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "org").mkdir()
    (tmp_path / "org/repo").write_bytes(small_model().build())
    monkeypatch.chdir(tmp_path)
    with FakeHub({}) as hub:
        monkeypatch.setenv("HF_ENDPOINT", hub.endpoint)
        row = run("org/repo")
    assert row.report.verdict == "unreadable"


def test_a_server_without_time_is_asked_again_later() -> None:
    busy = rangeserver.fixed(503, Retry_After="60")
    behaviour = rangeserver.sequence(busy, rangeserver.good)
    with RangeServer({"m.gguf": small_model().build()}, {"m.gguf": behaviour}) as server:
        row = run(server.url("m.gguf"))
        assert row.state == State.QUEUED
        assert row.not_before > timezone.now() + timedelta(seconds=50)
        inspect(str(row.pk))
        assert len(server.requests) == 1
        Inspection.objects.update(not_before=timezone.now())
        inspect(str(row.pk))
    row.refresh_from_db()
    assert (row.state, row.postponed) == (State.DONE, 1)
    assert row.report.verdict != "unreadable"


def test_a_server_that_asks_for_too_much_time_makes_a_report() -> None:
    busy = rangeserver.fixed(429, Retry_After="86400")
    with RangeServer({"m.gguf": b""}, {"m.gguf": busy}) as server:
        row = run(server.url("m.gguf"))
    assert row.state == State.DONE
    assert selectors.document(row.report)["error"]["code"] == "rate_limited"


def test_the_digest_the_submitter_expects(monkeypatch: pytest.MonkeyPatch) -> None:
    with FakeHub({"m.gguf": small_model().build()}) as hub:
        monkeypatch.setenv("HF_ENDPOINT", hub.endpoint)
        row = services.submit_url(owner=None, url="org/repo", expected={"sha256": "ab" * 32})
        inspect(str(row.pk))
    row.refresh_from_db()
    findings = selectors.document(row.report)["findings"]
    assert any(finding["rule"] == "STR035" for finding in findings)
