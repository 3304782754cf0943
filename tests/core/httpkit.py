"""What the tests of HttpSource share: one file, quick limits, and a failing read."""

import hashlib
from dataclasses import replace

import pytest

from ggufhub.errors import SourceError
from ggufhub.limits import Limits
from ggufhub.sources.http import HttpSource
from tests.core import rangeserver
from tests.core.rangeserver import LOOPBACK, Behaviour, RangeServer

DATA = bytes(hashlib.shake_128(b"model").digest(100_000))
QUICK = Limits(
    first_read=4096,
    largest_read=32_768,
    requests=12,
    seconds=3.0,
    connect_seconds=1.0,
    operation_seconds=0.3,
    request_seconds=0.5,
)


def serve(*behaviours: Behaviour, name: str = "a.gguf", data: bytes = DATA) -> RangeServer:
    """A server of one file that behaves by ``behaviours`` in turn, well if there are none."""
    chosen = {name: rangeserver.sequence(*behaviours)} if behaviours else {}
    return RangeServer({name: data}, chosen)


def open_url(url: str, limits: Limits = QUICK, **headers: str) -> HttpSource:
    return HttpSource(url, policy=LOOPBACK, limits=limits, headers=headers)


def failure(
    server: RangeServer, offset: int = 0, length: int = 100, **limits: float
) -> SourceError:
    """The error of one read from ``a.gguf``."""
    with (
        open_url(server.url("a.gguf"), replace(QUICK, **limits)) as source,
        pytest.raises(SourceError) as caught,
    ):
        source.read(offset, length)
    return caught.value
