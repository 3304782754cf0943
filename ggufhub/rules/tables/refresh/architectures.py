"""Which architectures the reference knows, and which class loads each."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from ggufhub.rules.tables.refresh.cpp import functions, without_comments

_PAIR = re.compile(r'\{\s*(?P<name>LLM_\w+),\s*"(?P<text>[^"]*)"\s*\}')
_CASE = re.compile(r"case (LLM_ARCH_\w+):|return new llama_model_(\w+)\(params\)")
_PARENT = re.compile(r"struct llama_model_(\w+)\s*:\s*public llama_model_(\w+)")

NOT_LOADED = frozenset({"clip", "(unknown)"})
"""Names in the list that load no text model: a projector and a placeholder."""


@dataclass(frozen=True, slots=True)
class Tree:
    """The sources of the reference, comments removed; ``methods`` by ``class::name``."""

    arch: str
    model: str
    header: str
    hparams: str
    models: str
    methods: dict[str, str]
    texts: tuple[str, ...]

    def names(self, prefix: str) -> dict[str, str]:
        """Enumerators that begin with ``prefix`` and the text each stands for."""
        pairs = _PAIR.finditer(self.arch)
        return {pair["name"]: pair["text"] for pair in pairs if pair["name"].startswith(prefix)}

    def method(self, owner: str, name: str) -> str:
        """The body of a member function, of the class itself or the nearest one above it."""
        parents = dict(_PARENT.findall(self.models))
        while f"llama_model_{owner}::{name}" not in self.methods:
            owner = parents[owner]
        return self.methods[f"llama_model_{owner}::{name}"]


@cache
def read_tree(folder: Path) -> Tree:
    """Read a source tree of llama.cpp."""

    def text(name: str) -> str:
        return without_comments((folder / "src" / name).read_text("utf-8"))

    paths = sorted((folder / "src" / "models").glob("*.cpp"))
    texts = tuple(without_comments(path.read_text("utf-8")) for path in paths)
    methods: dict[str, str] = {}
    for one in (text("llama-model.cpp"), *texts):
        methods |= functions(one)
    return Tree(
        text("llama-arch.cpp"),
        text("llama-model.cpp"),
        text("llama-model.h"),
        text("llama-hparams.h"),
        text("models/models.h"),
        methods,
        texts,
    )


def classes(tree: Tree) -> Iterator[tuple[str, str]]:
    """Each architecture and the class that loads it."""
    names, waiting = tree.names("LLM_ARCH_"), []
    for match in _CASE.finditer(tree.model):
        if match[1]:
            waiting.append(names[match[1]])
        else:
            yield from ((name, match[2]) for name in waiting if name not in NOT_LOADED)
            waiting = []


def architectures(folder: Path) -> dict[str, Any]:
    """The table ``architectures``: the names, and those that have a loader."""
    tree = read_tree(folder)
    known = sorted(set(tree.names("LLM_ARCH_").values()) - {"(unknown)"})
    return {
        "known": known,
        "loaded": sorted(name for name, _ in classes(tree)),
        "recurrent": _that_are(tree, "recurrent"),
    }


def _that_are(tree: Tree, what: str) -> list[str]:
    """The architectures for which ``llm_arch_is_<what>`` is true."""
    start = tree.arch.index(f"bool llm_arch_is_{what}(")
    cases = tree.arch[start : tree.arch.index("return true", start)]
    names = tree.names("LLM_ARCH_")
    return sorted(names[case] for case in re.findall(r"case (LLM_ARCH_\w+)", cases))
