"""The files of `locks/`, which `make lock` writes and pip reads with `--require-hashes`."""

import re
from pathlib import Path
from typing import NamedTuple

from tests.supply.parts import normal

ROOT = Path(__file__).parents[2]

ENTRY = re.compile(r"([\w.-]+)==([\w.+!-]+)(?: ; [^\\#]+?)?((?: --hash=sha256:[0-9a-f]{64})+)")
"""One logical line of a lock: name, version, perhaps a marker, and hashes; no extras, no place."""


class Locked(NamedTuple):
    """The one version of a package, and the SHA-256 of every file of it that may be installed."""

    version: str
    hashes: frozenset[str]


def read(lock: Path) -> dict[str, Locked]:
    """What a lock holds, by normal name.

    Raises ValueError where a line is anything else than a pinned package with hashes.
    """
    text = re.sub(r"\s*\\\n\s*", " ", lock.read_text())
    found: dict[str, Locked] = {}
    for line in text.splitlines():
        if line.startswith("#"):
            continue
        entry = ENTRY.fullmatch(line)
        if entry is None or normal(entry[1]) in found:
            raise ValueError(f"{lock.name}: not one pinned package with hashes: {line[:100]}")
        found[normal(entry[1])] = Locked(entry[2], frozenset(re.findall(r"\w{64}", entry[3])))
    return found


def constraints() -> dict[str, str]:
    """The version of every package in ``constraints.txt``, by normal name."""
    lines = (ROOT / "constraints.txt").read_text().split()
    return {normal(name): version for name, _, version in (line.partition("==") for line in lines)}
