"""The web server: its command line, its environment and what it may hold open.

Both ``ggufhub.web.serve`` and ``manage.py web`` start it from here.
"""

import resource
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ggufhub.web.metrics import SHARED

CONNECTIONS = 4096
"""What one process of the web server holds at a time. Most may be half-open and cost a descriptor
each; while there are more, everybody else waits for theirs to run out of time."""

HEAD_MS = 10_000
"""Milliseconds in which the head of a request has to come."""

ONE_HEAP = {"MALLOC_ARENA_MAX": "1", "MALLOC_MMAP_THRESHOLD_": "65536"}
"""How glibc keeps memory (mallopt(3)). By itself it gives threads heaps of their own and keeps ever
larger buffers in them, so that for hours each heap grows to the most its threads ever used at once.
Threads here take turns: from one heap each takes what another has freed, and what is larger than a
block of an answer goes back to the system."""


def web_command(settings: Any) -> list[str]:
    """The command line of the web server. Call ``allow_connections`` first."""
    options = "--interface asginl --http 1 --no-ws --respawn-failed-workers --log-level error"
    connections = min(CONNECTIONS, _count(resource.getrlimit(resource.RLIMIT_NOFILE)[0]) // 2)
    options += f" --backlog {CONNECTIONS} --backpressure {connections}"
    options += f" --http1-header-read-timeout {HEAD_MS}"
    processes = ["--workers", str(settings.WEB_PROCESSES)]
    address = ["--host", settings.BIND_HOST.strip("[]"), "--port", settings.BIND_PORT]
    granian = [sys.executable, "-m", "granian", "ggufhub.web.asgi:application"]
    return [*granian, *options.split(), *processes, *address]


def web_environment(environment: Mapping[str, str], metrics: Path) -> dict[str, str]:
    """The variables of the web server: ``environment``, whose words come first, and the directory
    its processes count in."""
    return {**ONE_HEAP, **environment, SHARED: str(metrics)}


def allow_connections() -> None:
    """Let this process, and those it starts, have twice as many descriptors as connections: the
    others are files and the database. Where it may not, the web server holds fewer connections."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = min(2 * CONNECTIONS, _count(hard))
    if _count(soft) < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def _count(limit: int) -> int:
    """A limit of descriptors as a number that can be compared."""
    return sys.maxsize if limit == resource.RLIM_INFINITY else limit
