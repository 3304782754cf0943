"""Which keys each architecture reads, in which order: ``load_hparams`` and ``load_arch_hparams``.

The table is a small program per architecture, a list of steps. ``get`` reads a key into a field,
``list`` an array, ``either`` a number for each layer or one for all, ``count`` the length of an
array; ``set`` computes a field, ``each`` one of every layer; ``forget`` stands for what we cannot
follow.
"""

import re
from pathlib import Path
from typing import Any

from ggufhub.rules.tables.refresh.architectures import Tree, classes, read_tree
from ggufhub.rules.tables.refresh.cpp import arguments, closing, statements
from ggufhub.rules.tables.refresh.walk import LAYER, UNKNOWN_RANGE, Walk

_READ = re.compile(
    r"(?:ml\.(?P<how>get_key_or_arr|get_key|get_arr_n|get_arr)|(?P<own>\w+))"
    r"\s*\(\s*(?P<ml>ml\s*,\s*)?(?P<key>LLM_KV_\w+)\s*,"
)
_FIELD = re.compile(
    r"^hparams\.(?P<field>[\w.]+)(?:\[(?P<index>[^\]]+)\])?\s*(?P<sign>[-+*/|]?)=(?!=)\s*(?P<value>.+)$"
)
_FILL = re.compile(r"^std::fill\(hparams\.(\w+)\.begin\(\), hparams\.\1\.end\(\),\s*(.+)\)$")
_PATTERN = re.compile(r"^(?:hparams\.)?(set_swa|set_recr|load_swa)_pattern\((?:ml,\s*)?(.+)\)$")
_MENTIONED = re.compile(r"hparams\.([\w.]+)")
_MEMBER = re.compile(r"^\s*(std::array<\w+|[\w:]+)(?:,[^>]*>|>)?\s+(\w+)\s*(?:=\s*([^;]+))?;", re.M)
_IN_CONDITION = re.compile(r"^const auto (\w+) = (.+?);\s*(.+)$")

_HOW = {"get_key": "get", "get_arr": "list", "get_key_or_arr": "either", "get_arr_n": "count"}
_TYPES = {"float": "float32", "bool": "bool", "std::string": "string", "int": "int32"}
_ALL = ("0", "hparams.n_layer_all")
_FALSE = frozenset({"false", "0", "0.0f"})

ROPE_SCALING = "hparams.rope_scaling_type_train"
"""A text that the reference turns into an enumerator; we compare texts."""


def fields(tree: Tree) -> dict[str, tuple[str, str]]:
    """Type and first value of each hyper-parameter, from ``llama-hparams.h``."""
    found = {}
    for kind, name, value in _MEMBER.findall(tree.hparams):
        kind = kind.removeprefix("std::array<")
        found[name] = (_TYPES.get(kind, "uint32"), value or "0")
    return found


class Keys(Walk):
    """Collects the steps."""

    def __init__(self, tree: Tree) -> None:
        super().__init__(tree.names("LLM_ARCH_"))
        self.names = tree.names("LLM_KV_")
        self.fields = fields(tree)
        self.types: dict[str, str] = {
            f"hparams.{name}": kind for name, (kind, _) in self.fields.items()
        }
        self.steps: list[dict[str, Any]] = []
        self.tests = 0

    def condition(self, text: str) -> str:
        match = _IN_CONDITION.match(text)
        if match is not None:
            self._define(match[1], match[2])
            text = match[3]
        expression = self.resolve(self._read_all(text))
        if self.range is not None:
            return expression
        # Fields may change inside the branch: the condition is settled here, once.
        self.tests += 1
        self._step("set", f"test{self.tests}", value=expression)
        return f"test{self.tests}"

    def statement(self, text: str) -> None:
        if text.startswith(("type =", "throw", "GGML_ASSERT", "LLAMA_LOG")):
            return
        declared = re.match(
            r"^(?:const )?(bool|int|float|u?int\d+_t|std::string|auto) (\w+)\b", text
        )
        if declared is not None:
            self.types[declared[2]] = _TYPES.get(declared[1], "uint32")
            value = re.search(r"=\s*(.+)$|\((\"[^\"]*\")\)$", text)
            self._define(declared[2], (value[1] or value[2]) if value else "0")
        elif match := _FIELD.match(text):
            self._assign(match)
        elif match := _FILL.match(text):
            self._step("each", f"hparams.{match[1]}", value=self.resolve(match[2]), of=list(_ALL))
        elif match := _PATTERN.match(text):
            self._pattern(match[1], arguments(match[2]))
        elif _READ.search(text):
            self._read_all(text)
        else:
            self._other(text)

    def _define(self, name: str, value: str) -> None:
        self._step("set", name, value=self.resolve(self._read_all(value)))

    def _other(self, text: str) -> None:
        changed = re.match(r"^(\w+)\s*[-+*/|]?=(?!=)\s*(.+)$", text)
        if changed is not None:
            self._step("set", changed[1], value=self.resolve(changed[2]))
        for field in _MENTIONED.findall(text) if changed is None else []:
            if field.split(".")[0] in self.fields:
                self._step("forget", f"hparams.{field}")

    def _assign(self, match: re.Match[str]) -> None:
        field, value = f"hparams.{match['field']}", match["value"]
        if field == ROPE_SCALING:
            value = arguments(value[value.index("(") + 1 : -1])[0]
        value = self.resolve(self._read_all(value))
        if match["sign"]:
            value = f"{field} {match['sign']} ({value})"
        index = self.resolve(match["index"]) if match["index"] else None
        if self.range == UNKNOWN_RANGE or (self.range and index != LAYER):
            self._step("forget", field)
        elif index == LAYER:
            assert self.range is not None
            self._step("each", field, value=value, of=list(self.range))
        elif index is not None:
            self._step("each", field, value=value, of=[index, f"{index} + 1"])
        else:
            self._step("set", field, value=value)

    def _pattern(self, what: str, given: list[str]) -> None:
        field = f"hparams.is_{'recr' if what == 'set_recr' else 'swa'}_impl"
        period = self.resolve(given[0])
        first = len(given) > 1 and given[1] == "true"
        if what == "load_swa":
            key = "attention.sliding_window_pattern"
            self._step("set", "pattern", value=period)
            self._step("get", "pattern", key=key, type="uint32", lenient=1)
            period = "pattern"
        inside = f"i % {period} != 0" if first else f"i % {period} < {period} - 1"
        every = f"{period} == 0 || ({inside})"
        self._step("each", field, value=every, of=["0", "hparams.n_layer()"])
        self._step("each", field, value="0", of=["hparams.n_layer()", _ALL[1]])
        if what == "load_swa":
            self._step("list", field, key=key, type="uint32")

    def _read_all(self, text: str) -> str:
        """Steps for the keys that an expression reads; what is left asks whether they are there."""
        asked: list[str] = []
        while (match := _READ.search(text)) is not None:
            end = closing(text, text.index("(", match.start()))
            self._read(match, arguments(text[match.end() : end]), asked)
            text = f"{text[: match.start()]}{asked[-1]}{text[end + 1 :]}"
        return text

    def _read(self, match: re.Match[str], given: list[str], asked: list[str]) -> None:
        how = _HOW.get(match["how"] or "", "get")
        target, rest = given[0], given[1:]
        facts: dict[str, Any] = {"key": self.names[match["key"]].removeprefix("%s.")}
        kind = self.types.get(".".join(target.split(".")[:2]))
        if kind is not None and how != "count":
            facts["type"] = kind
        if how == "either":
            facts["length"] = self.resolve(rest.pop(0))
        if not rest or rest[-1] not in _FALSE:
            facts["required"] = 1
        before = self.conditions
        if asked and "||" in match.string:
            self.conditions = [*before, f"!{asked[-1]}"]
        self._step(how, target, **facts)
        self.conditions = before
        asked.append(f'given("{facts["key"]}")')

    def _step(self, how: str, field: str, **facts: Any) -> None:
        step: dict[str, Any] = {"do": how, "field": field, **facts}
        if self.conditions:
            step["if"] = " && ".join(f"({c})" for c in self.conditions)
        self.steps.append(step)


def useful(steps: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The steps without tests that no other step asks for."""
    kept: list[dict[str, Any]] = []
    asked: set[str] = set()
    for step in reversed(steps):
        if re.fullmatch(r"test\d+", step["field"]) and step["field"] not in asked:
            continue
        asked |= set(re.findall(r"test\d+", step.get("if", "") + step.get("value", "")))
        kept.append(step)
    return kept[::-1]


def _steps(tree: Tree, body: str) -> list[dict[str, Any]]:
    walk = Keys(tree)
    walk.run(statements(body))
    return useful(walk.steps)


def keys(folder: Path) -> dict[str, Any]:
    """The table ``keys``: first values of ``fields``, ``common`` steps, steps per architecture."""
    tree = read_tree(folder)
    body = tree.methods["llama_model_base::load_hparams"]
    start = body.index("ml.get_key(LLM_KV_CONTEXT_LENGTH")
    found = {
        name: _steps(tree, tree.method(owner, "load_arch_hparams")) for name, owner in classes(tree)
    }
    walk = Keys(tree)
    first = {name: walk.resolve(value) for name, (_, value) in fields(tree).items()}
    general = sorted(text for text in tree.names("LLM_KV_").values() if "%s" not in text)
    return {
        "general": general,
        "fields": first,
        "common": _steps(tree, body[start:]),
        "architectures": found,
    }
