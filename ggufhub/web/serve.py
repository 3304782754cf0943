"""The whole service on one machine: database, broker, worker and web server, from one command.

``ggufhub serve``, ``manage.py serve`` and ``make run`` all end in ``main``.
"""

import fcntl
import os
import shutil
import socket
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from ipaddress import ip_address
from pathlib import Path
from typing import Any
from urllib.request import ProxyHandler, build_opener

import django
from django.core.exceptions import ImproperlyConfigured

from ggufhub.web import broker
from ggufhub.web.prepare import NewerDatabase, prepare
from ggufhub.web.server import COMMAND, web_environment
from ggufhub.web.supervisor import CannotRun, Child, Supervisor

LOCK_SECONDS = 3.0
"""The children of a killed launcher need a few seconds to end and let go of the lock."""

START_SECONDS = 60.0

_CELERY = (
    *(sys.executable, "-m", "celery", "--quiet", "-A", "workers.app", "worker"),
    *("--without-gossip", "--without-mingle", "-l", "WARNING"),
)


class CannotStart(Exception):
    """Something in the way; the text says what and what to do."""


EXPECTED = (CannotStart, CannotRun, NewerDatabase, broker.NoBroker, ImproperlyConfigured)


def main() -> int:
    """Run until SIGTERM or SIGINT; 0 after a clean stop, 1 with a plain message otherwise."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "ggufhub.web.settings")
    try:
        django.setup()
        _serve()
    except EXPECTED as error:
        print(f"ggufhub: {error}", file=sys.stderr)
        return 1
    finally:
        _forget_the_unread()
    return 0


def _forget_the_unread() -> None:
    """Whoever read what we say may be gone: no reason to end with an error."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            # What is left in its buffer is written once more at the end.
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _serve() -> None:
    from django.conf import settings

    supervisor = Supervisor()
    supervisor.catch_signals()
    with _only_one(settings.DATA) as lock:
        _check_port(settings.BIND_HOST, int(settings.BIND_PORT))
        prepare()
        try:
            for child in _children(settings, lock):
                supervisor.add(child)
            if _wait_until_up(supervisor, settings.BIND_HOST, settings.BIND_PORT):
                print(f"ggufhub is at http://{settings.BIND}/", flush=True)
            supervisor.run()
        finally:
            supervisor.stop()


@contextmanager
def _only_one(data: os.PathLike[str]) -> Iterator[int]:
    """Hold the data directory's lock. The children inherit it, so it outlives a killed launcher."""
    handle = os.open(os.path.join(data, "serve.lock"), os.O_RDWR | os.O_CREAT, 0o600)
    deadline = time.monotonic() + LOCK_SECONDS
    try:
        while True:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > deadline:
                    message = f"Another ggufhub is running on {data}. Stop it, or set GGUFHUB_DATA."
                    raise CannotStart(message) from None
                time.sleep(0.1)
        yield handle
    finally:
        os.close(handle)


def _check_port(host: str, port: int) -> None:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host.strip("[]"), port))
        except OSError as error:
            raise CannotStart(
                f"{host}:{port} cannot be used ({error.strerror}). Set GGUFHUB_BIND."
            ) from None


def _children(settings: Any, lock: int) -> Iterator[Child]:
    environment = {**os.environ, "GGUFHUB_DATA": str(settings.DATA)}
    shared: dict[str, Any] = {"environment": environment, "inherit": (lock,)}
    if settings.BROKER_EMBEDDED:
        command = broker.command(settings.DATA / "valkey", settings.BROKER_SOCKET)
        yield Child("broker", command, stop_seconds=10, needed=True, **shared)
    worker = ["-B", "-s", str(settings.DATA / "beat"), "-Q", "inspect,housekeeping"]
    processes = ["-c", str(settings.WORKER_PROCESSES)]
    yield Child("worker", [*_CELERY, *worker, *processes], stop_seconds=40, **shared)
    # One file is read whole at a time, and no header ever waits for it.
    digest = ["-n", "digest@%h", "-Q", "digest", "-c", "1"]
    yield Child("digest worker", [*_CELERY, *digest], stop_seconds=40, **shared)
    # An audit has thousands of models, and a single inspection waits for none of them.
    audit = ["-n", "audit@%h", "-Q", "audit", *processes]
    yield Child("audit worker", [*_CELERY, *audit], stop_seconds=40, **shared)
    # Receivers that hang hold up nothing but other receivers.
    hooks = ["-n", "hooks@%h", "-Q", "hooks", "-P", "threads", "-c", "1"]
    yield Child("webhook worker", [*_CELERY, *hooks], stop_seconds=40, **shared)
    shared["environment"] = web_environment(environment, _emptied(settings.DATA / "metrics"))
    yield Child("web server", COMMAND, stop_seconds=10, **shared)


def _emptied(directory: Path) -> Path:
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(mode=0o700)
    return directory


def _near(host: str) -> str:
    """Where a server bound to ``host`` can be asked from here: one bound to all addresses, at the
    loopback one."""
    try:
        address = ip_address(host.strip("[]"))
    except ValueError:
        return host
    if not address.is_unspecified:
        return host
    return "127.0.0.1" if address.version == 4 else "[::1]"


def _wait_until_up(supervisor: Supervisor, host: str, port: str) -> bool:
    """Poll the health page; False if a signal came first, ``CannotStart`` after a minute."""
    opener = build_opener(ProxyHandler({}))
    near = _near(host)
    deadline = time.monotonic() + START_SECONDS
    while not supervisor.asked_to_stop:
        supervisor.check()
        try:
            opener.open(f"http://{near}:{port}/healthz", timeout=2).close()
            return True
        except OSError:
            if time.monotonic() > deadline:
                raise CannotStart("The web server does not answer.") from None
            time.sleep(0.1)
    return False


if __name__ == "__main__":
    raise SystemExit(main())
