"""Where each string of a string array starts, found by vectorised search for length prefixes.

A string is a length prefix of ``width`` bytes (8; 4 in version 1) and that many bytes. Reading
them one by one costs a Python step each; vocabularies hold up to 777,050. Lengths below 256 are
written as ``width - 1`` zero bytes around one other byte, and text has no such runs, so:

1. Look at the block as words of half the prefix. Any run of ``width - 1`` zeros covers exactly
   one aligned word, so words equal to zero point at every short prefix, in one pass.
2. The word beside it tells where the run starts (how many of its bytes are zero too): there is
   the prefix, and the length is read from it.
3. Where ``prefix + width + length`` is the next candidate, and so on, a whole run is taken.
4. Empty strings, strings of 256 bytes and more, and anything odd break a run and are stepped
   over one by one with the same checks as any other string; then the runs resume.

The result is exact whatever the bytes: candidates are guesses, but a run begins where the walk
stands and every step in it uses the length stored there.
"""

from typing import NamedTuple

import numpy as np

from ggufhub.formats.cursor import Cursor

BLOCK = 256 * 1024
"""Bytes looked at in one pass: temporaries stay in the second-level cache."""

STEPS_AFTER_BREAK = 64
"""Strings stepped over one by one after a short run, so that mixed lengths cost no search each;
after each further short run twice as many, up to ``MOST_STEPS``."""

MOST_STEPS = 4096

SHORT_RUN = 8

MARGIN = 1.03
"""Later strings of a vocabulary are a little longer than earlier ones."""


class Candidates(NamedTuple):
    """Sorted positions of likely prefixes and the position after each one's string."""

    at: np.ndarray
    after: np.ndarray
    breaks: np.ndarray


def index_strings(cursor: Cursor, count: int, what: str) -> np.ndarray:
    """Positions of ``count`` length prefixes from the cursor on, as uint32; the cursor moves on.

    Raises what ``Cursor`` raises. Positions fit because a header is bounded far below 4 GiB.
    """
    walk = _Walk(cursor, count, what)
    while walk.left:
        walk.block()
    cursor.need(0, what)  # the last string may reach past what has been read
    return np.concatenate(walk.parts) if walk.parts else np.empty(0, np.uint32)


class _Walk:
    """The state of one walk: what is left, and the positions found so far."""

    def __init__(self, cursor: Cursor, count: int, what: str) -> None:
        self.cursor = cursor
        self.count = count
        self.left = count
        self.what = what
        self.parts: list[np.ndarray] = []
        self._began = cursor.position
        self._steps = STEPS_AFTER_BREAK

    def block(self) -> None:
        """Index strings that start in the next block of the window."""
        cursor = self.cursor
        self._read_ahead()
        end = min(cursor.position + BLOCK, cursor.window.filled)
        found = find_candidates(
            cursor.window.buffer, cursor.position, end, cursor.prefix, cursor.order.value == "big"
        )
        while self.left and cursor.position + cursor.prefix <= end:
            taken = self._take_run(found)
            if taken < SHORT_RUN:
                self._step(end, self._steps)
                self._steps = min(2 * self._steps, MOST_STEPS)
            else:
                self._steps = STEPS_AFTER_BREAK

    def _read_ahead(self) -> None:
        """Have at least one prefix, and ask for as much as the strings so far suggest."""
        cursor = self.cursor
        done = self.count - self.left
        mean = (cursor.position - self._began) / done if done else float(cursor.prefix)
        following = cursor.rest + int(cursor.echo * mean * self.count)
        likely_end = cursor.position + int(mean * self.left * MARGIN) + following
        if not cursor.window.ensure(cursor.position + cursor.prefix, likely_end):
            cursor.halt_at_end(cursor.prefix, self.what)

    def _take_run(self, found: Candidates) -> int:
        cursor = self.cursor
        first = int(np.searchsorted(found.at, cursor.position))
        if first == len(found.at) or found.at[first] != cursor.position:
            return 0
        last = int(found.breaks[np.searchsorted(found.breaks, first)])
        last = min(last, first + self.left - 1)
        if not self._fits(int(found.at[last]), int(found.after[last])):
            last -= 1  # the exact step says what is wrong with it
        if last < first:
            return 0
        after = int(found.after[last])
        self.parts.append(found.at[first : last + 1].astype(np.uint32))
        taken = last + 1 - first
        self.left -= taken
        cursor.position = after
        return taken

    def _fits(self, start: int, after: int) -> bool:
        size = self.cursor.window.size
        length = after - start - self.cursor.prefix
        return length <= self.cursor.window.limits.string_bytes and (size is None or after <= size)

    def _step(self, end: int, steps: int) -> None:
        """Step over up to ``steps`` strings that start before ``end``, one by one."""
        starts = self.cursor.skip_strings(min(steps, self.left), end, self.what)
        self.parts.append(np.asarray(starts))
        self.left -= len(starts)


def find_candidates(buffer: memoryview, start: int, end: int, width: int, big: bool) -> Candidates:
    """Every prefix of a length 1 to 255 that lies wholly in ``[start, end)``, and a few others.

    ``width`` is 8 or 4. "Others" are places inside strings that look like one. All prefixes
    hold a zero word, so a length is far below 2^63 and the sums cannot wrap.
    """
    half = width // 2
    order = ">" if big else "<"
    start -= start % half  # aligned words are several times quicker to compare
    words = np.frombuffer(buffer, f"<u{half}", (end - start) // half, start)
    zero = np.flatnonzero(words[1:-2] == 0) + 1
    at = half * zero + (1 - half if big else -1)
    shift = _zero_bytes_beside(words[zero + 1 if big else zero - 1], half, big)
    at = at + shift if big else at - shift
    unaligned = np.ndarray(
        (max(end - start - width + 1, 0),), f"{order}u{width}", buffer, start, (1,)
    )
    length = unaligned[at].astype(np.int64)
    at += start
    after = at + width + length
    breaks = np.flatnonzero(after[:-1] != at[1:])
    return Candidates(at, after, np.append(breaks, len(at) - 1))


def _zero_bytes_beside(near: np.ndarray, half: int, big: bool) -> np.ndarray:
    """How many bytes of each word, on the side of the zero run, are zero as well (0 to half-1)."""
    shift = np.zeros(len(near), np.uint8)
    for byte in range(1, half):
        if big:
            shift += (near & ((1 << 8 * byte) - 1) == 0).view(np.uint8)
        else:
            shift += (near < 1 << 8 * (half - byte)).view(np.uint8)
    return shift
