"""The task itself, called directly: what it makes of a row."""

import io
from pathlib import Path

import pytest
from django.db import OperationalError

from ggufhub.hub import selectors, services, uploads
from ggufhub.hub.models import Inspection, Report, State
from tests import rows
from tests.builders import vocabulary
from tests.core.rangeserver import RangeServer
from tests.workers import faults
from workers.inspect import inspect

pytestmark = pytest.mark.django_db(transaction=True)


def run(row: Inspection) -> Inspection:
    inspect(str(row.pk))
    row.refresh_from_db()
    return row


def test_an_upload_becomes_a_report() -> None:
    row = run(rows.queued(vocabulary(500).build()))
    assert row.state == State.DONE
    assert row.report.architecture == "llama"
    assert row.bytes_read > 0 and row.finished >= row.started


def test_what_is_no_model_becomes_a_report_too() -> None:
    row = run(rows.queued(b"not a model at all", name="x.gguf"))
    assert row.state == State.DONE
    assert row.report.verdict in ("fail", "unreadable")


def test_an_empty_file_becomes_a_report() -> None:
    row = run(rows.queued(b""))
    assert row.state == State.DONE
    assert row.report.verdict in ("fail", "unreadable")


def test_a_second_delivery_changes_nothing() -> None:
    row = run(rows.queued(vocabulary(100).build()))
    digest = row.report.digest
    run(row)
    assert row.attempt == 1
    assert Report.objects.get().digest == digest


def test_a_link_becomes_a_report_for_the_price_of_its_header(loopback: None) -> None:
    data = vocabulary(500).build() + bytes(8 * 1024**2)
    with RangeServer({"model.gguf": data}) as server:
        row = run(services.submit_url(owner=None, url=server.url("model.gguf")))
    assert row.state == State.DONE
    assert row.size == len(data)
    assert 0 < row.bytes_read < len(data) / 2
    assert row.requests == len(server.requests) > 0


def test_an_address_that_may_not_be_fetched_says_so() -> None:
    row = run(services.submit_url(owner=None, url="http://127.0.0.1/model.gguf"))
    assert (row.state, row.error_code) == (State.FAILED, "address")


def test_an_upload_that_is_gone_says_so() -> None:
    row = rows.queued()
    uploads.delete_upload(row.upload)
    run(row)
    assert (row.state, row.error_code) == (State.FAILED, "not_found")


def test_a_header_only_upload_is_asked_for_what_is_missing(tmp_path: Path) -> None:
    """A 40 GB file costs its header: the rest is never asked for."""
    data = vocabulary(200_000).build()
    size = 40 * 10**9
    upload = rows.header_upload(data, size, sent=100)
    row = services.submit_upload(owner=None, upload=upload)
    rounds = 0
    padded = io.BytesIO(data + bytes(32 * 1024**2))
    while not run(row).is_final:
        upload.refresh_from_db()
        row = selectors.get_inspection(None, row.pk)
        needs = row.needs
        assert needs is not None and needs["offset"] == upload.received
        padded.seek(needs["offset"])
        uploads.append(upload, offset=needs["offset"], stream=padded, length=needs["length"])
        rounds += 1
        assert rounds < 10
    assert row.state == State.DONE
    assert upload.received <= len(data) + 16 * 1024**2
    assert row.size == size
    assert selectors.array_page(row.report, "tokenizer.ggml.tokens")["count"] == 200_000
    assert selectors.get_inspection(None, row.pk).needs is None


@pytest.mark.parametrize(("name", "code"), [("nesting.gguf", "nesting"), ("bug.gguf", "internal")])
def test_a_failure_of_ours_ends_the_row_without_details(name: str, code: str) -> None:
    assert name in faults.FAULTS
    row = run(rows.queued(name=name))
    assert (row.state, row.error_code) == (State.FAILED, code)
    assert "nobody outside" not in row.error_message


def test_a_database_that_is_away_leaves_the_row_to_the_next_round(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    row = rows.queued()

    def away(*_: object) -> None:
        raise OperationalError("server closed the connection")

    monkeypatch.setattr(services, "finish", away)
    with pytest.raises(OperationalError):
        inspect(str(row.pk))
    row.refresh_from_db()
    assert row.state == State.RUNNING
