"""A step of every worker's consumer that forgets the time limits of tasks that have ended.

Celery cancels them, but its timer keeps what is cancelled, with the task's message and result,
until the moment it was set for: two minutes for an inspection, an hour for a step of an audit, six
for a full read. A worker with a thousand audits an hour would grow by a thousand of them.
"""

from typing import Any

from kombu.asynchronous.timer import Timer

from workers.repeated import Repeated


class ForgetTimeLimits(Repeated):
    """Only where processes do the work: threads have no time limits, and a timer of their own."""

    seconds = 30.0  # of sorting a few hundred entries, which takes less than a millisecond

    def include_if(self, consumer: Any) -> bool:
        return isinstance(consumer.timer, Timer)

    def act(self, consumer: Any) -> None:
        forget(consumer.timer)


def forget(timer: Timer) -> None:
    """Drop what is cancelled; all else stays for the moment it was set for."""
    waiting = [scheduled for scheduled in timer.queue if not scheduled.entry.cancelled]
    timer.clear()
    for eta, priority, entry in waiting:
        timer.enter_at(entry, eta, priority)
