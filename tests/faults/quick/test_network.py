"""A model behind a network that misbehaves: the right report or an error with a code, never wrong
bytes, and never late."""

import hashlib
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import pytest

from ggufhub.limits import Limits
from ggufhub.report import build
from ggufhub.report.document import Report
from ggufhub.rules.model_samples import llama
from ggufhub.sources.http import HttpSource
from tests.core.rangeserver import LOOPBACK, RangeServer
from tests.faults.proxy import Fault, FaultProxy

DATA = llama() + bytes(200_000)
SHA256 = hashlib.sha256(DATA).hexdigest()
LIMITS = replace(
    Limits(), seconds=10.0, connect_seconds=5.0, operation_seconds=1.0, request_seconds=3.0
)


@contextmanager
def model(*faults: Fault) -> Iterator[str]:
    """The link of the model behind a network with these faults."""
    with RangeServer({"model.gguf": DATA}) as server, FaultProxy(server.port, *faults) as proxy:
        yield f"http://127.0.0.1:{proxy.port}/model.gguf"


def look(link: str, limits: Limits = LIMITS, **options: object) -> Report:
    began = time.monotonic()
    with HttpSource(link, policy=LOOPBACK, limits=limits) as source:
        report = build.inspect(source, **options)
    assert time.monotonic() - began < 3 * limits.seconds  # a busy machine may add its own
    return report


def code(report: Report) -> str | None:
    error = report.document["error"]
    return error["code"] if error else None


with RangeServer({"model.gguf": DATA}) as _server:
    RIGHT = look(_server.url("model.gguf")).document["metadata"]


@pytest.mark.parametrize(
    "fault",
    [Fault(), Fault(latency=0.3), Fault(slice=7, after=None), Fault(rate=1_000_000, slice=4096)],
)
def test_a_poor_network_only_takes_longer(fault: Fault) -> None:
    with model(fault) as link:
        assert look(link).document["metadata"] == RIGHT


def test_a_network_that_crawls_ends_in_a_timeout() -> None:
    with model(Fault(rate=2_000, slice=64)) as link:
        assert code(look(link)) in ("timeout", "limit")


@pytest.mark.parametrize("end", ["fin", "rst", "stall"])
@pytest.mark.parametrize("after", [0, 1, 9, 15, 40, 120, 180, 300, 1_000, 5_000, 60_000])
def test_a_cut_anywhere_is_tried_again(end: str, after: int) -> None:
    """In the status line, in the headers, in the body: the second connection is good."""
    with model(Fault(after=after, end=end), Fault()) as link:
        report = look(link)
    if code(report) is None:
        assert report.document["metadata"] == RIGHT
    else:
        assert code(report) in ("connection", "unreachable", "short_body", "timeout", "bad_answer")


@pytest.mark.parametrize("end", ["fin", "rst"])
def test_a_network_that_always_cuts_ends_in_an_error(end: str) -> None:
    with model(Fault(after=700, end=end)) as link:
        report = look(link)
    assert report.verdict == "unreadable"
    assert code(report) in ("short_body", "bad_answer", "timeout")


def test_nobody_answers() -> None:
    """The refusal may come while the connection is made, or just after it."""
    with model(Fault(refuse=True)) as link:
        assert code(look(link)) in ("connection", "unreachable")


@pytest.mark.parametrize("flip", [None, 400, 1_000, 2_000, 30_000])
def test_a_flipped_bit_is_found_where_a_digest_is_known(flip: int | None) -> None:
    with model(Fault(flip=flip)) as link:
        limits = replace(LIMITS, seconds=10.0)
        report = look(link, limits, depth="full", expected={"sha256": SHA256})
    rules = {finding["rule"] for finding in report.document["findings"]}
    assert ("STR035" in rules) == (flip is not None)


@pytest.mark.parametrize("flip", range(300, 1500, 60))
def test_a_flipped_bit_never_breaks_the_reader(flip: int) -> None:
    with model(Fault(flip=flip)) as link:
        report = look(link)
    assert report.verdict in ("pass", "warn", "fail", "unreadable")
    assert not [e for e in report.document["not_evaluated"] if "failed" in e["reason"]]
