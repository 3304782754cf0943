"""Every fault that is injected into a whole service leaves a line: what happened, how long it took,
what was lost and what was done twice. They are printed as a table at the end."""

from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

from tests.faults.topology import Topology

Note = Callable[..., None]


class Outcome(NamedTuple):
    fault: str
    happened: str
    seconds: float
    lost: int
    doubled: int


_outcomes: list[Outcome] = []


@pytest.fixture
def outcome() -> Note:
    """Write down an ``Outcome``; nothing may be lost or doubled."""

    def note(fault: str, happened: str, seconds: float, lost: int = 0, doubled: int = 0) -> None:
        _outcomes.append(Outcome(fault, happened, seconds, lost, doubled))
        assert (lost, doubled) == (0, 0)

    return note


def pytest_terminal_summary(terminalreporter: Any) -> None:
    if _outcomes:
        terminalreporter.section("faults")
        terminalreporter.write_line("| fault | what happened | recovered after | lost | doubled |")
        terminalreporter.write_line("|---|---|---|---|---|")
        for one in _outcomes:
            cells = (one.fault, one.happened, f"{one.seconds:.1f} s", one.lost, one.doubled)
            terminalreporter.write_line(f"| {' | '.join(map(str, cells))} |")


def reports(topology: Topology) -> int:
    """How many reports are stored."""
    code = "from ggufhub.hub.models import Report; print(Report.objects.count())"
    return int(topology.manage("shell", "--no-imports", "-c", code).split()[-1])
