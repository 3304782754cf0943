"""Free memory goes back to the system, and is not only kept for later."""

import os
from pathlib import Path

import pytest

from ggufhub.web import memory
from tests.live import wait_for

BLOCK = 4000
"""Bytes: more than Python's own pools take, less than the C library maps by itself."""


def resident() -> int:
    """Bytes of this process that are in memory."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def test_holes_between_what_stays_are_given_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "EVERY_SECONDS", 0.1)
    memory.give_back_regularly()
    blocks = [os.urandom(BLOCK) for _ in range(20_000)]
    stays = blocks[::100]
    full = resident()
    del blocks
    wait_for(lambda: full - resident() > 40_000_000)
    assert len(stays) == 200
