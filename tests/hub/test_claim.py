"""Who may write to an inspection: one attempt at a time, and only while it is held."""

import uuid
from pathlib import Path

import pytest

from ggufhub.errors import UsageError
from ggufhub.hub import links, services
from ggufhub.hub.models import Finding, Inspection, Report, State
from tests import rows
from tests.builders import small_model

pytestmark = pytest.mark.django_db


def test_a_claim_starts_the_row_and_numbers_the_attempt() -> None:
    row = rows.queued()
    assert services.claim(row.pk) == 1
    row.refresh_from_db()
    assert row.state == State.RUNNING
    assert row.started is not None and row.lease_until > row.started


def test_a_second_message_for_the_same_row_finds_nothing_to_do() -> None:
    row = rows.queued()
    services.claim(row.pk)
    assert services.claim(row.pk) is None


UNKNOWN = uuid.UUID(int=1)


@pytest.mark.parametrize("unknown", [UNKNOWN, str(UNKNOWN)])
def test_a_message_for_a_row_that_is_gone_finds_nothing_to_do(unknown: object) -> None:
    assert services.claim(unknown) is None


def test_an_older_attempt_can_write_nothing(tmp_path: Path) -> None:
    row = rows.queued()
    old = services.claim(row.pk)
    services.lose(row.pk)
    new = services.claim(row.pk)
    assert (old, new) == (1, 2)
    report = rows.built(small_model().build(), tmp_path)
    assert not services.progress(row.pk, old, stage="x", requests=1, bytes_read=1)
    assert not services.fail(row.pk, old, code="x", message="x")
    assert not services.need_bytes(row.pk, old, offset=0, length=1)
    assert not services.finish(row.pk, old, report)
    assert not Report.objects.exists() and not Finding.objects.exists()
    assert services.finish(row.pk, new, report)


def test_finishing_twice_stores_one_report(tmp_path: Path) -> None:
    report = rows.built(small_model().build(), tmp_path)
    stored = rows.finished(report)
    assert not services.finish(stored.pk, 1, report)
    assert Report.objects.count() == 1


def test_a_cancelled_row_stays_cancelled(tmp_path: Path) -> None:
    row = rows.queued()
    attempt = services.claim(row.pk)
    assert services.cancel(row)
    assert not services.cancel(row)
    assert not services.progress(row.pk, attempt, stage="x", requests=1, bytes_read=1)
    assert not services.finish(row.pk, attempt, rows.built(small_model().build(), tmp_path))
    row.refresh_from_db()
    assert row.state == State.CANCELLED and row.finished is not None


def test_progress_is_kept_and_renews_the_lease() -> None:
    row = rows.queued()
    attempt = services.claim(row.pk)
    before = Inspection.objects.get(pk=row.pk).lease_until
    assert services.progress(row.pk, attempt, stage="reading", requests=2, bytes_read=3)
    row.refresh_from_db()
    assert (row.stage, row.requests, row.bytes_read) == ("reading", 2, 3)
    assert row.lease_until > before


def test_three_dead_workers_end_a_row() -> None:
    row = rows.queued()
    for _ in range(services.MAX_LOSSES):
        assert services.claim(row.pk) is not None
        services.lose(row.pk)
    row.refresh_from_db()
    assert (row.state, row.error_code, row.losses) == (State.FAILED, "worker_lost", 3)
    assert services.claim(row.pk) is None


def test_a_row_killed_at_the_time_limit_is_not_tried_again() -> None:
    row = rows.queued()
    services.claim(row.pk)
    services.time_out(row.pk)
    row.refresh_from_db()
    assert (row.state, row.error_code) == (State.FAILED, "timeout")


@pytest.mark.parametrize(
    "url",
    [
        "ftp://host/file",
        "host/file/x",
        "file",
        "/etc/passwd",
        "../etc/passwd",
        "hf://",
        "hf:///etc/passwd",
        "ollama://a b",
        "http://",
        "https://user:secret@host/file",
        "https://host/a b",
        "https://host/\0",
        "https://host/\ud800",
        "https://[::1/file",
        "https://host/" + "a" * links.URL_LENGTH,
    ],
)
def test_what_is_no_plain_link_is_refused(url: str) -> None:
    with pytest.raises(UsageError):
        services.submit_url(owner=None, url=url)
    assert not Inspection.objects.exists()


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("hf://org/repo/m%201.gguf", "m 1.gguf"),
        ("ollama://llama3:8b", "llama3:8b"),
        ("org/repo", "repo"),
        ("org/repo:Q8_0", "repo:Q8_0"),
        ("hf.co/org/repo", "repo"),
    ],
)
def test_names_on_hubs_and_registries_are_taken_as_they_are(text: str, name: str) -> None:
    row = services.submit_url(owner=None, url=text)
    assert (row.locator, row.target, row.name) == (text, text, name)


def test_a_signature_in_a_link_is_not_shown() -> None:
    url = "https://host.example/a%20b.gguf?signature=secret"
    row = services.submit_url(owner=None, url=url)
    assert row.target == url
    assert "secret" not in row.locator
    assert row.name == "a b.gguf"


def test_an_unfinished_upload_cannot_be_submitted() -> None:
    upload = rows.header_upload(b"GGUF", 100, sent=4)
    upload.header_only = False
    with pytest.raises(UsageError, match="4 of 100"):
        services.submit_upload(owner=None, upload=upload)
