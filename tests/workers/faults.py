"""The real Celery app, with a core that fails on command: the name of the file says how.

``celery -A tests.workers.faults worker`` is what the live tests run.
"""

import os
import signal
import time
from typing import Any

import numpy as np

from ggufhub.integrity import checkpoint
from ggufhub.limits import MIB
from ggufhub.report import build
from ggufhub.report.document import Report
from ggufhub.sources.base import ByteSource, Reads
from workers import inspect as task
from workers.app import app

__all__ = ["app"]

_inspect = build.inspect


def hang() -> None:
    """Until killed."""
    time.sleep(3600)


def die() -> None:
    """As a crash in native code or the out-of-memory killer."""
    os.kill(os.getpid(), signal.SIGKILL)


def memory() -> None:
    """Beyond the process's limit, through numpy."""
    np.ones(2 * 1024**3, np.uint8)


def nesting() -> None:
    """Beyond the recursion limit."""
    nesting()


def bug() -> None:
    """A mistake of ours."""
    raise ZeroDivisionError("a detail nobody outside should read")


FAULTS = {
    "hang.gguf": hang,
    "die.gguf": die,
    "memory.gguf": memory,
    "nesting.gguf": nesting,
    "bug.gguf": bug,
}


class FaultyBuild:
    """Stands in for ``ggufhub.report.build`` in the worker."""

    @staticmethod
    def inspect(source: ByteSource, **options: Any) -> Report:
        name = source.locator.rpartition("/")[2]  # its identity may cost a request
        if name == "slow.gguf":
            return _slowly(source, **options)
        if name == "halting.gguf":
            return _halting(source, **options)
        if name in FAULTS:
            FAULTS[name]()
        return _inspect(source, **options)


def _slowly(source: ByteSource, **options: Any) -> Report:
    for _ in range(300):
        source.reads.add(1)
        options["progress"]("reading", source.reads)
        time.sleep(0.1)
    return _inspect(source, **options)


def _halting(source: ByteSource, **options: Any) -> Report:
    """Every byte with a checkpoint after each few reads; the first attempt stops for ever when
    more than half is read."""
    checkpoint.EVERY_BYTES = 16 * MIB
    taken_up = options["checkpoints"].last is not None
    tell = options["progress"]

    def halt(stage: str, reads: Reads) -> None:
        tell(stage, reads)
        if not taken_up and reads.bytes > (source.identity.size or 0) // 2:
            hang()

    return _inspect(source, **{**options, "progress": halt})


task.build = FaultyBuild
