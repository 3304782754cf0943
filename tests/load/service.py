"""`ggufhub serve` in a directory of its own, and what its processes take."""

import os
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import NamedTuple, Self

from tests.faults.processes import ROOT
from tests.faults.topology import free_port

PAGE_KIB = os.sysconf("SC_PAGE_SIZE") // 1024


class Taken(NamedTuple):
    """Of all processes together: resident memory in MiB, open descriptors, processes; and the
    memory of each kind of process."""

    memory: float
    descriptors: int
    processes: int
    kinds: dict[str, float]


class Service:
    """The service as a user starts it, allowed to fetch from ``source_port`` on loopback."""

    def __init__(self, data: Path, source_port: int) -> None:
        self.port = free_port()
        self.data = data
        self._environment = {
            "PATH": os.environ["PATH"],
            "GGUFHUB_DATA": str(data),
            "GGUFHUB_BIND": f"127.0.0.1:{self.port}",
            "GGUFHUB_ALLOWED_NETWORKS": "127.0.0.0/8",
            "GGUFHUB_ALLOWED_PORTS": str(source_port),
            "GGUFHUB_LOG_LEVEL": "ERROR",
        }
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        command = [sys.executable, "-m", "ggufhub.cli", "serve"]
        self._process = subprocess.Popen(
            command, cwd=ROOT, env=self._environment, stdout=subprocess.PIPE
        )
        assert self._process.stdout is not None
        assert b"ggufhub is at" in self._process.stdout.readline()
        return self

    def __exit__(self, *_: object) -> None:
        assert self._process is not None
        self._process.send_signal(signal.SIGTERM)
        self._process.wait(60)

    def taken(self) -> Taken:
        """What it takes at this moment."""
        assert self._process is not None
        descriptors, processes, kinds = 0, 0, Counter[str]()
        for pid in _family(self._process.pid):
            try:
                pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
                descriptors += len(list(Path(f"/proc/{pid}/fd").iterdir()))
                kinds[_kind(Path(f"/proc/{pid}/cmdline").read_text().split("\0"))] += pages
                processes += 1
            except OSError:  # it has just ended
                continue
        memory = {name: pages * PAGE_KIB / 1024 for name, pages in kinds.items()}
        return Taken(sum(memory.values()), descriptors, processes, memory)


def _kind(command: list[str]) -> str:
    """What a process is for, by its command line."""
    if "-Q" in command:
        return f"worker of {command[command.index('-Q') + 1]}"
    if "ggufhub.web.server" in command:
        return "web server"
    return "broker" if "valkey" in command[0] else "launcher"


def _family(pid: int) -> list[int]:
    try:
        words = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except OSError:
        return []
    return [pid, *(one for word in words for one in _family(int(word)))]
