"""A stretch of a file that the map shows, and the stretches one can go on to."""

from dataclasses import dataclass

FACTOR = 8
LEAST = 64
"""Bytes of the smallest stretch: four rows of the hex view."""


@dataclass(frozen=True, slots=True)
class Stretch:
    """Bytes ``begin`` to ``end`` of the ``size`` that a map can show."""

    begin: int
    end: int
    size: int

    @classmethod
    def of(cls, begin: int | None, end: int | None, size: int) -> "Stretch":
        """What was asked for, if it makes sense; else the whole."""
        if begin is None or end is None or not begin + LEAST <= end or begin >= size:
            return cls(0, size, size)
        return cls(begin, min(end, size), size)

    @property
    def whole(self) -> bool:
        return self.begin == 0 and self.end >= self.size

    def zoomed(self, length: int, around: int | None) -> "Stretch":
        """``length`` bytes of it around one of its bytes, or around its middle."""
        length = max(min(length, self.size), min(LEAST, self.size))
        inside = around is not None and self.begin <= around < self.end
        middle = around if inside and around is not None else (self.begin + self.end) // 2
        begin = min(max(middle - length // 2, 0), self.size - length)
        return Stretch(begin, begin + length, self.size)

    def steps(self, around: int | None, header: int | None) -> list[tuple[str, "Stretch"]]:
        """Where one can go from here, each with its name."""
        length = self.end - self.begin
        found = []
        if not self.whole:
            found.append(("Whole file", Stretch(0, self.size, self.size)))
        if header and header < self.size and (self.begin, self.end) != (0, header):
            found.append(("Header", Stretch(0, header, self.size)))
        if length > LEAST:
            found.append(("Zoom in", self.zoomed(length // FACTOR, around)))
        if not self.whole:
            found.append(("Zoom out", self.zoomed(length * FACTOR, around)))
        half = max(length // 2, 1)
        if self.begin > 0:
            begin = max(self.begin - half, 0)
            found.append(("Earlier", Stretch(begin, begin + length, self.size)))
        if self.end < self.size:
            end = min(self.end + half, self.size)
            found.append(("Later", Stretch(end - length, end, self.size)))
        return found
