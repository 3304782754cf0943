"""Hosts that say how much may be asked of them, and hosts that say nothing any more."""

import time
from email.message import Message
from typing import Any

import pytest

from ggufhub.audit.hosts import HOST_DOWN, REQUESTS, TRIES, Hosts
from ggufhub.errors import SourceError
from ggufhub.report.run import addresses
from ggufhub.rules.model_samples import llama
from ggufhub.sources.api import Answer
from ggufhub.sources.list_quota import Quota
from ggufhub.sources.open import open_source
from ggufhub.sources.quota import Left
from tests.core.rangeserver import Handler, RangeServer

FILE = "https://hub.example/a.gguf"


def answer(text: str, status: int = 200, **others: str) -> Answer:
    headers = Message()
    headers["RateLimit"] = text
    for name, value in others.items():
        headers[name.replace("_", "-")] = value
    return Answer(status, headers, b"")


def left(text: str, status: int = 200, **others: str) -> Left | None:
    told = answer(text, status, **others)
    return Left.told(told.status, told.headers)


def in_a_minute(requests: int) -> Left:
    return Left(requests, time.time() + 60)


@pytest.mark.parametrize(
    ("text", "requests", "seconds"),
    [
        ('"api";r=12;t=55', 12, 55),
        ('"pages";r=9;t=300, "api"; r=0; t=55', 0, 55),
        ('"api";t=55;r=12', 12, 55),
        ('"api";r=0;t=999999', 0, 86_400),
    ],
)
def test_the_quota_with_the_least_left_counts(text: str, requests: int, seconds: float) -> None:
    told = left(text)
    assert told is not None and told.requests == requests
    assert told.seconds == pytest.approx(seconds, abs=1)


@pytest.mark.parametrize("text", ["", "nonsense", "r=0;t=x", '"api";r=-1;t=5', '"a";r=1, "b";t=5'])
def test_what_is_no_quota_says_nothing(text: str) -> None:
    assert left(text) is None


def test_a_refusal_that_names_its_time_leaves_nothing() -> None:
    for status in (429, 503):
        told = left("", status, Retry_After="30")
        assert told is not None and told.requests == 0
        assert told.seconds == pytest.approx(30, abs=1)
        assert left("", status) is None
    assert left("", 404, Retry_After="30") is None


def test_answers_heard_in_another_order_leave_the_least() -> None:
    few, many = in_a_minute(3), in_a_minute(9)
    assert few.beside(many) is few.beside(None) is many.beside(few) is few
    over = Left(0, time.time() - 1)
    assert many.beside(over) is many


def test_a_source_hears_what_every_host_on_the_way_has_left() -> None:
    def redirect(handler: Handler, data: bytes) -> None:
        place = {"Location": "/b.gguf", "RateLimit": '"resolvers";r=7;t=60'}
        handler.answer(302, b"", **place)

    server = RangeServer({"b.gguf": llama()}, {"a.gguf": redirect})
    policy = addresses(["127.0.0.0/8"])
    with server, open_source(server.url("a.gguf"), policy=policy) as source:
        assert source.reads.left is None
        source.read(0, 4)
        assert source.reads.left is not None
        assert source.reads.left.requests == 7


@pytest.mark.parametrize("text", ['"api";r=1;t=55', '"api";r=10;t=0', "", "nonsense", "r=0;t=x"])
def test_a_hub_with_something_left_is_asked(text: str) -> None:
    quota = Quota()
    quota.note(answer(text))
    quota.check()


def test_a_hub_with_nothing_left_is_left_alone() -> None:
    quota = Quota()
    quota.note(answer('"api"; r=0; t=55'))
    quota.note(answer(""))
    with pytest.raises(SourceError, match="quota") as caught:
        quota.check()
    assert caught.value.code == "rate_limited"
    assert caught.value.retry_after == pytest.approx(55, abs=1)


def test_a_window_that_is_over_counts_no_more() -> None:
    quota = Quota()
    quota.note(answer('"api";r=0;t=0'))
    quota.check()


def test_files_being_read_may_need_what_is_left() -> None:
    hosts = Hosts()
    hosts.begin(FILE)
    hosts.note(FILE, None, in_a_minute(2 * REQUESTS))
    assert hosts.closed(FILE) is None
    hosts.begin(FILE)
    hosts.begin(FILE)
    assert hosts.is_full(FILE)
    hosts.note(FILE, None, in_a_minute(2 * REQUESTS))
    assert not hosts.is_full(FILE) and hosts.closed(FILE) is None
    hosts.note(FILE, None, in_a_minute(REQUESTS - 1))
    assert not hosts.is_full(FILE)
    error = hosts.closed(FILE)
    assert error is not None and error.code == "rate_limited"
    assert error.retry_after == pytest.approx(60, abs=1)


def test_a_new_window_is_asked_again() -> None:
    hosts = Hosts()
    hosts.begin(FILE)
    hosts.note(FILE, None, Left(0, time.time() - 1))
    assert hosts.closed(FILE) is None


def read(hosts: Hosts, locator: str, error: dict[str, Any] | None) -> None:
    hosts.begin(locator)
    hosts.note(locator, error)


def test_a_busy_host_is_closed_for_as_long_as_it_asked() -> None:
    hosts = Hosts()
    read(hosts, FILE, {"code": "rate_limited", "retry_after": 30.0})
    error = hosts.closed(FILE)
    assert error is not None and error.code == "rate_limited"
    assert error.retry_after == pytest.approx(30, abs=1)
    assert hosts.closed("https://other.example/a.gguf") is None
    read(hosts, "https://other.example/a.gguf", {"code": "busy"})
    assert hosts.closed("https://other.example/a.gguf") is None


def test_a_silent_host_is_closed_and_files_of_this_machine_never() -> None:
    hosts = Hosts()
    for _ in range(TRIES):
        assert hosts.closed(FILE) is None
        read(hosts, FILE, {"code": "timeout"})
        read(hosts, "/models/a.gguf", {"code": "timeout"})
    error = hosts.closed(FILE)
    assert error is not None and error.code == HOST_DOWN
    assert hosts.closed("/models/a.gguf") is None
    read(hosts, FILE, None)
    assert hosts.closed(FILE) is None
