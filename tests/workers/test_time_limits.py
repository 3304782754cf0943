"""What is left in a worker's timer of tasks that have ended."""

import gc
import time
import weakref

from celery import Celery
from kombu.asynchronous.hub import Hub
from kombu.asynchronous.timer import Timer

from workers.app import app
from workers.time_limits import ForgetTimeLimits, forget


class Message:
    """Stands for all a time limit holds on to."""


def test_cancelled_time_limits_are_let_go_at_once() -> None:
    timer, message = Timer(), Message()
    gone = weakref.ref(message)
    timer.call_after(3600, print, (message,)).cancel()
    del message
    gc.collect()
    assert gone() is not None, "the timer itself forgets now: the step is of no more use"
    forget(timer)
    assert gone() is None
    assert len(timer) == 0


def test_what_is_not_cancelled_comes_in_its_order_and_at_its_time() -> None:
    timer, came = Timer(), []
    for name, seconds in (("third", 0.02), ("first", 0.0), ("second", 0.01), ("later", 3600.0)):
        timer.call_after(seconds, came.append, (name,))
        timer.call_after(seconds, came.append, (f"not {name}",)).cancel()
    forget(timer)
    end, waits = time.monotonic() + 10, iter(timer)
    while len(came) < 3 and time.monotonic() < end:
        _, entry = next(waits)
        if entry is not None:
            entry()
    assert came == ["first", "second", "third"]
    assert len(timer) == 1


def test_it_can_run_from_the_timer_it_clears() -> None:
    """As it does in a worker: the event loop is in the middle of its timer then."""
    hub = Hub(timer=Timer())
    hub.timer.call_repeatedly(0.01, forget, (hub.timer,))
    hub.timer.call_after(3600, print).cancel()
    hub.timer.call_after(3600, print)
    end = time.monotonic() + 10
    while len(hub.timer) > 2 and time.monotonic() < end:
        hub.fire_timers()
    assert len(hub.timer) == 2  # what waits for an hour, and itself
    time.sleep(0.02)
    hub.fire_timers()
    assert len(hub.timer) == 2


class Consumer:
    """What the step needs of one."""

    def __init__(self, timer: object) -> None:
        self.timer, self.app, self.steps = timer, Celery(), []


def test_every_worker_of_processes_has_the_step_and_leaves_nothing_when_it_stops() -> None:
    assert ForgetTimeLimits in app.steps["consumer"]
    consumer = Consumer(Timer())
    step = ForgetTimeLimits(consumer)
    assert step.include_if(consumer)
    assert not step.include_if(Consumer(object()))
    step.start(consumer)
    assert len(consumer.timer) == 1
    step.stop(consumer)
    forget(consumer.timer)
    assert len(consumer.timer) == 0
