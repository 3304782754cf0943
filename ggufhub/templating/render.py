"""Analyse a template in a throw-away process and collect what it says before a deadline."""

import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any

from ggufhub.limits import KIB
from ggufhub.templating import jail
from ggufhub.templating.conversations import CONVERSATIONS, variables
from ggufhub.templating.facts import Render, TemplateFacts
from ggufhub.templating.known import KnownTemplates

LARGEST = 256 * KIB
"""Characters of a template that is analysed and shown; the longest of 190 real ones has 17,149."""

WALL_SECONDS = 4.0
"""For one template with all its conversations, from process start."""

ANSWER_BYTES = 8 << 20
"""Everything the child may say: 12 conversations of at most 256 KiB, escaped."""

KNOWN = KnownTemplates()
"""Of this process."""

OWN = "own"
"""The name under which a conversation of somebody's own runs."""

_BOOTSTRAP = (
    "import sys; sys.path.insert(0, {root!r}); import ggufhub.templating.child as c; c.main()"
)


def analyse(
    name: str,
    text: str,
    special: dict[str, str],
    seconds: float = WALL_SECONDS,
) -> TemplateFacts:
    """Everything knowable about one template. Never raises for anything the template does.

    ``special`` gives bos_token, eos_token and so on as text. Needs about 0.1 s, and at most
    ``seconds``; one that was seen lately, next to nothing.
    """
    facts = TemplateFacts(name, text)
    if not _can_run(facts, seconds):
        return facts
    key = KNOWN.key(text, special, date.today().isoformat())
    known = KNOWN.find(key, name)
    if known is not None:
        return known
    _run(
        facts,
        seconds,
        special=special,
        conversations={name: variables(name, special) for name in CONVERSATIONS},
        triggers=True,
    )
    KNOWN.keep(key, facts)
    return facts


def render_conversation(text: str, given: dict[str, Any], seconds: float = WALL_SECONDS) -> Render:
    """What the template ``text`` makes of the variables ``given``. Never raises for anything the
    template does; one that does not compile is the failure ``syntax``, one that could not be run
    to its end ``limit``."""
    facts = TemplateFacts(OWN, text)
    if not _can_run(facts, seconds):
        return Render(OWN, failure="limit", message=facts.stopped or "")
    _run(facts, seconds, special={}, conversations={OWN: given}, triggers=False)
    if facts.broken is not None:
        words = f"line {facts.broken.line}: {facts.broken.text}"
        return Render(OWN, failure="syntax", message=words)
    stopped = facts.stopped or "the process for templates gave no answer"
    return facts.renders.get(OWN) or Render(OWN, failure="limit", message=stopped)


def _run(facts: TemplateFacts, seconds: float, **request: Any) -> None:
    """Run the template of ``facts`` in a process of its own and add what it tells."""
    for message in _talk(json.dumps({"text": facts.text, **request}).encode(), facts, seconds):
        facts.take(message)


def _can_run(facts: TemplateFacts, seconds: float) -> bool:
    """Whether the template may be run at all; ``facts.stopped`` says why not."""
    if seconds <= 0:
        facts.stopped = "the templates before it took all the time there is for them"
    elif len(facts.text) > LARGEST:
        facts.stopped = f"the template has more than {LARGEST:,} characters"
    elif not jail.available():
        facts.stopped = "templates are not run on this platform: it has no system call filter"
    return facts.stopped is None


def _talk(request: bytes, facts: TemplateFacts, seconds: float) -> Iterator[dict[str, Any]]:
    root = str(Path(__file__).parents[2])
    command = [sys.executable, "-I", "-c", _BOOTSTRAP.format(root=root), date.today().isoformat()]
    child = subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={"PYTHONDONTWRITEBYTECODE": "1"},
        start_new_session=True,
    )
    try:
        answer = _Answer(child, seconds)
        answer.give(request)
        yield from answer.lines()
        facts.stopped = answer.stopped
    finally:
        if child.poll() is None:
            os.killpg(child.pid, signal.SIGKILL)
        child.wait()
        for pipe in (child.stdin, child.stdout):
            if pipe is not None:
                pipe.close()


class _Answer:
    """Reads the child's lines until it ends, the deadline passes, or it says too much."""

    def __init__(self, child: "subprocess.Popen[bytes]", seconds: float) -> None:
        assert child.stdin is not None and child.stdout is not None
        self._child = child
        self._in, self._out = child.stdin, child.stdout
        self._seconds = seconds
        self._deadline = time.monotonic() + seconds
        self.stopped: str | None = None

    def give(self, request: bytes) -> None:
        """Write the request; the child reads it whole before it does anything else."""
        try:
            self._in.write(request)
            self._in.close()
        except BrokenPipeError:
            self.stopped = "the process for templates could not start"

    def lines(self) -> Iterator[dict[str, Any]]:
        pending, total, descriptor = b"", 0, self._out.fileno()
        while True:
            left = self._deadline - time.monotonic()
            if left <= 0 or not select.select([descriptor], [], [], left)[0]:
                self.stopped = f"the template did not end within {self._seconds:.1f} seconds"
                return
            part = os.read(descriptor, 1 << 16)
            total += len(part)
            if not part:
                break
            if total > ANSWER_BYTES:
                self.stopped = "the template gives more output than is read"
                return
            *whole, pending = (pending + part).split(b"\n")
            yield from map(json.loads, whole)
        if self._child.wait() != 0:
            self.stopped = self.stopped or _why(self._child.returncode)


def _why(code: int) -> str:
    if code in (-signal.SIGXCPU, -signal.SIGKILL):
        return f"the template used more than {jail.CPU_SECONDS} seconds of computing"
    return f"the template ended its process (code {code})"
