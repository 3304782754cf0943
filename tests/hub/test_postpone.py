"""A server that asks us to come back later gets what it asks for, a few times."""

from datetime import timedelta

import pytest
from django.utils import timezone

from ggufhub.hub import queue, services
from ggufhub.hub.models import State
from ggufhub.hub.reconcile import reconcile
from tests import rows
from tests.live import Broker

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_postponed_row_is_claimed_only_when_its_time_has_come(broker: Broker) -> None:
    row = rows.queued()
    attempt = services.claim(row.pk)
    with broker.client() as client:
        client.flushall()
    assert services.postpone(row.pk, attempt, seconds=60)
    row.refresh_from_db()
    assert (row.state, row.stage, row.postponed) == (State.QUEUED, "waiting for the server", 1)
    assert services.claim(row.pk) is None
    assert reconcile(timezone.now() + timedelta(seconds=50)) == 0
    assert reconcile(timezone.now() + timedelta(seconds=70)) == 1
    assert queue.waiting() == 1
    type(row).objects.update(not_before=timezone.now())
    assert services.claim(row.pk) == attempt + 1
    row.refresh_from_db()
    assert row.not_before is None


def test_patience_ends() -> None:
    row = rows.queued()
    for _ in range(services.MAX_POSTPONED):
        attempt = services.claim(row.pk)
        assert services.postpone(row.pk, attempt, seconds=1)
        type(row).objects.update(not_before=None)
    attempt = services.claim(row.pk)
    assert not services.postpone(row.pk, attempt, seconds=1)
    row.refresh_from_db()
    assert row.state == State.RUNNING


def test_too_long_a_wait_and_a_lost_row_are_refused() -> None:
    row = rows.queued()
    attempt = services.claim(row.pk)
    assert not services.postpone(row.pk, attempt, seconds=3600)
    assert not services.postpone(row.pk, attempt + 1, seconds=1)


def test_a_postponed_row_can_be_cancelled() -> None:
    row = rows.queued()
    services.postpone(row.pk, services.claim(row.pk), seconds=60)
    assert services.cancel(row)
    row.refresh_from_db()
    assert row.state == State.CANCELLED
