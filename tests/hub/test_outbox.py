"""The row is the outbox: committed first, sent after, sent again until somebody takes it."""

from datetime import timedelta
from typing import Any

import pytest
from django.db import OperationalError, connection, transaction
from django.utils import timezone

from ggufhub.hub import queue, services
from ggufhub.hub.models import Inspection, State, Upload
from ggufhub.hub.reconcile import BYTES_WITHIN, DRAINED_AFTER, reconcile
from tests import rows
from tests.live import Broker

pytestmark = pytest.mark.django_db(transaction=True)


def later(**span: float) -> object:
    return timezone.now() + timedelta(**span)


def test_a_submission_sends_one_message(broker: Broker) -> None:
    row = rows.queued()
    row.refresh_from_db()
    assert queue.waiting() == 1
    assert row.sent_at is not None


def test_a_message_that_could_not_be_noted_is_sent_all_the_same(broker: Broker) -> None:
    """The database's disk became full between the row and the note."""

    def full(execute: Any, sql: str, *rest: Any) -> Any:
        if sql.startswith("UPDATE") and "sent_at" in sql:
            raise OperationalError("disk full")
        return execute(sql, *rest)

    with connection.execute_wrapper(full):
        row = rows.queued()
    row.refresh_from_db()
    assert (row.state, row.sent_at, queue.waiting()) == (State.QUEUED, None, 1)


def test_nothing_is_sent_for_what_was_rolled_back(broker: Broker) -> None:
    with transaction.atomic():
        rows.queued()
        transaction.set_rollback(True)
    assert queue.waiting() == 0


def test_a_broker_that_is_down_costs_time_and_no_row(broker: Broker) -> None:
    broker.kill()
    try:
        row = rows.queued()
        assert queue.waiting() is None
        assert reconcile(later(minutes=1)) == 0
    finally:
        broker.start()
    row.refresh_from_db()
    assert (row.state, row.sent_at) == (State.QUEUED, None)
    assert reconcile(later(seconds=10)) == 1
    assert queue.waiting() == 1


def test_a_lost_message_is_sent_again_once_the_queue_is_empty(broker: Broker) -> None:
    rows.queued()
    assert reconcile(timezone.now() + DRAINED_AFTER) == 0
    with broker.client() as client:
        client.flushall()
    assert reconcile(later(seconds=1)) == 0
    assert reconcile(later(seconds=20)) == 1
    assert reconcile(later(seconds=1)) == 0


def test_a_row_whose_worker_died_is_queued_again(broker: Broker) -> None:
    row = rows.queued()
    services.claim(row.pk)
    reconcile(timezone.now() + services.LEASE / 2)
    row.refresh_from_db()
    assert row.state == State.RUNNING
    reconcile(timezone.now() + services.LEASE * 2)
    row.refresh_from_db()
    assert (row.state, row.losses) == (State.QUEUED, 1)
    assert row.sent_at is not None
    assert services.claim(row.pk) == 2


def test_a_row_is_given_up_after_three_leases(broker: Broker) -> None:
    row = rows.queued()
    for _ in range(3):
        assert services.claim(row.pk)
        reconcile(timezone.now() + services.LEASE * 2)
    row.refresh_from_db()
    assert (row.state, row.error_code) == (State.FAILED, "worker_lost")


def waiting_row(sent: int = 10) -> Inspection:
    """An inspection of a header-only upload that was asked for bytes up to 100."""
    upload = rows.header_upload(bytes(1000), 10**12, sent=sent)
    row = services.submit_upload(owner=None, upload=upload)
    attempt = services.claim(row.pk)
    assert attempt is not None
    assert services.need_bytes(row.pk, attempt, offset=50, length=50)
    row.refresh_from_db()
    return row


def test_a_row_that_waits_for_bytes_cannot_be_claimed(broker: Broker) -> None:
    row = waiting_row()
    assert row.needs == {"upload": str(row.upload_id), "offset": 10, "length": 90}
    assert services.claim(row.pk) is None
    assert reconcile(later(minutes=20)) == 0


def test_a_row_that_waits_for_bytes_ends_after_an_hour(broker: Broker) -> None:
    row = waiting_row()
    reconcile(timezone.now() + BYTES_WITHIN / 2)
    row.refresh_from_db()
    assert row.state == State.QUEUED
    reconcile(timezone.now() + BYTES_WITHIN * 1.1)
    row.refresh_from_db()
    assert (row.state, row.error_code) == (State.FAILED, "bytes_never_came")


def test_a_row_whose_upload_was_deleted_does_not_wait(broker: Broker) -> None:
    row = waiting_row()
    Upload.objects.all().delete()
    reconcile()
    row.refresh_from_db()
    assert row.state == State.FAILED


def test_bytes_that_came_before_the_question_queue_the_row_at_once(broker: Broker) -> None:
    row = waiting_row(sent=200)
    assert row.needs is None
    assert services.claim(row.pk) == 2


def test_a_header_beyond_the_limit_is_not_asked_for(broker: Broker) -> None:
    upload = rows.header_upload(b"", 10**12)
    row = services.submit_upload(owner=None, upload=upload)
    attempt = services.claim(row.pk)
    assert attempt is not None
    services.need_bytes(row.pk, attempt, offset=0, length=10**9)
    row.refresh_from_db()
    assert (row.state, row.error_code) == (State.FAILED, "limit")
