"""Files that burn CPU in a live worker: stopped by a limit, and the next inspection is unharmed."""

import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from ggufhub.hub.models import Inspection, Report, State
from ggufhub.rules.model_samples import llama
from tests import rows
from tests.faults.burning import HARD_SECONDS
from tests.faults.conftest import Note
from tests.live import Broker, LiveWorker, wait_for
from tests.templating.test_hostile import COSTLY

pytestmark = pytest.mark.django_db(transaction=True)

CPU_BOMBS = ("loops", "powers", "recursion")


class BurningWorker(LiveWorker):
    """A worker of one process that knows the file ``burn.gguf``."""

    def start(self) -> None:
        celery = [sys.executable, "-m", "celery", "-A", "tests.faults.burning", "worker"]
        options = ["--without-gossip", "--without-mingle", "-c", "1", "-l", "ERROR"]
        self.process = subprocess.Popen([*celery, *options], env=self._environment)


@pytest.fixture
def burning(broker: Broker, transactional_db: None) -> Iterator[BurningWorker]:
    worker = BurningWorker()
    worker.start()
    yield worker
    worker.kill()


def state(row: Inspection) -> str:
    row.refresh_from_db()
    return row.state


def test_a_call_nothing_interrupts(burning: BurningWorker, outcome: Note) -> None:
    bomb = rows.queued(llama(), name="burn.gguf")
    wait_for(lambda: state(bomb) == State.RUNNING)
    before = burning.children()
    good = rows.queued(llama())
    began = time.monotonic()
    wait_for(lambda: state(bomb) == State.FAILED, 45)
    assert bomb.error_code == "timeout"
    wait_for(lambda: state(good) == State.DONE, 45)
    took = time.monotonic() - began
    assert burning.running and not set(before) & set(burning.children())  # the process was killed
    assert HARD_SECONDS - 2 < took < 45
    doubled = Report.objects.count() - 1
    outcome("CPU bomb in C code", "killed at the hard limit: timeout", took, 0, doubled)


def test_templates_that_burn_cpu(live_worker: LiveWorker, outcome: Note) -> None:
    warm = rows.queued(llama())
    wait_for(lambda: state(warm) == State.DONE)
    before = live_worker.children()
    began = time.monotonic()
    bombs = [rows.queued(llama({"tokenizer.chat_template": COSTLY[name]})) for name in CPU_BOMBS]
    good = rows.queued(llama({"general.name": "good"}))
    wait_for(lambda: all(state(row) == State.DONE for row in (*bombs, good)), 45)
    took = time.monotonic() - began
    # The jail was killed, not the process that holds the inspection.
    assert live_worker.children() == before
    assert not _burning(live_worker)
    outcome(f"{len(bombs)} CPU bombs in templates", "jail killed, reports made", took)


def _burning(worker: LiveWorker) -> list[str]:
    """Processes below those of the worker: jails that outlived their template."""
    paths = [Path(f"/proc/{pid}/task/{pid}/children") for pid in worker.children()]
    return [pid for path in paths for pid in path.read_text().split()]
