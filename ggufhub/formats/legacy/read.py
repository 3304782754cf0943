"""Read a file of a format before GGUF: GGML, GGMF, GGJT and GGLA.

Several programs share one magic, so the layout is found by trying: it is right where its tensors
end exactly where the file does. Tensor names decide between layouts that do not differ, and where
none fits, the one that got furthest tells what is wrong.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import NamedTuple

from ggufhub.errors import BytesMissing, LimitExceeded, SourceError
from ggufhub.formats.cursor import Halt
from ggufhub.formats.header import Header, Span, Stop, StopReason
from ggufhub.formats.legacy.parts import Parts
from ggufhub.formats.legacy.programs import GGLA, RWKV, SCORED_LLAMA, SHARING_MAGIC, Program
from ggufhub.formats.legacy.rows import HEAD_BYTES, read_rows
from ggufhub.formats.legacy.tensor_types import (
    APRIL_2023,
    BEFORE_GGJT_2,
    GGJT_2,
    GGJT_3,
    RWKV_ERAS,
    Era,
    program_eras,
)
from ggufhub.formats.values import ByteOrder
from ggufhub.sources.pages import Pages
from ggufhub.sources.window import Window

ALIGNMENT = 32
"""Of tensor data in GGJT and GGLA files; the older ones align nothing."""

MOST_FTYPE = 28
"""The largest type of ``enum ggml_ftype``; the version of the quantisation is at most 2."""

_FIRST_ERAS = (BEFORE_GGJT_2, APRIL_2023)


@dataclass(frozen=True, slots=True)
class _Layout:
    """How to read on after magic and version. Without eras, ``ftype`` tells the era."""

    program: Program
    eras: tuple[Era, ...] = ()
    alignment: int = 1


_VERSIONED = {
    ("ggla", 1): _Layout(GGLA, (GGJT_3,), ALIGNMENT),
    ("ggmf", 1): _Layout(SCORED_LLAMA, _FIRST_ERAS),
    ("ggmf", 100): _Layout(RWKV, RWKV_ERAS),
    ("ggmf", 101): _Layout(RWKV, RWKV_ERAS),
    ("ggjt", 1): _Layout(SCORED_LLAMA, _FIRST_ERAS, ALIGNMENT),
    ("ggjt", 2): _Layout(SCORED_LLAMA, (GGJT_2,), ALIGNMENT),
    ("ggjt", 3): _Layout(SCORED_LLAMA, (GGJT_3,), ALIGNMENT),
}

_VERSIONS = {"ggla": "1", "ggmf": "1 (100 and 101 are files of rwkv.cpp)", "ggjt": "1 to 3"}
"""Versions that exist, in words."""


def read_legacy(window: Window, code: str) -> Header:
    """Read the file whose magic is that of ``code`` (ggml, ggmf, ggjt, ggla).

    Raises only ``SourceError``; all else is in the Header.
    """
    header = Header("ggml" if code == "ggla" else code, window.size, None, ByteOrder.LITTLE)
    header.program = "ggla" if code == "ggla" else "llama"
    pages = Pages(window)
    try:
        with _noting(header):
            if code == "ggml":
                return _best(window, pages, header)
            layout = _versioned(window, header, code)
            return _attempt(window, pages, header, layout, 8)
    except BytesMissing as missing:
        # Headers lie between the data up to the end of the file, so ask for all of it at once.
        size = window.size or missing.offset + missing.length
        raise BytesMissing(missing.offset, size - missing.offset, missing.name) from missing
    return header


@contextmanager
def _noting(header: Header) -> Iterator[None]:
    """End the block early where reading must end, and note in ``header`` why."""
    try:
        yield
    except Halt as halt:
        header.stop = halt.stop
    except LimitExceeded as limit:
        header.limit = limit
    except SourceError as error:
        if error.limit is None:
            raise
        header.limit = error.limit


def _versioned(window: Window, header: Header, code: str) -> _Layout:
    """The layout of a format that has versions."""
    if not window.ensure(8):
        size = window.size or 4
        stop = Stop(StopReason.END_OF_FILE, "The file ends inside its version.", Span(4, size - 4))
        raise Halt(stop)
    header.version = int.from_bytes(window.buffer[4:8], "little")
    layout = _VERSIONED.get((code, header.version))
    if layout is None:
        message = f"Version {header.version:,} of {code.upper()} does not exist."
        actual = f"{header.version:,}"
        raise Halt(
            Stop(StopReason.VERSION, message, Span(4, 4), expected=_VERSIONS[code], actual=actual)
        )
    return layout


def _best(window: Window, pages: Pages, header: Header) -> Header:
    """The best of all layouts behind the magic of GGML; the first one that fits exactly."""
    best, best_rank = header, _Rank(False, False, -1, 0)
    for program in SHARING_MAGIC:
        attempt = _attempt(window, pages, header, _Layout(program), 4)
        rank = _rank(attempt, program)
        if rank > best_rank:
            best, best_rank = attempt, rank
        if rank.fits:
            return attempt
    if _is_exact(best) and best.tensors and not best_rank.named:
        best.program = ""  # the numbers fit, the names do not: some program we do not know
    return best


def _attempt(window: Window, pages: Pages, start: Header, layout: _Layout, position: int) -> Header:
    """Read the whole file by one layout."""
    header = replace(
        start, program=layout.program.name, alignment=layout.alignment, keys=[], tensors=[]
    )
    with _noting(header):
        parts = Parts(window, header, position)
        layout.program.read(parts)
        header.keys_end = parts.position
    if header.keys_end is None:
        return header
    eras = layout.eras or program_eras(header.number("ftype"))
    first: Header | None = None
    for era in eras:
        attempt = replace(header, tensors=[])
        with _noting(attempt):
            read_rows(pages, attempt, header.keys_end, era, layout.alignment)
        attempt.size = pages.size
        if _is_exact(attempt):
            return attempt
        first = first or attempt
    assert first is not None
    return first


class _Rank(NamedTuple):
    """How well a layout fits, the better the larger."""

    fits: bool
    named: bool
    plausible: int
    matches: int


def _rank(header: Header, program: Program) -> _Rank:
    matches = sum(tensor.name.startswith(program.tensors) for tensor in header.tensors)
    marked = matches > 0 or program.bare
    fits = _is_exact(header) and matches == len(header.tensors) and marked
    return _Rank(fits, matches > 0, _plausible(header), matches)


def _plausible(header: Header) -> int:
    """2: nothing speaks against the layout. 1: we gave up, or the file is too small. 0: wrong."""
    ftype = header.number("ftype")
    if ftype is not None and (ftype % 1000 > MOST_FTYPE or ftype >= 3000):
        return 0
    if header.limit is not None:
        return 1
    stop = header.stop
    if stop is None or stop.reason is StopReason.END_OF_FILE:
        return 2
    if stop.reason is StopReason.TRAILING and stop.span.length < HEAD_BYTES:
        return 2  # as a tensor header that was cut short
    return int(stop.reason is StopReason.COUNT)


def _is_exact(header: Header) -> bool:
    """Whether the last tensor ends where the file does, as far as its size is known."""
    if not header.complete:
        return False
    last = header.tensors[-1] if header.tensors else None
    end = header.keys_end if last is None else last.offset + (last.bytes or 0)
    return header.size is None or end == header.size
