"""From the tables of an earlier version to ours, with data, also when the way is interrupted."""

import os
import subprocess
import sys
import time
import uuid
from contextlib import suppress
from pathlib import Path

import pytest
from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder

from ggufhub.web.prepare import WholeMigrations
from tests.faults.processes import ROOT

EARLIER = [("hub", "0007_needs_upload")]
"""The last tables before a file could be recognised as one that was inspected already."""

LATEST = [node for node in MigrationLoader(None).graph.leaf_nodes() if node[0] == "hub"]

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def earlier(transactional_db: None):
    """The applications as they were; whatever happens, the tables are ours again afterwards."""
    executor = MigrationExecutor(connection)
    latest = executor.loader.graph.leaf_nodes()
    executor.migrate(EARLIER)
    yield executor.loader.project_state(EARLIER).apps
    executor = MigrationExecutor(connection)
    executor.migrate(latest)


def test_what_was_stored_is_still_there(earlier) -> None:
    Inspection, Report = (earlier.get_model("hub", name) for name in ("Inspection", "Report"))
    key = uuid.uuid4()
    row = Inspection.objects.create(
        id=key, source_kind="url", locator="https://a.example/m.gguf", name="m.gguf", state="done"
    )
    stored = {"document": b"\x78\x9c", "digest": "d" * 64, "verdict": "pass", "kind": "model"}
    Report.objects.create(inspection=row, **stored)
    twin = Inspection.objects.create(source_kind="url", locator=row.locator, name="m.gguf")
    Report.objects.create(inspection=twin, **stored)
    waiting = Inspection.objects.create(
        source_kind="url", locator="https://a.example/n.gguf", name="n.gguf", depth="full"
    )
    of_audit = Inspection.objects.create(
        source_kind="listed", locator="n.gguf", name="n.gguf", state="done"
    )
    executor = MigrationExecutor(connection)
    executor.migrate(executor.loader.graph.leaf_nodes())
    from ggufhub.hub import models, services

    report = models.Report.objects.get(pk=key)
    assert (report.verdict, report.digest) == ("pass", "d" * 64)
    document = models.Document.objects.get()
    assert bytes(document.data) == b"\x78\x9c" and document.reports.count() == 2
    assert models.Inspection.objects.get(pk=waiting.pk).lane == "full"
    assert services.claim(waiting.pk) == 1  # it goes on where it was
    assert models.Inspection.objects.get(audited=True).pk == of_audit.pk


def test_a_migration_is_there_whole_or_not_at_all(earlier, monkeypatch: pytest.MonkeyPatch) -> None:
    """What fails at the note that a migration was applied has left nothing behind: each round
    gets one further."""
    note = MigrationRecorder.record_applied
    noted: list[str] = []

    def fails(recorder: MigrationRecorder, app: str, name: str) -> None:
        if noted:
            raise KeyboardInterrupt
        note(recorder, app, name)
        noted.append(name)

    monkeypatch.setattr(MigrationRecorder, "record_applied", fails)
    applied = []
    while WholeMigrations(connection).migration_plan(LATEST):
        noted.clear()
        executor = WholeMigrations(connection)
        with suppress(KeyboardInterrupt):
            executor.migrate(LATEST)
        applied += noted
    assert applied[0].startswith("0008_") and len(applied) == len(set(applied)) > 5
    connection.check_constraints()


def start(data: Path) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "manage.py", "prepare"],
        cwd=ROOT,
        env={"PATH": os.environ["PATH"], "GGUFHUB_DATA": str(data)},
        stderr=subprocess.PIPE,
    )


def test_a_migration_killed_at_any_moment_is_completed(tmp_path: Path) -> None:
    """The first statements come after about a second; later ones find it done or go on."""
    for delay in (0.9, 1.2, 1.5, 1.8, 2.2):
        process = start(tmp_path)
        time.sleep(delay)
        process.kill()
        process.communicate()
    last = start(tmp_path)
    assert (last.communicate(timeout=90)[1], last.returncode) == (b"", 0)


def test_four_at_once(tmp_path: Path) -> None:
    processes = [start(tmp_path) for _ in range(4)]
    assert [(process.communicate(timeout=90)[1], process.returncode) for process in processes] == [
        (b"", 0)
    ] * 4


def test_an_older_version_refuses_a_newer_database(tmp_path: Path) -> None:
    assert start(tmp_path).wait(60) == 0
    import sqlite3

    with sqlite3.connect(tmp_path / "ggufhub.sqlite3") as database:
        database.execute(
            "INSERT INTO django_migrations (app, name, applied) "
            "VALUES ('hub', '9999_future', '2030-01-01')"
        )
    process = start(tmp_path)
    errors = process.communicate(timeout=60)[1].decode()
    assert process.returncode == 1
    assert "made by a later version of ggufhub (it has 9999_future)" in errors
    assert "Traceback" not in errors
