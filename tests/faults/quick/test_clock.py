"""The clock of the machine is set an hour on or back: no worker counts as dead for that."""

from datetime import timedelta

import pytest
from django.utils import timezone

from ggufhub.hub import reconcile as repair
from ggufhub.hub import services
from ggufhub.hub.clock import Clock
from ggufhub.hub.models import Inspection, State
from tests import rows
from tests.live import Broker

HOUR = 3600.0


class Watch:
    """A time of day and a clock that only counts on, both moved by hand."""

    def __init__(self) -> None:
        self.wall = 1_000_000.0
        self.steady = 50.0
        self.clock = Clock(lambda: self.wall, lambda: self.steady)

    def passes(self, seconds: float, jump: float = 0.0) -> bool:
        self.wall += seconds + jump
        self.steady += seconds
        return self.clock.jumped()


@pytest.mark.parametrize("jump", [HOUR, -HOUR, 6.0])
def test_a_jump_is_noticed_once(jump: float) -> None:
    watch = Watch()
    assert not watch.passes(10) and not watch.passes(HOUR) and not watch.passes(10, 0.2)
    assert watch.passes(10, jump)
    assert not watch.passes(10)


@pytest.fixture
def running(broker: Broker, transactional_db: None) -> Inspection:
    row = rows.queued()
    assert services.claim(row.pk) == 1
    row.refresh_from_db()
    return row


@pytest.mark.parametrize("jump", [HOUR, -HOUR])
def test_no_running_inspection_is_taken_away(
    running: Inspection, jump: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    watch = Watch()
    monkeypatch.setattr(repair, "clock", watch.clock)
    watch.wall += jump
    now = timezone.now() + timedelta(seconds=jump)
    repair.reconcile(now)
    running.refresh_from_db()
    assert (running.state, running.losses) == (State.RUNNING, 0)
    # The worker lives, and renews its lease by the new time before the next round.
    Inspection.objects.filter(pk=running.pk).update(lease_until=now + services.LEASE)
    repair.reconcile(now + timedelta(seconds=10))
    running.refresh_from_db()
    assert (running.state, running.losses) == (State.RUNNING, 0)


def test_a_worker_that_died_before_the_clock_went_back_is_found(running: Inspection) -> None:
    back = timezone.now() - timedelta(seconds=HOUR)
    assert not Clock().jumped()
    repair.reconcile(back)
    running.refresh_from_db()
    assert (running.state, running.losses) == (State.QUEUED, 1)
