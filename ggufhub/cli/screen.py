"""Writing: to the screen or a file, with colours and progress only where a person is looking."""

import argparse
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self, TextIO

from ggufhub.errors import UsageError
from ggufhub.sources.base import Reads

if TYPE_CHECKING:
    from argparse import _ActionsContainer as ActionsContainer  # a parser or a group of options

_BAR = 24
"""Characters of the bar."""

_CLEAR = "\r\x1b[K"


def add_output(parser: "ActionsContainer") -> None:
    parser.add_argument(
        "--output", type=Path, metavar="FILE", help="write there instead of to the screen"
    )


def add_formats(parser: argparse.ArgumentParser, names: tuple[str, ...]) -> None:
    """The options ``--format``, ``--output`` and ``--also``; the last may be given many times."""

    def second(text: str) -> tuple[str, Path]:
        name, _, path = text.partition("=")
        if name not in names or not path:
            raise argparse.ArgumentTypeError(f"give FORMAT=FILE, FORMAT one of {', '.join(names)}")
        return name, Path(path)

    group = parser.add_argument_group("output")
    group.add_argument("--format", choices=names, default="text")
    add_output(group)
    group.add_argument(
        "--also",
        action="append",
        default=[],
        type=second,
        metavar="FORMAT=FILE",
        help=f"write it once more, for example {names[-1]}=FILE",
    )


@contextmanager
def output(path: Path | None) -> Iterator[TextIO]:
    """The file to write, or the screen. ``UsageError`` for a file that cannot be written."""
    if path is None:
        yield sys.stdout
        return
    try:
        with path.open("w", encoding="utf-8") as file:
            yield file
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror}") from error


def colours(out: TextIO) -> bool:
    """Whether to paint: on a terminal, unless NO_COLOR (https://no-color.org) is set."""
    return out.isatty() and not os.environ.get("NO_COLOR")


class Progress:
    """How far a check is, on one line of stderr; silent where stderr is no terminal."""

    def __init__(self, total: int, stream: TextIO | None = None) -> None:
        self._stream = stream or sys.stderr
        self._shown = self._stream.isatty()
        self._total = total
        self._done = 0
        self._last = ""

    def __enter__(self) -> Self:
        self._draw("")
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._shown:
            self._stream.write(_CLEAR)
            self._stream.flush()

    def done(self) -> None:
        """One more model is finished."""
        self._done += 1
        self._draw("")

    def of(self, done: int, total: int) -> None:
        """``done`` models are finished, of ``total``."""
        self._done, self._total = done, total
        self._draw("")

    def reading(self, stage: str, reads: Reads) -> None:
        """The one model in work has read something."""
        self._draw(f"{stage}, {reads.bytes:,} bytes in {reads.requests:,} reads")

    def _draw(self, words: str) -> None:
        if not self._shown:
            return
        full = _BAR * self._done // max(self._total, 1)
        bar = "█" * full + "░" * (_BAR - full)
        line = f"{_CLEAR}{bar} {self._done:,} of {self._total:,} {words}"
        if line != self._last:
            self._last = line
            self._stream.write(line)
            self._stream.flush()
