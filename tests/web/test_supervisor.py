"""Children are kept alive, and ended in an order that loses nothing."""

import os
import signal
import time
from pathlib import Path

import pytest

from ggufhub.web.supervisor import RESTARTS, CannotRun, Child, Supervisor
from tests.live import wait_for

LIVES = """
trap 'sleep {pause}; echo {name} >> {log}; exit' TERM
echo ready > {log}.{name}
while :; do sleep 0.05; done
"""


def living(name: str, log: Path, *, pause: float = 0.0, needed: bool = False) -> Child:
    """A child that notes its end in ``log``, ``pause`` seconds after it was asked to."""
    script = LIVES.format(pause=pause, name=name, log=log)
    return Child(name, ["sh", "-c", script], 20, dict(os.environ), needed=needed)


def begin(children: list[Child], log: Path) -> Supervisor:
    supervisor = Supervisor()
    for child in children:
        supervisor.add(child)
        wait_for(log.with_name(f"{log.name}.{child.name}").exists)
    return supervisor


def test_what_the_others_need_ends_last(tmp_path: Path) -> None:
    log = tmp_path / "ends"
    broker = living("broker", log, needed=True)
    slow, quick = living("slow", log, pause=0.6), living("quick", log)
    begin([broker, quick, slow], log).stop()
    assert log.read_text().split() == ["quick", "slow", "broker"]


def test_the_others_are_asked_at_once(tmp_path: Path) -> None:
    log = tmp_path / "ends"
    late, early = living("late", log, pause=0.6), living("early", log)
    begin([late, early], log).stop()
    assert log.read_text().split() == ["early", "late"]


def test_one_that_does_not_end_is_killed(tmp_path: Path) -> None:
    log = tmp_path / "ends"
    child = living("stubborn", log, pause=60)
    child.stop_seconds = 0.3
    begin([child], log).stop()
    assert child.process is not None and child.process.returncode == -signal.SIGKILL


def test_a_dead_one_is_started_again(tmp_path: Path) -> None:
    log = tmp_path / "ends"
    child = living("worker", log)
    supervisor = begin([child], log)
    assert child.process is not None
    first = child.process
    first.kill()
    first.wait()
    supervisor.check()
    assert child.process.pid != first.pid and child.process.poll() is None
    supervisor.stop()


def test_one_that_only_dies_ends_it_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "sleep", lambda seconds: None)
    supervisor = Supervisor()
    child = Child("web server", ["false"], 1, dict(os.environ))
    supervisor.add(child)
    for _ in range(RESTARTS - 1):
        assert child.process is not None
        child.process.wait()
        supervisor.check()
    child.process.wait()
    with pytest.raises(CannotRun, match="The web server ends as soon as it starts"):
        supervisor.check()
