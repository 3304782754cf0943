"""Walking a loader of the reference: which statement runs under which conditions, in which loop.

Local names are resolved on the way: every local definition becomes an entry of ``lets``, under
its own name or, where a name is used twice for different things, under ``name~2``.
"""

import re
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager

from ggufhub.rules.tables.refresh.cpp import Node, arguments, closing

_CASTS = (
    (re.compile(r"static_cast<[^<>]*>\s*(?=\()"), ""),
    (re.compile(r"\((?:const\s+)?(?:u?int\d*(?:_t)?|long long|size_t|float|double)\)\s*"), ""),
    (re.compile(r"\b(?:u?int(?:\d+_t)?|size_t|float)\s*(?=\()"), ""),
    (re.compile(r"\bthis\s*->\s*"), ""),
    (re.compile(r"->"), "."),
    (re.compile(r"\b(?:nullptr|NULL|false)\b"), "0"),
    (re.compile(r"\btrue\b"), "1"),
    (re.compile(r"\b(\d+(?:\.\d*)?)[uf]\b"), r"\1"),
    (re.compile(r"\bstd::(?=max|min)"), ""),
    (re.compile(r"\bstd::to_string\b"), "text"),
    (re.compile(r"\.c_str\(\)"), ""),
    (re.compile(r"\bml\.(?:get_weight|get_tensor_meta)\b"), "has"),
    (re.compile(r"\bml\.get_arch\(\)"), "arch"),
)
_NAME = re.compile(r'"[^"]*"|(?<![\w.~])([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*)(?!\w)')
_DECLARED = re.compile(
    r"^(?:(?:const|static|constexpr|struct)\s+)*"
    r"(?P<type>auto|bool|int|float|u?int\d+_t|std::string|ggml_tensor)\s*[*&]?\s*"
    r"\b(?P<name>[A-Za-z_]\w*)\s*(?:=\s*(?P<value>.+)|\(\s*(?P<text>\"[^\"]*\")\s*\))?$"
)
_ASSIGNED = re.compile(r"^(?P<name>[A-Za-z_]\w*)\s*(?P<sign>[|+]?)=(?!=)\s*(?P<value>.+)$")
_LOOP = re.compile(r"^\w+\s+(\w+)\s*=\s*([^;]+);\s*\w+\s*<\s*([^;]+);")

UNKNOWN = "?"
"""An expression that nobody can read: its value is unknown."""

UNKNOWN_RANGE = (UNKNOWN, UNKNOWN)

LAYER = "i"
"""The one name of the loop variable over layers in all expressions."""


class Walk(ABC):
    """Subclasses see each plain statement through ``statement``, in order."""

    def __init__(self, names: dict[str, str]) -> None:
        self.constants = names
        self.lets: dict[str, str] = {}
        self.scopes: list[dict[str, str]] = [{}]
        self.conditions: list[str] = []
        self.range: tuple[str, str] | None = None
        self.loop_depth = 0
        self.functions: dict[str, Node] = {}
        self.raw: dict[str, str] = {}

    @abstractmethod
    def statement(self, text: str) -> None:
        """A plain statement that is no definition of a local name."""

    def condition(self, text: str) -> str:
        """A condition as an expression."""
        return self.resolve(text)

    def run(self, nodes: list[Node]) -> None:
        """Walk the statements of one block."""
        before = len(self.conditions)
        for node in nodes:
            if node.kind == "if":
                self._branches(node)
            elif node.kind == "for":
                self._loop(node)
            elif node.kind == "switch":
                self._switch(node)
            elif node.kind == "lambda":
                self.functions[node.text] = node
            elif node.kind == "catch":
                with self._scope(UNKNOWN):
                    self.run(node.body)
            elif node.kind == "block":
                with self._scope():
                    self.run(node.body)
            elif node.kind == "simple":
                self._plain(node.text)
        del self.conditions[before:]

    @contextmanager
    def _scope(self, *conditions: str) -> Iterator[None]:
        before = len(self.conditions)
        self.scopes.append({})
        self.conditions += conditions
        yield
        del self.conditions[before:]
        self.scopes.pop()

    def _branches(self, node: Node) -> None:
        condition = self.condition(node.text)
        with self._scope(condition):
            self.run(node.body)
        if node.otherwise:
            with self._scope(f"!({condition})"):
                self.run(node.otherwise)
        elif node.body and node.body[-1].text in ("continue", "return"):
            self.conditions.append(f"!({condition})")

    def _loop(self, node: Node) -> None:
        match, outer, depth = _LOOP.match(node.text), self.range, self.loop_depth
        self.loop_depth = len(self.scopes)
        with self._scope():
            if match is not None and outer is None:
                self.range = (self.resolve(match[2]), self.resolve(match[3]))
                self.scopes[-1][match[1]] = LAYER
            else:
                self.range = UNKNOWN_RANGE
                if match is not None:
                    self.scopes[-1][match[1]] = UNKNOWN
            self.run(node.body)
        self.range, self.loop_depth = outer, depth

    def _switch(self, node: Node) -> None:
        subject, fresh = self.condition(node.text), True
        labels: list[str] = []
        for part in node.body:
            if part.kind == "label":
                labels = [*([] if fresh else labels), part.text]
                fresh = False
                continue
            fresh = True
            if part.text != "break" and "default" not in labels:
                test = " || ".join(f"{subject} == {self.resolve(label)}" for label in labels)
                with self._scope(test):
                    self.run([part])

    def _plain(self, text: str) -> None:
        for name, function in self.functions.items():
            match = re.search(rf"(?<![\w.]){name}\s*\(", text)
            if match is not None:
                end = closing(text, match.end() - 1)
                self.inline(function, arguments(text[match.end() : end]))
                return
        self.statement(text)

    def inline(self, function: Node, given: list[str]) -> None:
        """Walk the body of a function called with the arguments ``given``."""
        resolved = [self.resolve(argument) for argument in given]
        with self._scope():
            self.scopes[-1].update(zip(function.parameters, resolved, strict=True))
            self.run(function.body)

    def define(self, text: str) -> bool:
        """Take in a definition of a local name, or a change of one; False for anything else."""
        match = _DECLARED.match(text)
        if match is not None:
            self.declare(match["name"], match["value"] or match["text"] or "0")
            return True
        match = _ASSIGNED.match(text)
        if match is None or self._known(match["name"]) is None:
            return False
        name, old = match["name"], self._known(match["name"])
        value = self.resolve(match["value"])
        if match["sign"]:
            value = f"({old}) {match['sign']} ({value})"
        depth = max(number for number, scope in enumerate(self.scopes) if name in scope)
        if depth < self.loop_depth:
            value = UNKNOWN  # it gathers something from round to round
        elif depth < len(self.scopes) - 1:
            value = f"({self.all_conditions()}) ? ({value}) : ({old})"
        self.scopes[depth][name] = self._unique(name, value)
        return True

    def declare(self, name: str, value: str) -> None:
        """A local name for an expression, in the innermost scope."""
        self.raw[name] = value
        self.scopes[-1][name] = self._unique(name, self.resolve(value))

    def _known(self, name: str) -> str | None:
        return next((scope[name] for scope in reversed(self.scopes) if name in scope), None)

    def _unique(self, name: str, value: str) -> str:
        number, unique = 1, name
        while self.lets.get(unique, value) != value or value == unique:
            number += 1
            unique = f"{name}~{number}"
        self.lets[unique] = value
        return unique

    def all_conditions(self) -> str:
        return " && ".join(f"({condition})" for condition in self.conditions) or "1"

    def resolve(self, text: str) -> str:
        """An expression with casts gone and local names replaced by those of ``lets``."""
        for pattern, replacement in _CASTS:
            text = pattern.sub(replacement, text)
        text = _NAME.sub(self._replacement, text)
        return " ".join(text.split())

    def _replacement(self, match: re.Match[str]) -> str:
        name = match[1]
        if name is None:
            return match[0]
        if name in self.constants:
            return f'"{self.constants[name]}"'
        known = self._known(name)
        if known is None:
            return name
        simple = re.fullmatch(r'[\w.~]+|"[^"]*"', known)
        return known if simple else f"({known})"
