"""Shards of one model over a network: a few at a time, each on its own connection and budget."""

import threading
import time
from dataclasses import replace

import pytest

from ggufhub.errors import SourceChanged, SourceError
from ggufhub.formats.load import SHARDS_AT_ONCE, load_model
from ggufhub.report.build import inspect
from ggufhub.rules.split import sample_shard
from tests.core import rangeserver
from tests.core.httpkit import SMALL, open_url
from tests.core.rangeserver import Behaviour, Handler, RangeServer

COUNT = 9


def shards(count: int = COUNT) -> dict[str, bytes]:
    return {
        f"m-{number + 1:05d}-of-{count:05d}.gguf": sample_shard(number, count, count).build()
        for number in range(count)
    }


class Turnstile:
    """Holds answers back until ``width`` are wanted at once, and keeps the largest number."""

    def __init__(self, width: int) -> None:
        self.peak = 0
        self._width = width
        self._inside = 0
        self._changed = threading.Condition()

    def __call__(self, handler: Handler, data: bytes) -> None:
        with self._changed:
            self._inside += 1
            self.peak = max(self.peak, self._inside)
            self._changed.notify_all()
            # The last few shards may not fill it; they wait a moment and go on.
            self._changed.wait_for(lambda: self.peak >= self._width, timeout=1.0)
            self._inside -= 1  # before the answer, with which the client may ask for the next
        handler.serve(data)


def split_server(**odd: Behaviour) -> RangeServer:
    """A server of all shards; ``odd`` behaves for shards by number (``_3=…``)."""
    files = shards()
    names = list(files)
    return RangeServer(files, {names[int(key[1:]) - 1]: route for key, route in odd.items()})


def test_no_more_than_four_are_read_at_once_and_their_order_is_kept() -> None:
    turnstile = Turnstile(SHARDS_AT_ONCE)
    with split_server(**{f"_{number}": turnstile for number in range(2, COUNT + 1)}) as server:
        first = next(iter(server.files))
        with open_url(server.url(first), SMALL) as source:
            document = inspect(source).document
    assert turnstile.peak == SHARDS_AT_ONCE == 4
    assert [file["name"] for file in document["files"]] == list(server.files)
    assert len(document["tensors"]) == COUNT
    assert document["reads"]["requests"] == len(server.requests)
    assert document["reads"]["bytes"] == server.bytes_sent


def test_every_shard_has_budgets_of_its_own() -> None:
    limits = replace(SMALL, requests=1)
    with split_server() as server, open_url(server.url(next(iter(server.files))), limits) as source:
        model = load_model(source, limits)
    assert len(model.files) == COUNT
    assert model.missing == {}


def test_the_first_shard_in_order_to_fail_is_told_even_if_a_later_one_fails_sooner() -> None:
    def late(handler: Handler, data: bytes) -> None:
        time.sleep(0.1)
        handler.answer(429, **{"Retry-After": "7"})

    busy = rangeserver.fixed(503, Retry_After="9")
    with (
        split_server(_3=late, _4=busy) as server,
        open_url(server.url(next(iter(server.files))), SMALL) as source,
        pytest.raises(SourceError) as caught,
    ):
        load_model(source, SMALL)
    assert (caught.value.code, caught.value.retry_after) == ("rate_limited", 7)


def test_a_shard_that_changes_stops_the_reading() -> None:
    def changing(handler: Handler, data: bytes) -> None:
        first, _ = handler.wanted(len(data))
        handler.serve(data, ETag=f'"{first}"')

    limits = replace(SMALL, first_read=64)
    with (
        split_server(_5=changing) as server,
        open_url(server.url(next(iter(server.files))), limits) as source,
        pytest.raises(SourceChanged),
    ):
        load_model(source, limits)


def test_absent_shards_are_listed_in_order() -> None:
    gone = rangeserver.fixed(404)
    with split_server(_2=gone, _7=gone) as server:
        names = list(server.files)
        with open_url(server.url(names[3]), SMALL) as source:
            model = load_model(source, SMALL)
    assert list(model.missing) == [names[1], names[6]]
    assert {error.code for error in model.missing.values()} == {"not_found"}
    assert model.opened.name == names[3]


def test_whoever_listens_hears_of_one_change_at_a_time() -> None:
    inside = threading.Lock()
    heard: list[int] = []

    with split_server() as server, open_url(server.url(next(iter(server.files)))) as source:

        def listen(reads: object) -> None:
            assert inside.acquire(blocking=False), "two changes were told at once"
            heard.append(source.reads.bytes)
            time.sleep(0.001)
            inside.release()

        source.reads.listener = listen
        load_model(source, SMALL)
    assert heard == sorted(heard)
    assert heard[-1] == source.reads.bytes == server.bytes_sent


def test_an_error_of_the_listener_ends_the_reading() -> None:
    class Stopped(Exception):
        """What a cancelled job raises."""

    def stop(reads: object) -> None:
        raise Stopped

    with split_server() as server, open_url(server.url(next(iter(server.files)))) as source:
        assert source.identity.size
        source.reads.listener = stop
        with pytest.raises(Stopped):
            load_model(source, SMALL)
