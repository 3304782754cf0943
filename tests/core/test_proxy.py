"""Reading through an egress proxy on loopback."""

import contextlib
import socket
import threading
from collections.abc import Iterator
from dataclasses import replace

import pytest

from ggufhub.errors import SourceError, UsageError
from ggufhub.limits import Limits
from ggufhub.sources.dial import Dialer
from ggufhub.sources.open import open_remote
from ggufhub.sources.policy import AddressPolicy
from ggufhub.sources.proxy import ProxyDialer, make_dialer
from tests.core.httpkit import DATA, IMPATIENT, SMALL
from tests.core.rangeserver import RangeServer

ANSWER = b"HTTP/1.1 200 Connection established\r\nVia: test\r\n\r\n"


class Proxy:
    """Answers every CONNECT with ``answer``, and links the client to ``port`` of loopback."""

    def __init__(self, port: int, answer: bytes = ANSWER) -> None:
        self.asked: list[bytes] = []
        self._port = port
        self._answer = answer
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._socket.getsockname()[1]}"
        threading.Thread(target=self._serve, daemon=True).start()

    def close(self) -> None:
        self._socket.close()

    def _serve(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._socket.accept()
                threading.Thread(target=self._link, args=(client,), daemon=True).start()

    def _link(self, client: socket.socket) -> None:
        with contextlib.suppress(OSError), client:
            self.asked.append(client.recv(4096))
            client.sendall(self._answer)
            with socket.create_connection(("127.0.0.1", self._port)) as server:
                threading.Thread(target=_copy, args=(server, client), daemon=True).start()
                _copy(client, server)


def _copy(source: socket.socket, target: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while data := source.recv(65536):
            target.sendall(data)
        target.shutdown(socket.SHUT_WR)


@contextlib.contextmanager
def proxied(answer: bytes = ANSWER) -> Iterator[Proxy]:
    with RangeServer({"a.gguf": DATA}) as server:
        proxy = Proxy(server.port, answer)
        try:
            yield proxy
        finally:
            proxy.close()


def read(url: str, proxy: Proxy, limits: Limits = SMALL) -> bytes:
    environment = {"GGUFHUB_EGRESS_PROXY": proxy.url}
    with open_remote(url, policy=AddressPolicy(), limits=limits, environment=environment) as source:
        return source.read(0, 50_000)


def test_the_proxy_is_asked_for_the_name() -> None:
    with proxied() as proxy:
        assert read("http://models.example.org/a.gguf", proxy) == DATA[:50_000]
        assert proxy.asked == [
            b"CONNECT models.example.org:80 HTTP/1.1\r\nHost: models.example.org:80\r\n\r\n"
        ]


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 407 Proxy Authentication Required\r\n\r\n",
        b"HTTP/1.1 2000 OK\r\n\r\n",
        b"SSH-2.0-x\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nX: " + b"a" * 9000,
        b"",
    ],
)
def test_a_tunnel_that_is_not_opened(answer: bytes) -> None:
    """The last one says nothing at all: its connection stays open."""
    with proxied(answer) as proxy, pytest.raises(SourceError) as caught:
        read("http://models.example.org/a.gguf", proxy, replace(SMALL, **IMPATIENT))
    assert caught.value.code == "unreachable"


@pytest.mark.parametrize("url", ["http://127.0.0.1/a", "http://10.0.0.1/a", "http://db/a"])
def test_inner_addresses_are_not_even_asked_for(url: str) -> None:
    with proxied() as proxy:
        with pytest.raises(SourceError):
            read(url, proxy)
        assert proxy.asked == []


def test_the_setting() -> None:
    policy = AddressPolicy()
    assert type(make_dialer(policy, {})) is Dialer
    made = make_dialer(policy, {"GGUFHUB_EGRESS_PROXY": "http://proxy:4750"})
    assert isinstance(made, ProxyDialer)
    for wrong in ("proxy:4750", "https://proxy:1", "http://user:pw@proxy:1", "http://p:99999"):
        with pytest.raises(UsageError):
            make_dialer(policy, {"GGUFHUB_EGRESS_PROXY": wrong})
