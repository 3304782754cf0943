"""The workers' application with a file that burns CPU in one call of C, which nothing but the end
of its process interrupts. ``celery -A tests.faults.burning worker`` is what the test runs."""

from tests.workers import faults
from workers import inspect as task

__all__ = ["app"]

SOFT_SECONDS, HARD_SECONDS = 3, 6
"""The limits of an inspection, twenty-five times shorter."""

app = faults.app
task.inspect.soft_time_limit, task.inspect.time_limit = SOFT_SECONDS, HARD_SECONDS


def burn() -> None:
    """A sum that takes hours and looks at no signal on the way."""
    sum(range(10**12))


faults.FAULTS["burn.gguf"] = burn
