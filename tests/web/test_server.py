"""The web server as a process: what it is started with, and its end."""

import signal
from pathlib import Path

from ggufhub.web.server import ONE_HEAP, web_environment
from tests.faults.processes import Part
from tests.faults.slow import web_part
from tests.live import wait_for


def test_what_the_operator_says_of_the_heap_comes_first(tmp_path: Path) -> None:
    chosen = web_environment({"MALLOC_ARENA_MAX": "4"}, tmp_path)
    assert chosen["MALLOC_ARENA_MAX"] == "4"
    assert chosen.items() > (ONE_HEAP | {"MALLOC_ARENA_MAX": "4"}).items()


def test_a_stop_in_the_middle_of_the_start_is_heard(tmp_path: Path) -> None:
    web, _ = web_part(tmp_path)
    web.start()
    try:
        wait_for(lambda: loading(web))
        web.process.terminate()
        assert web.process.wait(20) == 0, web.words()
    finally:
        if web.running:
            web.kill()


def loading(web: Part) -> bool:
    """Whether it has processes, and none of them has a handler for SIGTERM any more or yet."""
    try:
        found = [Path(f"/proc/{pid}/status").read_text() for pid in web.children()]
    except OSError:  # one of them has just ended
        return False
    caught = [int(words.partition("SigCgt:")[2].split()[0], 16) for words in found]
    return len(found) == 2 and not any(mask >> (signal.SIGTERM - 1) & 1 for mask in caught)
