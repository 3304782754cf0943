"""The services of ``docker-compose.yml`` as processes on loopback, without any container.

The commands and variables are those of the file; only addresses and directories are other ones.
"""

import os
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml

from tests.core.rangeserver import RangeServer
from tests.faults.client import Client
from tests.faults.processes import ROOT, Database, Part
from tests.live import Broker, wait_for

COMPOSE = ROOT / "docker-compose.yml"
WORKERS = ("inspect", "digest", "audit", "hooks")
WEBS = 2


def services() -> dict[str, dict[str, Any]]:
    """The services of the file, by name."""
    document = yaml.safe_load(COMPOSE.read_text())
    found: dict[str, dict[str, Any]] = document["services"]
    return found


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Topology:
    """Database, broker, two web servers, four workers and the clock; sign-in required."""

    def __init__(self, directory: Path, **variables: str) -> None:
        self.directory = directory
        self.data = directory / "data"
        self.data.mkdir()
        self.database = Database()
        self.broker = Broker(directory / "broker", directory / "broker.sock")
        self.ports = [free_port() for _ in range(WEBS)]
        self._variables = variables
        self.webs = [self._part("web", f"web{n}", port) for n, port in enumerate(self.ports)]
        self.workers = {name: self._part(name) for name in WORKERS}
        self.beat = self._part("beat")

    def environment(self, service: str, port: int = 8000) -> dict[str, str]:
        """The variables of a service of the file, with the addresses of this topology."""
        written = {name: _default(str(value)) for name, value in _variables(service).items()}
        return {
            "PATH": os.environ["PATH"],
            **written,
            "GGUFHUB_BIND": f"127.0.0.1:{port}",
            "GGUFHUB_DATA": str(self.data),
            "GGUFHUB_DATABASE_URL": self.database.url,
            "GGUFHUB_BROKER_URL": f"redis+socket://{self.directory / 'broker.sock'}",
            "GGUFHUB_HOSTS": "models.example",
            "GGUFHUB_HTTPS": "no",  # here nobody speaks it in front of the web servers
            **self._variables,
        }

    def _part(self, service: str, name: str = "", port: int = 8000) -> Part:
        command = [self._local(word) for word in services()[service]["command"]]
        if command[0] == "celery":
            command[:1] = [sys.executable, "-m", "celery"]
        log = self.directory / f"{name or service}.log"
        return Part(name or service, command, self.environment(service, port), log)

    def _local(self, word: str) -> str:
        if word == "python":
            return sys.executable
        return word.replace("/tmp/", f"{self.directory}/")

    @property
    def parts(self) -> list[Part]:
        return [*self.webs, *self.workers.values(), self.beat]

    def manage(self, *words: str, **variables: str) -> str:
        """What a command of ``manage.py`` printed."""
        done = subprocess.run(
            [sys.executable, "manage.py", *words],
            cwd=ROOT,
            env={**self.environment("web"), **variables},
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def start(self) -> None:
        """All of it, ready for work."""
        self.broker.start()
        self.manage("prepare")
        for part in self.parts:
            part.start()
        wait_for(lambda: all(self.client(n).ready() for n in range(WEBS)), 60)

    def stop(self) -> None:
        for part in self.parts:
            if part.running:
                part.kill()
        self.broker.kill()
        self.database.stop()

    def client(self, web: int = 0, token: str = "") -> Client:
        """A client of one of the web servers."""
        return Client(self.ports[web], token)

    def user(self, name: str, password: str) -> None:
        """An operator's account."""
        words = ("createsuperuser", "--noinput", "--username", name, "--email", "")
        self.manage(*words, DJANGO_SUPERUSER_PASSWORD=password)

    def token(self, user: str) -> str:
        """A token that may do everything."""
        return self.manage("create-token", user, "--scope", "admin").strip()


def _variables(service: str) -> Mapping[str, Any]:
    found: Mapping[str, Any] = services()[service]["environment"]
    return found


def _default(text: str) -> str:
    """What compose makes of ``${NAME:-default}``; the required ones are replaced anyway."""
    if text.startswith("${") and ":-" in text:
        return text[2:-1].partition(":-")[2]
    return text


def fetching(server: RangeServer) -> dict[str, str]:
    """The variables that let a topology fetch from ``server``."""
    return {
        "GGUFHUB_ALLOWED_NETWORKS": "127.0.0.0/8",
        "GGUFHUB_ALLOWED_PORTS": str(server.port),
    }


@contextmanager
def running(directory: Path, **variables: str) -> Iterator[Topology]:
    """A topology, ended however the block ends."""
    topology = Topology(directory, **variables)
    try:
        topology.start()
        yield topology
    finally:
        topology.stop()
