"""Keeps a few child processes running and stops them in order."""

import ctypes
import logging
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import dataclass, field

POLL_SECONDS = 0.2
HEALTHY_SECONDS = 10.0
"""A child that ran this long is restarted at once when it dies."""

RESTARTS = 5
"""Deaths in a row, each sooner than HEALTHY_SECONDS, after which there is no point in going on."""

PR_SET_PDEATHSIG = 1

log = logging.getLogger(__name__)


class CannotRun(Exception):
    """A child dies again and again."""


@dataclass
class Child:
    """One process to keep alive.

    ``stop_seconds`` is how long it may take to end. The others need one that is ``needed``: it
    ends after all of them.
    """

    name: str
    command: list[str]
    stop_seconds: float
    environment: dict[str, str]
    inherit: tuple[int, ...] = ()
    needed: bool = False
    process: subprocess.Popen[bytes] | None = None
    started: float = 0.0
    early_deaths: int = field(default=0)

    def start(self) -> None:
        """Start it in its own session: Ctrl-C reaches only us, and we stop it in order."""
        self.started = time.monotonic()
        self.process = subprocess.Popen(
            self.command,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            # Our own standard output carries one line, the address.
            stdout=sys.stderr,
            start_new_session=True,
            pass_fds=self.inherit,
            preexec_fn=_die_with_parent if sys.platform == "linux" else None,
        )

    def check(self) -> None:
        """Restart it if it died; ``CannotRun`` if it does nothing but die."""
        if self.process is None or self.process.poll() is None:
            return
        early = time.monotonic() - self.started < HEALTHY_SECONDS
        self.early_deaths = self.early_deaths + 1 if early else 0
        if self.early_deaths >= RESTARTS:
            raise CannotRun(f"The {self.name} ends as soon as it starts.")
        log.warning("the %s ended with %s, starting it again", self.name, self.process.returncode)
        self._sweep()
        time.sleep(0.5 * self.early_deaths)
        self.start()

    def ask_to_stop(self) -> None:
        """Ask it to end; ``wait`` sees to it that it does."""
        if self.process is not None:
            self.process.terminate()

    def wait(self) -> None:
        """Wait for its end, and make it after ``stop_seconds``."""
        if self.process is None:
            return
        try:
            self.process.wait(self.stop_seconds)
        except subprocess.TimeoutExpired:
            log.warning("the %s did not end in time and was killed", self.name)
        self._sweep()
        self.process.wait()

    def _sweep(self) -> None:
        """Kill what is left of its process group: a killed parent leaves its own children."""
        if self.process is not None:
            with suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)


def _die_with_parent() -> None:
    # If we are killed outright nobody is left to stop the children: two brokers on one file
    # would be the result of the next start.
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)


class Supervisor:
    """Starts children in the order given, and stops what is needed last."""

    def __init__(self) -> None:
        self._children: list[Child] = []
        self._asked_to_stop = False

    def add(self, child: Child) -> None:
        """Start ``child`` and keep it running from now on."""
        child.start()
        self._children.append(child)

    def catch_signals(self) -> None:
        """End ``run`` on SIGTERM and SIGINT; a second signal changes nothing."""
        for name in (signal.SIGTERM, signal.SIGINT):
            signal.signal(name, self._stop_later)

    def _stop_later(self, *_: object) -> None:
        self._asked_to_stop = True

    @property
    def asked_to_stop(self) -> bool:
        return self._asked_to_stop

    def run(self) -> None:
        """Restart whatever dies until a signal asks to stop."""
        while not self._asked_to_stop:
            self.check()
            time.sleep(POLL_SECONDS)

    def check(self) -> None:
        """One look at every child."""
        for child in self._children:
            child.check()

    def stop(self) -> None:
        """Stop every child: all at once, and then those that they needed."""
        for needed in (False, True):
            children = [child for child in self._children if child.needed is needed]
            for child in children:
                child.ask_to_stop()
            for child in children:
                child.wait()
