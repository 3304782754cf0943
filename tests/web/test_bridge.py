"""From the web server to Django: bodies, answers, and who has to wait."""

import asyncio
import json
import logging
import threading
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from ggufhub.api.schema import PROBLEM
from ggufhub.web import body as bodies
from ggufhub.web import bridge
from ggufhub.web.bridge import Bridge, blocks, environment, refuse
from ggufhub.web.refusal import BUSY, TOO_SLOW, Refusal

KIB = 1024
Wsgi = Callable[..., Iterable[bytes]]


def scope(**changes: Any) -> dict[str, Any]:
    return {
        "type": "http",
        "method": "POST",
        "scheme": "http",
        "http_version": "1.1",
        "raw_path": b"/a%2Fb%ff",
        "query_string": b"q=%C3%A4",
        "server": ("127.0.0.1", 8000),
        "client": ("203.0.113.9", 4711),
        "headers": [(b"host", b"models.example")],
        **changes,
    }


def echo(environ: dict[str, Any], start: Callable[..., Any]) -> list[bytes]:
    """Answers with the body of the request, or as Django does where it was cut off."""
    try:
        data = environ["wsgi.input"].read()
    except ConnectionError as error:
        start("400 Bad Request", [])
        return [str(error).encode()]
    start("200 OK", [("Content-Type", "text/plain")])
    return [data]


def ask(wsgi: Wsgi, *pieces: bytes | None, length: int, threads: int = 4) -> list[dict[str, Any]]:
    """What is sent when these pieces come and then nothing; None is the end of the connection."""
    sent: list[dict[str, Any]] = []
    waiting = list(pieces)

    async def receive() -> dict[str, Any]:
        if not waiting:
            await asyncio.sleep(3600)
        piece = waiting.pop(0)
        if piece is None:
            return {"type": "http.disconnect"}
        return {"type": "http.request", "body": piece, "more_body": True}

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    async def run() -> None:
        announced = [(b"content-length", str(length).encode())]
        await Bridge(wsgi, threads)(scope(headers=announced), receive, send)

    asyncio.run(asyncio.wait_for(run(), 20))
    return sent


def text(sent: list[dict[str, Any]]) -> bytes:
    return b"".join(message.get("body", b"") for message in sent)


@pytest.fixture
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bodies, "PERIOD_SECONDS", 0.2)


def test_the_environment_is_that_of_the_request() -> None:
    found = environment(
        scope(
            headers=[
                (b"host", b"models.example"),
                (b"content-type", b"text/plain"),
                (b"content-length", b"4"),
                (b"cookie", b"a=1"),
                (b"cookie", b"b=2"),
                (b"x-forwarded-for", b"10.0.0.1"),
                (b"x-forwarded-for", b"10.0.0.2"),
                (b"x_forwarded_for", b"127.0.0.1"),
            ]
        )
    )
    assert (found["PATH_INFO"], found["QUERY_STRING"]) == ("/a/b\xff", "q=%C3%A4")
    assert (found["CONTENT_TYPE"], found["CONTENT_LENGTH"]) == ("text/plain", "4")
    assert (found["HTTP_HOST"], found["HTTP_COOKIE"]) == ("models.example", "a=1;b=2")
    assert found["REMOTE_ADDR"] == "203.0.113.9"
    # A name with an underscore would pass for the header that only our proxies may set.
    assert found["HTTP_X_FORWARDED_FOR"] == "10.0.0.1,10.0.0.2"


@pytest.mark.parametrize("size", [0, 1, 65_536, 3_000_000])
def test_a_body_arrives_as_it_was_sent(size: int) -> None:
    data = bytes(range(256)) * (size // 256 + 1)
    pieces = [data[at : at + 10_007] for at in range(0, size, 10_007)]
    whole = data[:size]
    if pieces:
        pieces[-1] = pieces[-1][: size - 10_007 * (len(pieces) - 1)]
    sent = ask(echo, *pieces, length=size)
    assert (sent[0]["status"], text(sent)) == (200, whole)


def test_a_body_is_read_piece_by_piece_and_line_by_line() -> None:
    def parts(environ: dict[str, Any], start: Callable[..., Any]) -> list[bytes]:
        stream = environ["wsgi.input"]
        found = [stream.read(3), stream.readline(), stream.read(100), stream.read(1)]
        start("200 OK", [])
        return [b"|".join(found)]

    assert text(ask(parts, b"ab", b"", b"cde\nfg", length=8)) == b"abc|de\n|fg|"


@pytest.mark.usefixtures("hasty")
@pytest.mark.parametrize("first", [b"", b"x", bytes(100 * KIB)])
def test_who_sends_too_slowly_is_told_so(first: bytes) -> None:
    sent = ask(echo, first, length=10**6) if first else ask(echo, length=10**6)
    assert sent[0]["status"] == 408 and (b"connection", b"close") in sent[0]["headers"]


@pytest.mark.usefixtures("hasty")
def test_the_pace_is_taken_anew() -> None:
    """Bytes of long ago do not excuse a client that has stopped."""
    sent = ask(echo, *[bytes(64 * KIB)] * 20, length=10**8)
    assert sent[0]["status"] == 408


def test_a_part_is_not_taken_for_the_whole() -> None:
    sent = ask(echo, bytes(70 * KIB), None, length=10**6)
    assert (sent[0]["status"], text(sent)) == (400, b"The request ended too early.")


def test_who_reads_in_pieces_gets_what_came() -> None:
    found: list[int] = []

    def reader(environ: dict[str, Any], start: Callable[..., Any]) -> list[bytes]:
        with suppress(ConnectionError):
            while True:
                found.append(len(environ["wsgi.input"].read(50 * KIB)))
        start("400 Bad Request", [])
        return [b""]

    ask(reader, bytes(70 * KIB), None, length=10**6)
    assert found == [50 * KIB, 20 * KIB]


def test_who_hangs_up_first_costs_no_thread() -> None:
    def never(*_: object) -> list[bytes]:
        raise AssertionError("nobody is there")

    assert ask(never, b"x", None, length=100) == []


def test_a_refused_body_is_not_waited_for() -> None:
    def refuse(environ: dict[str, Any], start: Callable[..., Any]) -> list[bytes]:
        start("413 Content Too Large", [])
        return [b"no"]

    sent = ask(refuse, bytes(100 * KIB), length=10**9)
    assert (sent[0]["status"], text(sent)) == (413, b"no")


def test_a_long_answer_is_sent_while_it_is_made() -> None:
    closed: list[bool] = []

    class Long:
        def __iter__(self) -> Any:
            return iter([bytes(100 * KIB)] * 5 + [b"end"])

        def close(self) -> None:
            closed.append(True)

    def long(environ: dict[str, Any], start: Callable[..., Any]) -> Long:
        start("200 OK", [("X-A", "1")])
        return Long()

    sent = ask(long, length=0)
    assert [message["type"] for message in sent].count("http.response.start") == 1
    assert len(sent) > 4 and len(text(sent)) == 500 * KIB + 3 and text(sent).endswith(b"end")
    assert [message.get("more_body", False) for message in sent[1:]][-1] is False
    assert closed == [True]


class Readers:
    """Clients of one bridge; those of ``/long`` take the head of an answer of five blocks, and the
    rest once ``reading`` is set. ``closed`` counts answers that ended.
    """

    def __init__(self, threads: int) -> None:
        self.bridge = Bridge(self._wsgi, threads)
        self.reading = asyncio.Event()
        self.closed = 0

    def _wsgi(self, environ: dict[str, Any], start: Callable[..., Any]) -> Iterable[bytes]:
        start("200 OK", [])
        return self._long() if environ["PATH_INFO"] == "/long" else [b"short"]

    def _long(self) -> Iterable[bytes]:
        try:
            yield from [bytes(64 * KIB)] * 5
        finally:
            self.closed += 1

    async def ask(self, path: str) -> list[dict[str, Any]]:
        taken: list[dict[str, Any]] = []

        async def send(message: dict[str, Any]) -> None:
            if path == "/long" and taken:
                await self.reading.wait()
            taken.append(message)

        async def receive() -> dict[str, Any]:
            raise AssertionError("there is no body")

        await self.bridge(scope(method="GET", raw_path=path.encode()), receive, send)
        return taken


def is_whole(taken: list[dict[str, Any]]) -> bool:
    return not taken[-1].get("more_body", False) and len(text(taken)) == 5 * 64 * KIB


@pytest.fixture
def quickly_slow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bridge, "SLOW_SECONDS", 0.05)
    monkeypatch.setattr(bridge, "SLOW_READERS", 2)


@pytest.mark.usefixtures("quickly_slow")
def test_who_reads_slowly_leaves_the_threads_to_others() -> None:
    """There is one thread, two clients that read slowly, and a third that is broken off."""

    async def run() -> None:
        readers = Readers(threads=1)
        slow = [asyncio.create_task(readers.ask("/long")) for _ in range(2)]
        assert text(await readers.ask("/")) == b"short"
        third = await readers.ask("/long")
        assert [message["type"] for message in third] == ["http.response.start"]
        assert text(await readers.ask("/")) == b"short"
        assert readers.closed == 1
        readers.reading.set()
        assert all(map(is_whole, await asyncio.gather(*slow)))
        # The places of slow readers are free again, and nobody is slow who reads.
        assert is_whole(await readers.ask("/long"))
        assert readers.closed == 4

    asyncio.run(asyncio.wait_for(run(), 20))


@pytest.mark.usefixtures("quickly_slow")
def test_who_stops_reading_is_broken_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bridge, "STALL_SECONDS", 0.1)

    async def run() -> None:
        readers = Readers(threads=1)
        for _ in range(bridge.SLOW_READERS + 1):
            taken = await readers.ask("/long")
            assert not is_whole(taken)
        assert readers.closed == bridge.SLOW_READERS + 1
        assert text(await readers.ask("/")) == b"short"

    asyncio.run(asyncio.wait_for(run(), 20))


def test_small_pieces_of_an_answer_are_joined() -> None:
    assert [len(block) for block in blocks([b"x" * KIB] * 130)] == [64 * KIB, 64 * KIB, 2 * KIB]
    assert list(blocks([])) == []


def test_long_bodies_wait_for_their_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    """One of four threads is theirs; who waits too long for it is asked to come again."""
    monkeypatch.setattr(bridge, "TURN_SECONDS", 0.2)
    statuses: dict[str, int] = {}

    async def client(served: Bridge, name: str, over: asyncio.Event) -> None:
        """Sends a tenth of its body, and ends the connection when it is ``over``."""
        begun = False

        async def receive() -> dict[str, Any]:
            nonlocal begun
            if begun:
                await over.wait()
                return {"type": "http.disconnect"}
            begun = True
            return {"type": "http.request", "body": bytes(100 * KIB), "more_body": True}

        async def send(message: dict[str, Any]) -> None:
            statuses.setdefault(name, message.get("status", 0))

        await served(scope(headers=[(b"content-length", b"1000000")]), receive, send)

    async def run() -> None:
        served, over = Bridge(echo, 4), asyncio.Event()
        first = asyncio.create_task(client(served, "first", over))
        await asyncio.sleep(0.05)
        await client(served, "second", over)
        assert statuses == {"second": 503}
        over.set()
        await first

    asyncio.run(run())
    assert statuses["first"] == 400


def test_a_thread_that_hangs_holds_up_no_probe(monkeypatch: pytest.MonkeyPatch) -> None:
    """The second request waits and is refused; the health probe has a thread of its own; once the
    first has ended, the next is answered."""
    monkeypatch.setattr(bridge, "ROOM_SECONDS", 0.2)
    over = threading.Event()
    found: list[tuple[str, int]] = []

    def hangs(environ: dict[str, Any], start: Callable[..., Any]) -> list[bytes]:
        if environ["PATH_INFO"] == "/hangs":
            over.wait(20)
        start("200 OK", [])
        return [b"ok"]

    async def client(served: Bridge, path: str) -> None:
        async def receive() -> dict[str, Any]:
            raise AssertionError("there is no body")

        async def send(message: dict[str, Any]) -> None:
            if "status" in message:
                found.append((path, message["status"]))

        await served(scope(method="GET", raw_path=path.encode()), receive, send)

    async def run() -> None:
        served = Bridge(hangs, 1)
        first = asyncio.create_task(client(served, "/hangs"))
        await asyncio.sleep(0.05)
        await client(served, "/a")
        await client(served, "/healthz")
        over.set()
        await first
        await client(served, "/b")

    asyncio.run(run())
    assert found == [("/a", 503), ("/healthz", 200), ("/hangs", 200), ("/b", 200)]


def refused(refusal: Refusal, path: bytes) -> tuple[int, dict[str, str], bytes]:
    """Status, headers and body of this refusal of a request for ``path``."""
    sent: list[dict[str, Any]] = []

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    asyncio.run(refuse(send, environment(scope(raw_path=path)), refusal))
    headers = {name.decode(): value.decode() for name, value in sent[0]["headers"]}
    return sent[0]["status"], headers, text(sent)


@pytest.mark.parametrize(
    ("refusal", "expected"),
    [
        (TOO_SLOW, ("/problems/too-slow", "Request Timeout", 408)),
        (BUSY, ("/problems/unavailable", "Service Unavailable", 503)),
    ],
)
def test_the_api_is_refused_with_a_problem(
    refusal: Refusal, expected: tuple[str, str, int], caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, "ggufhub.web.bridge"):
        status, headers, body = refused(refusal, b"/api/v1/r%C3%BCck%ff")
    problem = json.loads(body)
    Draft202012Validator(PROBLEM).validate(problem)
    assert set(problem) == set(PROBLEM["required"])
    assert (problem["type"], problem["title"], problem["status"]) == expected
    assert (problem["detail"], problem["instance"]) == (refusal.words, "/api/v1/rück%FF")
    assert (status, headers["content-type"]) == (expected[2], "application/problem+json")
    assert (headers["retry-after"], headers["connection"]) == ("5", "close")
    # The id that the client is told finds the line of the log.
    assert problem["request_id"] == headers["x-request-id"] and len(problem["request_id"]) == 32
    assert [record.getMessage() for record in caplog.records] == [
        f"Refused: /api/v1/rück%FF ({status}) {refusal.words}"
    ]


@pytest.mark.parametrize("path", [b"/", b"/inspect", b"/api", b"/apis/v1"])
def test_a_page_is_refused_in_plain_words(path: bytes) -> None:
    status, headers, body = refused(BUSY, path)
    assert (status, body) == (503, b"The server is busy. Try again soon.\n")
    assert headers["content-type"] == "text/plain; charset=utf-8"
    assert (headers["x-content-type-options"], headers["cache-control"]) == ("nosniff", "no-store")


def test_what_fails_gives_its_thread_back() -> None:
    calls = []

    def broken(*_: object) -> list[bytes]:
        calls.append(1)
        raise ValueError

    async def client(served: Bridge) -> None:
        async def nothing(*_: object) -> dict[str, Any]:
            return {}

        with pytest.raises(ValueError):
            await served(scope(), nothing, nothing)

    async def run() -> None:
        served = Bridge(broken, 1)
        await client(served)
        await client(served)

    asyncio.run(run())
    assert len(calls) == 2
