"""A network that misbehaves: a relay on loopback that delays, slices, cuts, stalls and flips."""

import socket
import struct
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from typing import Self


@dataclass(frozen=True, slots=True)
class Fault:
    """What happens to the bytes of the server on their way to the client.

    ``latency`` seconds before the first byte; ``rate`` bytes a second; ``slice`` bytes at once;
    after ``after`` bytes of a connection it ends in ``end``: ``fin``, ``rst`` or ``stall``.
    ``flip`` inverts one bit of the byte at this position of every connection. ``refuse``: nobody
    answers at all.
    """

    latency: float = 0.0
    rate: float = 0.0
    slice: int = 65_536
    after: int | None = None
    end: str = "fin"
    flip: int | None = None
    refuse: bool = False


class FaultProxy:
    """Relays to ``port`` on loopback. ``faults`` are used one a connection, the last one for the
    rest."""

    def __init__(self, port: int, *faults: Fault) -> None:
        self._target = port
        self._faults = list(faults) or [Fault()]
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._stopping = threading.Event()
        self.connections = 0

    @property
    def port(self) -> int:
        return int(self._listener.getsockname()[1])

    def __enter__(self) -> Self:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopping.set()
        self._listener.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                fault = self._faults[min(self.connections, len(self._faults) - 1)]
                self.connections += 1
                threading.Thread(target=self._relay, args=(client, fault), daemon=True).start()

    def _relay(self, client: socket.socket, fault: Fault) -> None:
        with client:
            if fault.refuse:
                _reset(client)
                return
            with socket.create_connection(("127.0.0.1", self._target)) as server, suppress(OSError):
                threading.Thread(target=_pump, args=(client, server), daemon=True).start()
                self._answer(server, client, fault)

    def _answer(self, server: socket.socket, client: socket.socket, fault: Fault) -> None:
        sent = 0
        while data := bytearray(server.recv(fault.slice)):
            if sent == 0:
                self._stopping.wait(fault.latency)
            if fault.flip is not None and sent <= fault.flip < sent + len(data):
                data[fault.flip - sent] ^= 0x10
            if fault.after is not None and sent + len(data) >= fault.after:
                client.sendall(data[: fault.after - sent])
                self._end(client, fault.end)
                return
            client.sendall(data)
            sent += len(data)
            if fault.rate:
                time.sleep(len(data) / fault.rate)

    def _end(self, client: socket.socket, how: str) -> None:
        if how == "rst":
            _reset(client)
        elif how == "stall":
            self._stopping.wait(30)


def _reset(client: socket.socket) -> None:
    client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def _pump(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):
        while data := source.recv(65_536):
            target.sendall(data)
