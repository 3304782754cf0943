"""Pages of rows by index: plain links, no state."""

from dataclasses import dataclass

LARGEST_INDEX = 2**40
"""Beyond any array; keeps a hostile ``?start=`` inside what databases and slices take."""


@dataclass(frozen=True, slots=True)
class Page:
    """Rows ``start`` to ``start + limit`` of ``total``."""

    start: int
    limit: int
    total: int

    @property
    def first(self) -> int:
        """The first row shown, counted from 1; 0 if there is none."""
        return min(self.start + 1, self.total)

    @property
    def last(self) -> int:
        return min(self.start + self.limit, self.total)

    @property
    def previous(self) -> int | None:
        """Where the page before starts, or None on the first."""
        return max(0, self.start - self.limit) if self.start > 0 else None

    @property
    def next(self) -> int | None:
        following = self.start + self.limit
        return following if following < self.total else None

    @property
    def end(self) -> int:
        """Where the last page starts."""
        return max(0, (self.total - 1) // self.limit * self.limit)

    @property
    def many(self) -> bool:
        return self.total > self.limit


def whole_number(text: str | None, default: int | None = 0) -> int | None:
    """A non-negative integer from a query string, clamped; ``default`` for anything else."""
    if text is None or not text.isascii() or not text.isdigit() or len(text) > 20:
        return default
    return min(int(text), LARGEST_INDEX)
