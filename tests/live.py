"""Real processes for tests: a broker that can be killed, a worker that can be killed."""

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote

import redis
from django.db import connection

from ggufhub.web import broker as broker_program


def wait_for(condition: Callable[[], object], seconds: float = 60.0) -> None:
    """Poll until ``condition`` holds; fail the test after ``seconds``."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"not within {seconds} s"
        time.sleep(0.05)


class Broker:
    """A durable broker on a unix socket."""

    def __init__(self, directory: Path, socket: Path) -> None:
        self._directory = directory
        self._socket = socket
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        command = broker_program.command(self._directory, self._socket)
        self._process = subprocess.Popen(command)
        wait_for(self._answers)

    def _answers(self) -> bool:
        try:
            with self.client() as client:
                return bool(client.ping())
        except redis.RedisError:
            return False

    def client(self) -> redis.Redis:
        return redis.Redis(unix_socket_path=str(self._socket))

    def kill(self) -> None:
        """As a power cut does: no chance to write anything."""
        assert self._process is not None
        self._process.kill()
        self._process.wait()
        self._socket.unlink(missing_ok=True)


class LiveWorker:
    """A real Celery worker on the test database: two processes, with ``tests.workers.faults``.

    ``options`` are further ones of its command line; the last of two that contradict counts.
    """

    def __init__(self, *options: str) -> None:
        self._options = options
        self._environment = {**os.environ, "GGUFHUB_DATABASE_URL": database_url()}
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        options = ["--without-gossip", "--without-mingle", "-c", "2", "-l", "ERROR"]
        celery = [sys.executable, "-m", "celery", "-A", "tests.workers.faults", "worker"]
        self.process = subprocess.Popen([*celery, *options, *self._options], env=self._environment)

    @property
    def running(self) -> bool:
        return self.process is not None and self.process.poll() is None

    def children(self) -> list[int]:
        """Process ids of the pool."""
        assert self.process is not None
        path = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
        return [int(pid) for pid in path.read_text().split()]

    def kill(self) -> None:
        """The whole worker at once, as an out-of-memory killer would."""
        assert self.process is not None
        for pid in (self.process.pid, *self.children()):
            os.kill(pid, 9)
        self.process.wait()


def database_url() -> str:
    """The test database, as another process must name it."""
    values = connection.settings_dict
    if connection.vendor == "sqlite":
        return f"sqlite://{quote(str(values['NAME']))}"
    account = f"{quote(values['USER'])}:{quote(values['PASSWORD'])}"
    host = quote(values["HOST"], safe="")
    return f"postgresql://{account}@/{values['NAME']}?host={host}"
