"""Bytes as rows of hexadecimal and characters, some of them marked."""

from dataclasses import dataclass
from itertools import groupby

PAGE = 256
ROW = 16


@dataclass(frozen=True, slots=True)
class Run:
    """Neighbouring bytes of one row that are marked alike: as hexadecimal, and as characters."""

    hex: str
    text: str
    mark: str


@dataclass(frozen=True, slots=True)
class Row:
    """Sixteen bytes, or fewer at the end."""

    offset: int
    runs: list[Run]


def rows(raw: bytes, offset: int, marks: list[tuple[int, int, str]]) -> list[Row]:
    """``raw``, which starts at ``offset`` (a multiple of 16), row by row.

    ``marks`` are ``(begin, end, css)`` in bytes of the file; where two hold a byte the later wins.
    """
    return [
        Row(offset + start, _runs(raw[start : start + ROW], offset + start, marks))
        for start in range(0, len(raw), ROW)
    ]


def _runs(raw: bytes, offset: int, marks: list[tuple[int, int, str]]) -> list[Run]:
    marked = [(byte, _mark(offset + index, marks)) for index, byte in enumerate(raw)]
    runs = []
    for css, group in groupby(marked, key=lambda pair: pair[1]):
        part = [byte for byte, _ in group]
        shown = "".join(chr(byte) if 0x20 <= byte < 0x7F else "\u00b7" for byte in part)
        runs.append(Run(" ".join(f"{byte:02X}" for byte in part), shown, css))
    return runs


def _mark(at: int, marks: list[tuple[int, int, str]]) -> str:
    return next((css for begin, end, css in reversed(marks) if begin <= at < end), "")
