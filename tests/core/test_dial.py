"""Looking up, checking, dialling and TLS, against loopback and injected faults."""

import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from ggufhub.errors import SourceError
from ggufhub.sources import dial
from ggufhub.sources.dial import (
    Dialer,
    Guard,
    GuardedSocket,
    ReplyTooLarge,
    SocketAddress,
    connect_socket,
    default_tls_context,
    guard_tls,
)
from ggufhub.sources.policy import AddressPolicy
from tests.core import certificate
from tests.core.rangeserver import LOOPBACK, RangeServer


def guard(seconds: float = 5.0, operation: float = 5.0) -> Guard:
    return Guard(time.monotonic() + seconds, operation)


def answers(*addresses: str) -> Callable[[str, int], Sequence[SocketAddress]]:
    return lambda host, port: [(address, port) for address in addresses]


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server


def refused(dialer: Dialer, url: str, limit: Guard | None = None) -> str:
    with pytest.raises(SourceError) as caught:
        dialer.dial(LOOPBACK.parse(url), limit or guard(), 1)
    return caught.value.code


def test_dials_the_checked_address_and_looks_up_once(listener: socket.socket) -> None:
    asked: list[str] = []

    def lookup(host: str, port: int) -> Sequence[SocketAddress]:
        asked.append(host)
        return [("127.0.0.1" if len(asked) == 1 else "10.0.0.1", port)]

    target = LOOPBACK.parse(f"http://rebind.example.net:{listener.getsockname()[1]}/")
    with Dialer(LOOPBACK, lookup=lookup).dial(target, guard(), 1) as sock:
        assert sock.getpeername() == listener.getsockname()
    assert asked == ["rebind.example.net"]


def test_a_literal_is_not_looked_up(listener: socket.socket) -> None:
    def lookup(host: str, port: int) -> Sequence[SocketAddress]:
        raise AssertionError(host)

    target = LOOPBACK.parse(f"http://127.0.0.1:{listener.getsockname()[1]}/")
    Dialer(LOOPBACK, lookup=lookup).dial(target, guard(), 1).close()


def test_every_answer_must_pass() -> None:
    lookup = answers("127.0.0.1", "10.0.0.1")
    assert refused(Dialer(LOOPBACK, lookup=lookup), "http://a.example.net/") == "address"


@pytest.mark.parametrize("count", [0, 33])
def test_number_of_answers(count: int) -> None:
    lookup = answers(*["127.0.0.1"] * count)
    assert refused(Dialer(LOOPBACK, lookup=lookup), "http://a.example.net/") == "dns"


def test_the_next_address_is_tried(listener: socket.socket) -> None:
    tried: list[SocketAddress] = []

    def connect(address: SocketAddress, limit: Guard, seconds: float) -> GuardedSocket:
        tried.append(address)
        if len(tried) == 1:
            raise TimeoutError
        return connect_socket(address, limit, seconds)

    port = listener.getsockname()[1]
    dialer = Dialer(LOOPBACK, lookup=answers("127.0.0.2", "127.0.0.1"), connect=connect)
    dialer.dial(LOOPBACK.parse(f"http://a.example.net:{port}/"), guard(), 1).close()
    assert tried == [("127.0.0.2", port), ("127.0.0.1", port)]


def test_a_peer_that_is_not_the_dialled_address_is_refused(listener: socket.socket) -> None:
    def connect(address: SocketAddress, limit: Guard, seconds: float) -> GuardedSocket:
        return connect_socket(listener.getsockname(), limit, seconds)

    dialer = Dialer(LOOPBACK, lookup=answers("127.0.0.9"), connect=connect)
    assert refused(dialer, "http://a.example.net/") == "address"


def test_slow_lookup_is_given_up() -> None:
    release = threading.Event()

    def lookup(host: str, port: int) -> Sequence[SocketAddress]:
        release.wait(10)
        return []

    code = refused(Dialer(LOOPBACK, lookup=lookup), "http://a.example.net/", guard(0.2))
    release.set()
    assert code == "dns_timeout"


def test_lookups_in_flight_are_bounded() -> None:
    release = threading.Event()
    started: list[str] = []

    def lookup(host: str, port: int) -> Sequence[SocketAddress]:
        started.append(host)
        release.wait(10)
        return []

    dialer = Dialer(LOOPBACK, lookup=lookup)
    codes: list[str] = []
    threads = [
        threading.Thread(
            target=lambda: codes.append(refused(dialer, "http://a.example.net/", guard(0.3)))
        )
        for _ in range(dial.LOOKUP_THREADS + 4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    release.set()
    assert len(started) == dial.LOOKUP_THREADS
    assert codes == ["dns_timeout"] * len(threads)


def test_unknown_name() -> None:
    def lookup(host: str, port: int) -> Sequence[SocketAddress]:
        raise socket.gaierror(socket.EAI_NONAME, "unknown")

    assert refused(Dialer(LOOPBACK, lookup=lookup), "http://a.example.net/") == "dns"


def test_system_lookup_of_localhost_needs_an_opened_network(listener: socket.socket) -> None:
    url = f"http://localhost:{listener.getsockname()[1]}/"
    opened = AddressPolicy(allowed_networks=("127.0.0.0/8", "::1/128"))
    Dialer(opened).dial(opened.parse(url), guard(), 1).close()


def test_closed_port(listener: socket.socket) -> None:
    port = listener.getsockname()[1]
    listener.close()
    assert refused(Dialer(LOOPBACK), f"http://127.0.0.1:{port}/") == "connect"


def test_guard_gives_what_is_left_up_to_the_cap() -> None:
    assert guard(seconds=5, operation=2).seconds() == 2
    assert 0.5 < guard(seconds=1, operation=2).seconds() <= 1
    with pytest.raises(TimeoutError):
        guard(seconds=0).seconds()


def test_a_dripping_peer_meets_the_absolute_end() -> None:
    """Each operation is quick enough; only the sum is not."""
    ours, theirs = socket.socketpair()
    stop = threading.Event()

    def drip() -> None:
        while not stop.wait(0.02):
            theirs.send(b"a")

    sock = GuardedSocket(fileno=ours.detach())
    sock.guard = guard(seconds=0.3, operation=0.2)
    thread = threading.Thread(target=drip)
    thread.start()
    with pytest.raises(TimeoutError), sock.makefile("rb") as stream:
        stream.read(1_000_000)
    stop.set()
    thread.join()
    sock.close()
    theirs.close()


def test_a_peer_that_does_not_read_meets_the_end() -> None:
    ours, theirs = socket.socketpair()
    with theirs, GuardedSocket(fileno=ours.detach()) as sock:
        sock.guard = guard(seconds=5, operation=0.1)
        with pytest.raises(TimeoutError):
            sock.sendall(bytes(50_000_000))


def test_the_head_of_an_answer_is_metered() -> None:
    ours, theirs = socket.socketpair()
    with theirs, GuardedSocket(fileno=ours.detach()) as sock:
        sock.guard = guard()
        sock.guard.head_bytes = 150
        theirs.send(bytes(100))
        assert sock.recv_into(bytearray(200)) == 100
        theirs.send(bytes(100))
        with pytest.raises(ReplyTooLarge):
            sock.recv_into(bytearray(200))


# TLS


@pytest.fixture
def tls_server(tmp_path: Path) -> Iterator[RangeServer]:
    pem = tmp_path / "server.pem"
    pem.write_text(certificate.PEM)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pem)
    with RangeServer({"a.gguf": b"GGUF" * 100}, tls=context) as server:
        yield server


def trusting() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.load_verify_locations(
        cadata=certificate.PEM[certificate.PEM.index("-----BEGIN CERT") :]
    )
    return guard_tls(context)


def test_tls_is_verified_by_name_while_the_address_is_dialled(tls_server: RangeServer) -> None:
    dialer = Dialer(LOOPBACK, lookup=answers("127.0.0.1"), tls_context=trusting)
    target = LOOPBACK.parse(f"https://{certificate.NAME}:{tls_server.port}/a.gguf")
    with dialer.dial(target, guard(), 1) as sock:
        assert isinstance(sock, ssl.SSLSocket)
        assert sock.version() in ("TLSv1.2", "TLSv1.3")
        assert sock.server_hostname == certificate.NAME


@pytest.mark.parametrize("host", ["other.example.net", "127.0.0.1"])
def test_tls_name_mismatch(tls_server: RangeServer, host: str) -> None:
    dialer = Dialer(LOOPBACK, lookup=answers("127.0.0.1"), tls_context=trusting)
    assert refused(dialer, f"https://{host}:{tls_server.port}/a.gguf") == "tls"


def test_tls_unknown_authority(tls_server: RangeServer) -> None:
    dialer = Dialer(LOOPBACK, lookup=answers("127.0.0.1"))
    assert refused(dialer, f"https://{certificate.NAME}:{tls_server.port}/a.gguf") == "tls"
    assert tls_server.requests == []


def test_tls_handshake_has_an_end(listener: socket.socket) -> None:
    """The listener accepts and says nothing."""
    url = f"https://127.0.0.1:{listener.getsockname()[1]}/"
    assert refused(Dialer(LOOPBACK), url, guard(0.3)) == "tls"


def test_tls_floor_and_the_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A certificate bundle named by the environment is not trusted."""
    bundle = tmp_path / "bundle.pem"
    bundle.write_text(certificate.PEM)
    monkeypatch.setenv("SSL_CERT_FILE", str(bundle))
    context = default_tls_context.__wrapped__()
    names = [dict(part[0] for part in ca["subject"]) for ca in context.get_ca_certs()]
    assert certificate.NAME not in [name.get("commonName") for name in names]
    assert context.minimum_version == ssl.TLSVersion.TLSv1_2
    assert context.check_hostname
    assert context.verify_mode == ssl.CERT_REQUIRED
