"""Inspections at depth full: their own queue, progress, an end to every one of them."""

import hashlib
import os
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.db import DatabaseError

from ggufhub.errors import SourceError
from ggufhub.hub import checkpoints, queue, selectors, services
from ggufhub.hub.models import Inspection, Report, State
from ggufhub.hub.reconcile import GRACE, reconcile
from ggufhub.integrity import checkpoint
from ggufhub.limits import FULL, HEADER, MIB
from ggufhub.sources.base import Reads
from tests import rows
from tests.builders import small_model
from tests.core.rangeserver import RangeServer
from tests.live import Broker, LiveWorker, wait_for
from workers import inspect as task
from workers import job as job_module
from workers.app import DIGEST_HARD_SECONDS, HARD_SECONDS
from workers.inspect import digest
from workers.job import Job, Stopped

pytestmark = pytest.mark.django_db(transaction=True)

DATA = small_model().build() + bytes(40 * MIB)
SHA256 = hashlib.sha256(DATA).hexdigest()


def queued(data: bytes = DATA, *, name: str = "model.gguf", **how: Any) -> Inspection:
    upload = rows.upload_of(data, name=name)
    return services.submit_upload(owner=None, upload=upload, **{"depth": FULL, **how})


def run(row: Inspection) -> Inspection:
    digest(str(row.pk))
    row.refresh_from_db()
    return row


def document(row: Inspection) -> dict[str, Any]:
    return selectors.document(row.report)


def listen(monkeypatch: pytest.MonkeyPatch, act: Callable[[str], None]) -> None:
    """Call ``act`` with the stage each time the core tells how far it is."""
    tell = Job.progress

    def progress(job: Job, stage: str, reads: Reads) -> None:
        act(stage)
        tell(job, stage, reads)

    monkeypatch.setattr(Job, "progress", progress)


def test_every_byte_of_an_upload(monkeypatch: pytest.MonkeyPatch) -> None:
    stages: list[str] = []
    listen(monkeypatch, stages.append)
    row = run(queued())
    assert row.state == State.DONE
    assert document(row)["depth"] == "full"
    (found,) = document(row)["files"][0]["digests"]
    assert (found["value"], found["basis"]) == (SHA256, "computed from all bytes")
    assert row.bytes_read >= len(DATA)
    shares = [stage for stage in stages if stage.startswith("reading every byte, ")]
    assert shares[-1].endswith(f" % of {len(DATA):,} bytes")
    assert all(len(stage) <= 64 for stage in stages)


def test_progress_reaches_the_row(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(job_module, "WRITE_SECONDS", 0.01)
    row = queued()
    seen: list[str] = []

    def look(stage: str) -> None:
        """Hold the core up until its last stage was written down."""
        if stages and "% of" in stages[-1]:
            wait_for(lambda: Inspection.objects.get(pk=row.pk).stage == stages[-1])
            seen.append(stages[-1])
        stages.append(stage)

    stages: list[str] = []
    listen(monkeypatch, look)
    run(row)
    assert seen and seen[0].endswith(f" % of {len(DATA):,} bytes")


def test_depths_have_queues_of_their_own(broker: Broker) -> None:
    queued(b"GGUF")
    rows.queued(b"GGUF")
    assert (queue.waiting(FULL), queue.waiting(HEADER)) == (1, 1)


def test_a_lost_message_is_sent_to_the_right_queue(broker: Broker) -> None:
    row = queued(b"GGUF")
    with broker.client() as client:
        client.flushall()
    Inspection.objects.update(sent_at=None, created=row.created - GRACE * 2)
    assert reconcile() == 1
    assert (queue.waiting(FULL), queue.waiting(HEADER)) == (1, 0)


def test_an_expected_digest_is_computed_from_a_whole_upload() -> None:
    good = queued(depth=HEADER, expected={"sha256": SHA256})
    assert good.depth == FULL
    assert "STR035" not in {finding["rule"] for finding in document(run(good))["findings"]}
    wrong = run(queued(depth=HEADER, expected={"sha256": "0" * 64}))
    assert wrong.report.verdict == "fail"
    finding = next(f for f in document(wrong)["findings"] if f["rule"] == "STR035")
    assert (finding["expected"], finding["actual"]) == ("0" * 64, SHA256)


def test_an_expected_digest_of_a_header_was_not_verified() -> None:
    upload = rows.header_upload(DATA, len(DATA), sent=MIB)
    row = services.submit_upload(owner=None, upload=upload, expected={"sha256": SHA256})
    assert row.depth == HEADER
    task.inspect(str(row.pk))
    row.refresh_from_db()
    finding = next(f for f in document(row)["findings"] if f["rule"] == "STR035")
    assert "could not be verified" in finding["message"] and row.report.verdict == "fail"


def test_every_byte_of_a_link(loopback: None) -> None:
    with RangeServer({"model.gguf": DATA}) as server:
        row = run(services.submit_url(owner=None, url=server.url("model.gguf"), depth=FULL))
    (found,) = document(row)["files"][0]["digests"]
    assert found["value"] == SHA256
    assert row.requests == len(server.requests) < 10


def test_cancelling_ends_it_in_the_middle(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(job_module, "WRITE_SECONDS", 0.02)
    row = queued()

    def cancel(stage: str) -> None:
        if stage.startswith("reading every byte, "):
            services.cancel(row)
            wait_for(lambda: not any(_running(job) for job in jobs))

    jobs: list[Job] = []
    begin = Job.__enter__

    def entered(job: Job) -> Job:
        jobs.append(job)
        return begin(job)

    monkeypatch.setattr(Job, "__enter__", entered)
    listen(monkeypatch, cancel)
    run(row)
    assert row.state == State.CANCELLED
    assert not Report.objects.exists()


def _running(job: Job) -> bool:
    """Whether the thread of ``job`` has not noticed yet that its row is gone."""
    try:
        job.progress("waiting", Reads())
    except Stopped:
        return False
    return True


def test_it_may_take_hours_and_not_longer() -> None:
    assert task.digest.time_limit == DIGEST_HARD_SECONDS > 6 * 3600
    assert task.inspect.time_limit == HARD_SECONDS


@pytest.fixture
def digest_worker(broker: Broker, transactional_db: None) -> Iterator[LiveWorker]:
    """A worker that does nothing but read whole files, one at a time."""
    worker = LiveWorker("-Q", queue.DIGEST_QUEUE, "-c", "1")
    worker.start()
    yield worker
    if worker.running:
        worker.kill()


def test_a_killed_process_starts_again_and_headers_are_not_its_business(
    digest_worker: LiveWorker,
) -> None:
    row = queued(name="hang.gguf")
    header = rows.queued(DATA)
    wait_for(lambda: Inspection.objects.get(pk=row.pk).state == State.RUNNING)
    row.upload.name = "good.gguf"
    row.upload.save()
    for pid in digest_worker.children():
        os.kill(pid, 9)
    wait_for(lambda: Inspection.objects.get(pk=row.pk).state == State.DONE)
    row.refresh_from_db()
    header.refresh_from_db()
    assert (row.attempt, row.losses) == (2, 1)
    assert document(row)["files"][0]["digests"][0]["value"] == SHA256
    assert header.state == State.QUEUED


LONG = small_model().build() + bytes(range(256)) * (96 * 4096)
"""96 MiB: twelve reads."""


def test_a_killed_process_goes_on_at_its_checkpoint(digest_worker: LiveWorker) -> None:
    row = queued(LONG, name="halting.gguf")
    wait_for(lambda: (Inspection.objects.get(pk=row.pk).bytes_read or 0) > len(LONG) // 2)
    assert checkpoints.load(row.pk) is not None
    for pid in digest_worker.children():
        os.kill(pid, 9)
    wait_for(lambda: Inspection.objects.get(pk=row.pk).state == State.DONE)
    row.refresh_from_db()
    assert (row.attempt, row.losses) == (2, 1)
    assert any("taken up at byte" in note for note in document(row)["notes"])
    (found,) = document(row)["files"][0]["digests"]
    assert found["value"] == hashlib.sha256(LONG).hexdigest()
    assert MIB < row.bytes_read < len(LONG) - 24 * MIB, "less than the whole"
    assert checkpoints.prune() == 1


def test_an_upload_that_is_another_one_by_then_is_read_from_the_start(
    digest_worker: LiveWorker,
) -> None:
    row = queued(LONG, name="halting.gguf")
    wait_for(lambda: (Inspection.objects.get(pk=row.pk).bytes_read or 0) > len(LONG) // 2)
    row.upload.path.write_bytes(LONG[:-1] + b"?")
    for pid in digest_worker.children():
        os.kill(pid, 9)
    wait_for(lambda: Inspection.objects.get(pk=row.pk).state == State.DONE)
    row.refresh_from_db()
    (found,) = document(row)["files"][0]["digests"]
    assert found["value"] == hashlib.sha256(LONG[:-1] + b"?").hexdigest()
    assert any("from the start" in note for note in document(row)["notes"])


def test_a_server_that_is_gone_for_a_while_is_asked_again(
    loopback: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checkpoint, "EVERY_BYTES", 16 * MIB)
    with RangeServer({"model.gguf": LONG}) as server:
        row = services.submit_url(owner=None, url=server.url("model.gguf"), depth=FULL)

        def gone(stage: str) -> None:
            if checkpoints.load(row.pk) is not None and row.attempt == 0:
                raise SourceError("connection", "The server is gone.")

        with monkeypatch.context() as patch:
            listen(patch, gone)
            run(row)
        assert (row.state, row.stage) == (State.QUEUED, "waiting for the server")
        assert row.not_before is not None and row.postponed == 1
        Inspection.objects.filter(pk=row.pk).update(not_before=None)
        run(row)
    assert row.state == State.DONE
    (found,) = document(row)["files"][0]["digests"]
    assert found["value"] == hashlib.sha256(LONG).hexdigest()
    assert row.bytes_read < len(LONG) - 8 * MIB


def test_no_room_for_a_checkpoint_costs_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> bool:
        raise DatabaseError("database or disk is full")

    monkeypatch.setattr(checkpoint, "EVERY_BYTES", 16 * MIB)
    monkeypatch.setattr(checkpoints, "keep", full)
    row = run(queued())
    assert row.state == State.DONE
    assert document(row)["files"][0]["digests"][0]["value"] == SHA256


def test_checkpoints_of_others_are_not_replaced() -> None:
    row = queued(b"GGUF")
    attempt = services.claim(row.pk)
    assert attempt is not None
    assert checkpoints.keep(row.pk, attempt, b"one") and not checkpoints.keep(row.pk, 7, b"two")
    assert checkpoints.load(row.pk) == b"one"
    assert checkpoints.prune() == 0
    services.fail(row.pk, attempt, code="x", message="x")
    assert checkpoints.prune() == 1
