"""What a finished inspection leaves in the database."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.db import DatabaseError
from django.utils import timezone

from ggufhub.hub import selectors, services, shared
from ggufhub.hub.models import (
    LARGEST,
    ArrayBlob,
    ArrayChunk,
    Document,
    Finding,
    Inspection,
    Report,
    State,
    TypeCount,
)
from tests import rows
from tests.builders import Gguf, ValueType, small_model, vocabulary

pytestmark = pytest.mark.django_db

NASTY = "a\0b\ud800c\x1b[31m<script>\u202e" + "x" * 5000


def test_the_document_comes_back_as_it_was(tmp_path: Path) -> None:
    report = rows.built(small_model().build(), tmp_path)
    stored = rows.finished(report)
    assert selectors.document(stored) == report.document
    assert stored.verdict == report.document["verdict"]
    assert stored.inspection.state == State.DONE
    assert stored.inspection.size == report.document["files"][0]["size"]


def test_findings_and_types_can_be_counted_across_reports(tmp_path: Path) -> None:
    broken = rows.finished(rows.built(small_model().build()[:-20], tmp_path))
    rows.finished(rows.built(small_model().build(), tmp_path))
    expected = [(row["rule"], row["severity"]) for row in selectors.findings(broken)]
    assert expected
    found = Finding.objects.filter(report=broken).order_by("id").values_list("rule", "severity")
    assert list(found) == expected
    assert TypeCount.objects.values("report").distinct().count() == 2


def test_equal_arrays_are_stored_once(tmp_path: Path) -> None:
    data = vocabulary(10_000).build()
    first = rows.finished(rows.built(data, tmp_path))
    chunks = ArrayChunk.objects.count()
    second = rows.finished(rows.built(data, tmp_path))
    assert chunks == 9
    assert ArrayChunk.objects.count() == chunks
    assert ArrayBlob.objects.count() == 3
    assert set(first.arrays.all()) == set(second.arrays.all())


def test_an_equal_report_has_the_document_of_the_earlier(tmp_path: Path) -> None:
    first = rows.finished_vocabulary(tmp_path)
    row = rows.queued()
    assert services.finish_with(row.pk, services.claim(row.pk), first, requests=1, bytes_read=1)
    assert Report.objects.count() == 2
    assert Document.objects.get().reports.count() == 2
    first.inspection.delete()
    shared.prune(timezone.now() + timedelta(days=30))
    assert selectors.document(Report.objects.get())["kind"] == "vocab"


def test_a_failure_half_way_leaves_nothing(tmp_path: Path, monkeypatch: Any) -> None:
    row = rows.queued()
    attempt = services.claim(row.pk)

    def full(*_: object, **__: object) -> None:
        raise DatabaseError("disk is full")

    monkeypatch.setattr(Finding.objects, "bulk_create", full)
    with pytest.raises(DatabaseError):
        services.finish(row.pk, attempt, rows.built(vocabulary(500).build(), tmp_path))
    row.refresh_from_db()
    assert row.state == State.RUNNING
    assert not Report.objects.exists()
    # The document and its arrays were stored before; nothing holds them, so they go in a day.
    assert shared.prune() == 0 and ArrayBlob.objects.exists()
    assert shared.prune(timezone.now() + timedelta(days=1, minutes=1)) == 4
    assert not Document.objects.exists()
    assert not ArrayBlob.objects.exists() and not ArrayChunk.objects.exists()


def test_hostile_text_from_a_file_is_stored_and_read_back(tmp_path: Path) -> None:
    file = (
        Gguf()
        .key("general.architecture", b"ll\0ama\xff\xfe" + b"x" * 1000)
        .key(b"bad\0key\xed\xa0\x80", b"\xff" * 300)
        .key("nan", float("nan"))
        .key("large", 2**64 - 1, ValueType.UINT64)
        .array("tokens", ValueType.STRING, [b"a\0", b"\xff\xfe", b"\xed\xa0\x80"] * 100)
        .array("scores", ValueType.FLOAT32, [float("inf"), float("nan")] * 100)
    )
    stored = rows.finished(rows.built(file.build(), tmp_path))
    keys = [entry["key"] for entry in selectors.metadata(stored)]
    assert "tokens" in keys and len(keys) == 6
    page = selectors.array_page(stored, "scores", start=0, limit=2)
    assert page["items"] == ["Infinity", "NaN"]
    assert len(selectors.array_page(stored, "tokens", start=298, limit=10)["items"]) == 2


def test_hostile_values_in_columns_are_clipped(tmp_path: Path) -> None:
    report = rows.built(small_model().build(), tmp_path)
    long = NASTY.replace("\ud800", "")
    report.document["summary"] |= {"architecture": long, "quant": long, "parameters": 10**30}
    report.document["findings"] = [
        {"rule": long, "severity": "error", "message": long, "fingerprint": long}
    ]
    report.document["types"] = [
        {"type": long, "tensors": 2**64, "bytes": 2**70, "elements": 10**40}
    ]
    report.document["files"][0]["size"] = 2**64
    stored = rows.finished(report)
    assert stored.parameters == LARGEST
    assert len(stored.architecture) == 64 and "\0" not in stored.architecture
    assert Inspection.objects.get(pk=stored.pk).size == LARGEST
    assert TypeCount.objects.get().elements == LARGEST
    assert Finding.objects.get().message.endswith("…")


def test_hostile_names_and_errors_are_stored() -> None:
    row = rows.queued(name=NASTY)
    assert len(row.name) == 255
    attempt = services.claim(row.pk)
    assert services.fail(row.pk, attempt, code=NASTY, message=NASTY)
    row.refresh_from_db()
    assert row.error_message.startswith("a\ufffdb")


def test_what_a_report_holds_is_never_pruned(tmp_path: Path) -> None:
    stored = rows.finished_vocabulary(tmp_path)
    assert shared.prune(timezone.now() + timedelta(days=30)) == 0
    stored.inspection.delete()
    assert shared.prune(timezone.now() + timedelta(days=30)) == 4


def test_as_many_arrays_as_a_file_may_hold_take_few_queries(
    tmp_path: Path, django_assert_max_num_queries: Any
) -> None:
    """One by one they took longer than SQLite's writers wait for each other."""
    file = small_model()
    count = 8_000
    for number in range(count):
        file.array(f"a{number}", ValueType.UINT8, [number % 251, number // 251 % 251, *range(63)])
    report = rows.built(file.build(), tmp_path)
    with django_assert_max_num_queries(210):
        stored = rows.finished(report)
    assert stored.arrays.count() == len(report.arrays) == count
    page = selectors.array_page(stored, "a7999", start=0, limit=3)
    assert page["items"] == [7999 % 251, 7999 // 251, 0]
