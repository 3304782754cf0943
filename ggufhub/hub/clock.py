"""Notices when the clock of the machine was set: for a moment no age can be trusted then."""

import time
from collections.abc import Callable

TOLERANCE_SECONDS = 5.0
"""The clock is slewed by milliseconds and set by more. Leases are four times as long."""


class Clock:
    """Compares the time of day with a clock that only counts on."""

    def __init__(
        self,
        wall: Callable[[], float] = time.time,
        steady: Callable[[], float] = time.monotonic,
    ) -> None:
        self._wall = wall
        self._steady = steady
        self._offset = wall() - steady()

    def jumped(self) -> bool:
        """Whether the time of day was set since this was last asked, or since the start."""
        before, self._offset = self._offset, self._wall() - self._steady()
        return abs(self._offset - before) > TOLERANCE_SECONDS


clock = Clock()
"""Of this process, since it was started."""
