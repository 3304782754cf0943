"""Hosts that say how much may be asked of them, and hosts that say nothing any more."""

from email.message import Message

import pytest

from ggufhub.audit.hosts import HOST_DOWN, TRIES, Hosts
from ggufhub.errors import SourceError
from ggufhub.sources.list_quota import Quota

FILE = "https://hub.example/a.gguf"


def said(text: str) -> Message:
    headers = Message()
    headers["RateLimit"] = text
    return headers


@pytest.mark.parametrize("text", ['"api";r=1;t=55', '"api";r=10;t=0', "", "nonsense", "r=0;t=x"])
def test_a_hub_with_something_left_is_asked(text: str) -> None:
    quota = Quota()
    quota.note(said(text))
    quota.check()


@pytest.mark.parametrize("text", ['"api";r=0;t=55', '"pages";r=9;t=300, "api"; r=0; t=55'])
def test_a_hub_with_nothing_left_is_left_alone(text: str) -> None:
    quota = Quota()
    quota.note(said(text))
    with pytest.raises(SourceError, match="quota") as caught:
        quota.check()
    assert caught.value.code == "rate_limited"
    assert caught.value.retry_after == pytest.approx(55, abs=1)


def test_a_window_that_is_over_counts_no_more() -> None:
    quota = Quota()
    quota.note(said('"api";r=0;t=0'))
    quota.check()


def test_a_busy_host_is_closed_for_as_long_as_it_asked() -> None:
    hosts = Hosts()
    hosts.note(FILE, {"code": "rate_limited", "retry_after": 30.0})
    error = hosts.closed(FILE)
    assert error is not None and error.code == "rate_limited"
    assert error.retry_after == pytest.approx(30, abs=1)
    assert hosts.closed("https://other.example/a.gguf") is None
    hosts.note("https://other.example/a.gguf", {"code": "busy"})
    assert hosts.closed("https://other.example/a.gguf") is None


def test_a_silent_host_is_closed_and_files_of_this_machine_never() -> None:
    hosts = Hosts()
    for _ in range(TRIES):
        assert hosts.closed(FILE) is None
        hosts.note(FILE, {"code": "timeout"})
        hosts.note("/models/a.gguf", {"code": "timeout"})
    error = hosts.closed(FILE)
    assert error is not None and error.code == HOST_DOWN
    assert hosts.closed("/models/a.gguf") is None
    hosts.note(FILE, None)
    assert hosts.closed(FILE) is None
