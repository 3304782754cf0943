"""Facts about templates seen lately: all quants of a model share one, and so do whole families.

To learn them takes a process and a tenth of a second; most files bring a template that the file
before them had.
"""

import hashlib
import json
from collections import OrderedDict
from dataclasses import replace
from threading import Lock

from ggufhub.limits import KIB
from ggufhub.templating.facts import TemplateFacts

KEPT = 32

LARGEST_KEPT = 256 * KIB
"""Characters of all renders of a template that is kept: 32 MiB at most for all of them."""


class KnownTemplates:
    """The facts of the ``KEPT`` templates asked for last, by all that they depend on."""

    def __init__(self) -> None:
        self._facts: OrderedDict[bytes, TemplateFacts] = OrderedDict()
        self._lock = Lock()

    @staticmethod
    def key(text: str, special: dict[str, str], day: str) -> bytes:
        """What stands for a template, its special tokens, and the day that it may print."""
        return hashlib.sha256(json.dumps([text, special, day]).encode()).digest()

    def find(self, key: bytes, name: str) -> TemplateFacts | None:
        """What is known, for a template called ``name``."""
        with self._lock:
            facts = self._facts.get(key)
            if facts is None:
                return None
            self._facts.move_to_end(key)
        return replace(facts, name=name)

    def keep(self, key: bytes, facts: TemplateFacts) -> None:
        """Know ``facts`` from now on. What met a limit may end better another time."""
        limited = any(render.failure == "limit" for render in facts.renders.values())
        size = sum(len(render.output) for render in facts.renders.values())
        if facts.stopped is not None or limited or size > LARGEST_KEPT:
            return
        with self._lock:
            self._facts[key] = facts
            while len(self._facts) > KEPT:
                self._facts.popitem(last=False)
