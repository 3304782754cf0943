"""A step of every worker's consumer that forgets the time limits of tasks that have ended.

Celery cancels them, but its timer keeps what is cancelled, with the task's message and result,
until the moment it was set for: two minutes for an inspection, an hour for a step of an audit, six
for a full read. A worker with a thousand audits an hour would grow by a thousand of them.
"""

from typing import Any

from celery import bootsteps
from kombu.asynchronous.timer import Timer

EVERY_SECONDS = 30.0
"""Of sorting a few hundred entries, which takes less than a millisecond."""


class ForgetTimeLimits(bootsteps.StartStopStep):
    """Only where processes do the work: threads have no time limits, and a timer of their own."""

    requires = {"celery.worker.consumer.tasks:Tasks"}

    def __init__(self, consumer: Any, **options: Any) -> None:
        super().__init__(consumer, **options)
        self._entry: Any = None

    def include_if(self, consumer: Any) -> bool:
        return isinstance(consumer.timer, Timer)

    def start(self, consumer: Any) -> None:
        self._entry = consumer.timer.call_repeatedly(EVERY_SECONDS, forget, (consumer.timer,))

    def stop(self, consumer: Any) -> None:
        if self._entry is not None:
            self._entry.cancel()
            self._entry = None


def forget(timer: Timer) -> None:
    """Drop what is cancelled; all else stays for the moment it was set for."""
    waiting = [scheduled for scheduled in timer.queue if not scheduled.entry.cancelled]
    timer.clear()
    for eta, priority, entry in waiting:
        timer.enter_at(entry, eta, priority)
