"""Which tensors each architecture loads, with shape and condition: ``load_arch_tensors``."""

import re
from pathlib import Path
from typing import Any

from ggufhub.rules.expressions import Value, evaluate
from ggufhub.rules.tables.refresh.architectures import Tree, classes, read_tree
from ggufhub.rules.tables.refresh.cpp import Node, arguments, closing, parameters, statements
from ggufhub.rules.tables.refresh.walk import Walk

_CREATE = re.compile(r"(?:(?P<target>[\w.\->]+)\s*=\s*)?(?:this->)?create_tensor\s*\(")
_LOCALS = re.compile(r"#define LLAMA_LOAD_LOCALS((?:.*\\\n)*.*)")
_LOCAL = re.compile(r"const\s+\w+\s+(\w+)\s*=\s*([^;]+);")
_IN_CONDITION = re.compile(r"^const\s+(?:auto|struct \w+)\s*\*\s*\w+\s*=\s*")

EVERY_BLOCK = ("0", "n_layer")
"""The usual range of a row that names a block; other ranges are stored."""

OPTIONAL = frozenset({"TENSOR_NOT_REQUIRED", "TENSOR_DUPLICATED"})
RESHAPED = "TENSOR_ALLOW_RESHAPE"

HELPERS = ("create_tensor_qkv", "create_tensor_gate_up_exps")
"""Members of the base class that create several tensors at once."""


class _Flags:
    """The flags as bits, for conditions on constants."""

    def name(self, name: str) -> Value:
        return {"TENSOR_SKIP": 4, "TENSOR_NOT_REQUIRED": 1, "TENSOR_SKIP_IF_VIRTUAL": 8}.get(name)

    def call(self, name: str, arguments: list[Value]) -> Value:
        return None


class Tensors(Walk):
    """Collects a row for each ``create_tensor``."""

    def __init__(self, tree: Tree, common: dict[str, str]) -> None:
        super().__init__(tree.names("LLM_ARCH_"))
        self.names = tree.names("LLM_TENSOR_")
        self.scopes[0] = {name: name for name in common}
        self.lets.update(common)
        self.rows: list[dict[str, Any]] = []

    def condition(self, text: str) -> str:
        return self.resolve(_IN_CONDITION.sub("", text))

    def statement(self, text: str) -> None:
        match = _CREATE.search(text)
        if match is None:
            self.define(text)
            return
        end = closing(text, match.end() - 1)
        given = arguments(text[match.end() : end])
        name = self._tensor_name(given[0])
        self._add(name, given[1], given[2])
        if match["target"]:
            target = match["target"].replace("->", ".")
            self.scopes[0][target] = self._unique(target, f'has("{name}")')

    def _tensor_name(self, text: str) -> str:
        text = self.raw.get(text, text)
        given = arguments(text[text.index("(") + 1 : text.rindex(")")])
        template = self.names[self.resolve(given[0])]
        suffix = next((part.strip('"') for part in given if part.startswith('"')), None)
        numbers = [self.resolve(part) for part in given[1:] if not part.startswith('"')]
        shown = [number if number.isdigit() else "N" for number in numbers]
        name = re.sub(r"%d", lambda _: shown.pop(0) if shown else "M", template)
        return name if suffix is None else f"{name}.{suffix}"

    def _add(self, name: str, shape: str, flags: str) -> None:
        conditions = [c for c in self.conditions if evaluate(c, _Flags()) is None]
        if any(evaluate(c, _Flags()) == 0 for c in self.conditions):
            return
        row: dict[str, Any] = {"name": name}
        row["shape"] = [self.resolve(part) for part in arguments(shape.strip("{} "))]
        flags = self.resolve(flags)
        if OPTIONAL & set(re.split(r"[\s|]+", flags)):
            row["optional"] = 1
        elif re.search(r"[a-z?]", flags):
            row["flags"] = flags
        if RESHAPED in flags:
            row["reshaped"] = 1
        if conditions:
            row["if"] = list(dict.fromkeys(conditions))
        if self.range is not None and self.range != EVERY_BLOCK:
            row["of"] = list(self.range)
        if row not in self.rows:
            self.rows.append(row)

    def used(self, common: dict[str, str]) -> dict[str, str]:
        """The local names that the rows need, and those that these need."""
        text = " ".join(str(row) for row in self.rows)
        found: dict[str, str] = {}
        waiting = [text]
        while waiting:
            for name in re.findall(r"[A-Za-z_][\w.]*(?:~\d+)?", waiting.pop()):
                if name in self.lets and name not in found:
                    found[name] = self.lets[name]
                    waiting.append(self.lets[name])
        return {name: value for name, value in found.items() if common.get(name) != value}


def common_names(tree: Tree) -> dict[str, str]:
    """The local names every loader has: the macro ``LLAMA_LOAD_LOCALS``."""
    match = _LOCALS.search(tree.header)
    if match is None:
        raise ValueError("llama-model.h has changed: LLAMA_LOAD_LOCALS is gone")
    walk = Tensors(tree, {})
    names = {name: walk.resolve(value) for name, value in _LOCAL.findall(match[1])}
    # n_expert = hparams.n_expert: the field itself, not a name for it.
    return {name: value for name, value in names.items() if name != value}


def helpers(tree: Tree) -> dict[str, Node]:
    """The helpers as functions that can be walked."""
    found = {}
    for name in HELPERS:
        member = f"llama_model_base::{name}"
        # Left out is the branch for tensors that are to be skipped: it names the same ones.
        nodes = statements(tree.methods[member])
        body = [node for node in nodes if node.text != "flags & TENSOR_SKIP"]
        found[name] = Node("lambda", name, body, parameters=parameters(tree.model, member))
    return found


def tensors(folder: Path) -> dict[str, Any]:
    """The table ``tensors``: ``common`` names, and per architecture ``lets`` and ``rows``."""
    tree = read_tree(folder)
    common, known = common_names(tree), helpers(tree)
    found = {}
    for name, owner in classes(tree):
        walk = Tensors(tree, common)
        walk.functions.update(known)
        walk.run(statements(tree.method(owner, "load_arch_tensors")))
        found[name] = {"lets": walk.used(common), "rows": walk.rows}
    return {"common": common, "architectures": found}
