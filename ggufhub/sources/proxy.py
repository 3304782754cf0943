"""ProxyDialer: reach everything through the one proxy that may leave the operator's network."""

import re
from collections.abc import Mapping

from ggufhub.errors import SourceError, UsageError
from ggufhub.limits import KIB
from ggufhub.sources.dial import Dialer, Guard, GuardedSocket
from ggufhub.sources.policy import NOT_REACHABLE, AddressPolicy, Target

VARIABLE = "GGUFHUB_EGRESS_PROXY"

HEAD_BYTES = 8 * KIB
"""The longest head of the proxy's answer; real ones have about 100 bytes."""

_PROXY = re.compile(r"http://(\[[0-9A-Fa-f:]+\]|[A-Za-z0-9_.-]+):([0-9]{1,5})/?")
_OPENED = re.compile(rb"HTTP/1\.[01] 200[ \r]")


class ProxyDialer(Dialer):
    """Asks an HTTP proxy for a tunnel (CONNECT) to each target, for http and https alike.

    The proxy looks names up, so it has to refuse inner addresses itself; what the policy can
    judge without a lookup is still judged here. Names that only mean something inside are
    refused, because where they lead cannot be checked.
    """

    def __init__(self, policy: AddressPolicy, host: str, port: int) -> None:
        super().__init__(policy)
        self._proxy = Target("http", host.strip("[]"), port, "/", "", None, "")

    def _reach(self, target: Target, guard: Guard, seconds: float) -> GuardedSocket:
        if target.inside_only:
            raise SourceError(target.inside_only, NOT_REACHABLE)
        sock = self._connect_any(self._ask(self._proxy, guard), guard, seconds)
        try:
            _open_tunnel(sock, target)
        except BaseException:
            sock.close()
            raise
        return sock


def make_dialer(policy: AddressPolicy, environment: Mapping[str, str]) -> Dialer:
    """The dialer for the proxy in GGUFHUB_EGRESS_PROXY, or one that connects directly."""
    text = environment.get(VARIABLE, "").strip()
    if not text:
        return Dialer(policy)
    match = _PROXY.fullmatch(text)
    if match is None or not 0 < int(match[2]) < 65536:
        raise UsageError(f"{VARIABLE}: {text!r} is no proxy such as http://proxy.example:4750.")
    return ProxyDialer(policy, match[1], int(match[2]))


def _open_tunnel(sock: GuardedSocket, target: Target) -> None:
    host = f"[{target.host}]" if ":" in target.host else target.host
    place = f"{host}:{target.port}"
    head = bytearray()
    try:
        sock.sendall(f"CONNECT {place} HTTP/1.1\r\nHost: {place}\r\n\r\n".encode("ascii"))
        while not head.endswith(b"\r\n\r\n"):
            byte = bytearray(1)  # what follows the head belongs to the target
            if len(head) >= HEAD_BYTES or not sock.recv_into(byte):
                raise SourceError("connect", NOT_REACHABLE)
            head += byte
    except OSError as error:
        raise SourceError("connect", NOT_REACHABLE) from error
    if not _OPENED.match(head):
        raise SourceError("connect", NOT_REACHABLE)
