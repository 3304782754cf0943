"""Real workers and a real broker, killed in every way: each inspection ends exactly once."""

import os

import pytest
from django.utils import timezone

from ggufhub.hub import queue, services
from ggufhub.hub.models import Inspection, Report, State
from ggufhub.hub.reconcile import DRAINED_AFTER, reconcile
from tests import rows
from tests.builders import vocabulary
from tests.live import Broker, LiveWorker, wait_for

pytestmark = pytest.mark.django_db(transaction=True)

DATA = vocabulary(200).build()


def state(row: Inspection) -> str:
    row.refresh_from_db()
    return row.state


def test_a_killed_process_costs_an_attempt_and_no_job(live_worker: LiveWorker) -> None:
    row = rows.queued(DATA, name="hang.gguf")
    wait_for(lambda: state(row) == State.RUNNING)
    upload = row.upload
    upload.name = "good.gguf"
    upload.save()
    for pid in live_worker.children():
        os.kill(pid, 9)
    wait_for(lambda: state(row) == State.DONE)
    assert (row.attempt, row.losses) == (2, 1)
    assert Report.objects.count() == 1


def test_a_killed_worker_costs_an_attempt_and_no_job(live_worker: LiveWorker) -> None:
    row = rows.queued(DATA, name="hang.gguf")
    wait_for(lambda: state(row) == State.RUNNING)
    live_worker.kill()
    row.upload.name = "good.gguf"
    row.upload.save()
    reconcile(timezone.now() + services.LEASE * 1.1)
    assert (state(row), row.losses) == (State.QUEUED, 1)
    live_worker.start()
    wait_for(lambda: state(row) == State.DONE)
    assert Report.objects.count() == 1


def test_a_file_that_kills_every_process_is_given_up(live_worker: LiveWorker) -> None:
    poison = rows.queued(name="die.gguf")
    good = rows.queued(DATA)
    wait_for(lambda: state(poison) == State.FAILED and state(good) == State.DONE)
    assert (poison.error_code, poison.losses) == ("worker_lost", 3)
    assert live_worker.running


def test_too_much_memory_fails_the_row_and_not_the_worker(live_worker: LiveWorker) -> None:
    large = rows.queued(name="memory.gguf")
    wait_for(lambda: state(large) == State.FAILED)
    assert large.error_code == "memory"
    children = live_worker.children()
    good = rows.queued(DATA)
    wait_for(lambda: state(good) == State.DONE)
    assert live_worker.running and live_worker.children() == children


def test_a_killed_broker_costs_no_job(broker: Broker, live_worker: LiveWorker) -> None:
    slow = [rows.queued(DATA, name="slow.gguf") for _ in range(2)]
    wait_for(lambda: all(state(row) == State.RUNNING for row in slow))
    rows_before = [rows.queued(DATA) for _ in range(20)]
    broker.kill()
    rows_during = [rows.queued(DATA) for _ in range(20)]
    assert not any(Inspection.objects.get(pk=row.pk).sent_at for row in rows_during)
    broker.start()
    for row in slow:
        services.cancel(row)
    reconcile(timezone.now() + DRAINED_AFTER)
    good = [*rows_before, *rows_during]
    wait_for(lambda: all(state(row) == State.DONE for row in good))
    assert Report.objects.count() == len(good)
    assert {row.attempt for row in good} == {1}


def test_a_message_delivered_twice_runs_once(live_worker: LiveWorker) -> None:
    row = rows.queued(DATA)
    for _ in range(5):
        queue.send_inspect(row.pk)
    wait_for(lambda: state(row) == State.DONE)
    wait_for(lambda: queue.waiting() == 0)
    assert state(row) == State.DONE
    assert row.attempt == 1


def test_a_cancelled_inspection_frees_its_process(live_worker: LiveWorker) -> None:
    slow = [rows.queued(DATA, name="slow.gguf") for _ in range(2)]
    wait_for(lambda: all(state(row) == State.RUNNING for row in slow))
    wait_for(lambda: all(row.bytes_read > 0 for row in slow if state(row)))
    for row in slow:
        services.cancel(row)
    good = rows.queued(DATA)
    wait_for(lambda: state(good) == State.DONE, 5)
    assert [state(row) for row in slow] == [State.CANCELLED] * 2
