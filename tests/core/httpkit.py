"""What the tests of HttpSource share: one file, small limits, and a failing read."""

import hashlib
from dataclasses import replace

import pytest

from ggufhub.errors import SourceError
from ggufhub.limits import Limits
from ggufhub.sources.http import HttpSource
from tests.core import rangeserver
from tests.core.rangeserver import LOOPBACK, Behaviour, RangeServer

DATA = bytes(hashlib.shake_128(b"model").digest(100_000))
SMALL = Limits(
    first_read=4096,
    largest_read=32_768,
    requests=12,
    seconds=60.0,
    connect_seconds=10.0,
    operation_seconds=20.0,
    request_seconds=30.0,
)
"""Few bytes and requests, and all the time that a busy machine may need."""

IMPATIENT = {"operation_seconds": 0.3, "request_seconds": 0.5}
"""For servers that never come to an end."""


def serve(*behaviours: Behaviour, name: str = "a.gguf", data: bytes = DATA) -> RangeServer:
    """A server of one file that behaves by ``behaviours`` in turn, well if there are none."""
    chosen = {name: rangeserver.sequence(*behaviours)} if behaviours else {}
    return RangeServer({name: data}, chosen)


def open_url(url: str, limits: Limits = SMALL, **headers: str) -> HttpSource:
    return HttpSource(url, policy=LOOPBACK, limits=limits, headers=headers)


def failure(
    server: RangeServer, offset: int = 0, length: int = 100, **limits: float
) -> SourceError:
    """The error of one read from ``a.gguf``."""
    with (
        open_url(server.url("a.gguf"), replace(SMALL, **limits)) as source,
        pytest.raises(SourceError) as caught,
    ):
        source.read(offset, length)
    return caught.value
