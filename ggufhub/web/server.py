"""The web server: how it is started, and what it may hold open.

``COMMAND`` runs it until SIGTERM, with ``web_environment`` as its variables. ``ggufhub.web.serve``
and ``manage.py web`` start it so.
"""

import os
import resource
import signal
import sys
from collections.abc import Mapping
from pathlib import Path

from django.conf import settings

from ggufhub.web.metrics import SHARED

COMMAND = [sys.executable, "-m", "ggufhub.web.server"]

CONNECTIONS = 4096
"""What one process of the web server holds at a time. Most may be half-open and cost a descriptor
each; while there are more, everybody else waits for theirs to run out of time."""

HEAD_MS = 10_000
"""Milliseconds in which the head of a request has to come."""

ONE_HEAP = {"MALLOC_ARENA_MAX": "1", "MALLOC_MMAP_THRESHOLD_": "65536"}
"""How glibc keeps memory (mallopt(3)). By itself it gives threads heaps of their own, each as large
as the most its threads ever used at once, and keeps ever larger buffers in them. Threads here take
turns: from one heap each takes what another has freed, and what is larger than a block of an answer
is mapped apart and goes back at once. ``ggufhub.web.memory`` gives back the rest."""


def main() -> None:
    """Serve until SIGTERM."""
    # Here, for the launcher reads this module, too, and has no use for them.
    from granian import Granian
    from granian.constants import HTTPModes, Interfaces
    from granian.http import HTTP1Settings
    from granian.log import LogLevels

    # A process forked from this one has its handler until it serves, and that only notes a SIGTERM:
    # a stop in the second in which it loads Django would wait for it forever.
    os.register_at_fork(after_in_child=lambda: signal.signal(signal.SIGTERM, signal.SIG_DFL))
    Granian(
        "ggufhub.web.asgi:application",
        address=settings.BIND_HOST.strip("[]"),
        port=int(settings.BIND_PORT),
        interface=Interfaces.ASGINL,
        workers=settings.WEB_PROCESSES,
        http=HTTPModes.http1,
        websockets=False,
        backlog=CONNECTIONS,
        backpressure=_allow_connections(),
        http1_settings=HTTP1Settings(header_read_timeout=HEAD_MS),
        log_level=LogLevels.error,
        respawn_failed_workers=True,
    ).serve()


def web_environment(environment: Mapping[str, str], metrics: Path) -> dict[str, str]:
    """The variables of the web server: ``environment``, whose words come first, and the directory
    its processes count in."""
    return {**ONE_HEAP, **environment, SHARED: str(metrics)}


def _allow_connections() -> int:
    """How many connections one process holds. It needs twice as many descriptors, for the others
    are files and the database: where it may not have them, it holds fewer connections."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = min(2 * CONNECTIONS, _count(hard))
    if _count(soft) < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    return min(CONNECTIONS, wanted // 2)


def _count(limit: int) -> int:
    """A limit of descriptors as a number that can be compared."""
    return sys.maxsize if limit == resource.RLIM_INFINITY else limit


if __name__ == "__main__":
    main()
