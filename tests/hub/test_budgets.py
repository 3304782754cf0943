"""Token buckets: exact under load, refilled with time, and never in the way of a dead broker."""

import logging
import threading
import time
from typing import Any

import pytest

from ggufhub.hub import budgets
from ggufhub.hub.budgets import Budget
from ggufhub.web.redis_client import connect
from tests.live import Broker

THREE = Budget("three", 3)


def take(budget: Budget = THREE, who: str = "user:1") -> budgets.Turn:
    turn = budgets.take(budget, who)
    assert turn is not None
    return turn


def test_turns_are_counted_and_then_refused(broker: Broker) -> None:
    turns = [take() for _ in range(4)]
    assert [turn.allowed for turn in turns] == [True, True, True, False]
    assert [turn.left for turn in turns] == [2, 1, 0, 0]
    assert turns[0].wait == 0 and 19 <= turns[3].wait <= 20


def test_callers_and_budgets_do_not_share(broker: Broker) -> None:
    for _ in range(3):
        take()
    assert not take().allowed
    assert take(who="user:2").allowed
    assert take(Budget("other", 3)).allowed


def test_turns_come_back_with_time(broker: Broker) -> None:
    fast = Budget("fast", 600)
    while take(fast).allowed:
        pass
    time.sleep(0.25)
    gained = 0
    while take(fast).allowed:
        gained += 1
    assert 1 <= gained < 30


def test_of_many_at_once_as_many_as_allowed_come_in(broker: Broker) -> None:
    budget = Budget("crowd", 20)
    start, allowed = threading.Barrier(16), []

    def ask() -> None:
        start.wait()
        allowed.extend(take(budget).allowed for _ in range(10))

    threads = [threading.Thread(target=ask) for _ in range(16)]
    began = time.monotonic()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    refilled = int((time.monotonic() - began) * 20 / 60) + 1
    assert len(allowed) == 160
    assert 20 <= sum(allowed) <= 20 + refilled


def test_no_limit_asks_nobody(broker: Broker) -> None:
    assert budgets.take(Budget("none", 0), "user:1") is None
    with broker.client() as client:
        assert client.dbsize() == 0


def test_what_is_counted_is_forgotten(broker: Broker) -> None:
    take()
    with broker.client() as client:
        (key,) = client.keys()
        assert 0 < client.pttl(key) <= budgets.MINUTE_MS


def test_a_dead_broker_lets_everybody_in(broker: Broker, caplog: Any) -> None:
    take()
    broker.kill()
    try:
        with caplog.at_level(logging.WARNING):
            assert budgets.take(THREE, "user:1") is None
    finally:
        broker.start()
    assert "the budget three was not counted" in caplog.text
    assert take(who="user:3").allowed


@pytest.mark.parametrize(
    ("url", "options"),
    [
        ("redis+socket:///run/v.sock", {"path": "/run/v.sock"}),
        ("redis+socket:///run/v.sock?virtual_host=2", {"path": "/run/v.sock", "db": 2}),
        ("redis://:pw@cache:6380/1", {"host": "cache", "port": 6380, "db": 1, "password": "pw"}),
    ],
)
def test_the_address_is_that_of_the_queue(url: str, options: dict[str, Any]) -> None:
    found = connect(url).connection_pool.connection_kwargs
    assert {name: found[name] for name in options} == options
