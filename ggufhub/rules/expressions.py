"""Expressions of the tables: arithmetic on exact ints, with "unknown" where a name has no value.

They are the C++ expressions of the reference, less their casts. Nothing here runs code: a text
becomes a small tree once, and the tree is walked. ``None`` is the unknown value; it spreads
through arithmetic, and through ``&&``, ``||`` and ``?:`` only where it decides.
"""

import re
from collections.abc import Callable
from functools import cache
from typing import Any, Protocol

Value = int | float | str | list[Any] | None

Node = tuple[Any, ...]

LARGEST = 1 << 128
"""Beyond any product of four dimensions; larger results are unknown, so nothing grows."""

_TOKEN = re.compile(
    r"\s*(?:(?P<number>\d+(?:\.\d*)?(?:[eE][-+]?\d+)?)|(?P<text>\"[^\"]*\")"
    r"|(?P<name>[A-Za-z_]\w*(?:~\d+)?(?:\.[A-Za-z_]\w*)*)"
    r"|(?P<sign>&&|\|\||[=!<>]=|[-+*/%<>!&|?:()\[\],]))"
)

_RANK = {
    "||": 1,
    "&&": 2,
    "|": 3,
    "&": 4,
    **dict.fromkeys(("==", "!="), 5),
    **dict.fromkeys(("<", "<=", ">", ">="), 6),
    **dict.fromkeys(("+", "-"), 7),
    **dict.fromkeys(("*", "/", "%"), 8),
}
"""Binary operators of C++ and how tightly they bind."""


class Scope(Protocol):
    """Where names get their values."""

    def name(self, name: str) -> Value: ...

    def call(self, name: str, arguments: list[Value]) -> Value: ...


@cache
def parse(text: str) -> Node:
    """The tree of an expression; the tree of the unknown value where it cannot be read."""
    try:
        return _Parser(text).whole()
    except (ValueError, IndexError, RecursionError):
        return ("unknown",)


def evaluate(text: str, scope: Scope) -> Value:
    """The value of an expression; None where it is unknown."""
    return _walk(parse(text), scope)


class _Parser:
    def __init__(self, text: str) -> None:
        self.tokens: list[tuple[str, str]] = []
        position, text = 0, text.rstrip()
        while position < len(text):
            match = _TOKEN.match(text, position)
            if match is None or match.lastgroup is None:
                raise ValueError(text)
            self.tokens.append((match.lastgroup, match[match.lastgroup]))
            position = match.end()
        self.at = 0

    def whole(self) -> Node:
        node = self.choice()
        if self.at != len(self.tokens):
            raise ValueError(self.tokens[self.at])
        return node

    def sign(self, *signs: str) -> str | None:
        if self.at < len(self.tokens) and self.tokens[self.at] in [("sign", s) for s in signs]:
            self.at += 1
            return self.tokens[self.at - 1][1]
        return None

    def expect(self, sign: str) -> None:
        if self.sign(sign) is None:
            raise ValueError(f"{sign} expected")

    def choice(self) -> Node:
        condition = self.binary(1)
        if self.sign("?") is None:
            return condition
        chosen = self.choice()
        self.expect(":")
        return ("?", condition, chosen, self.choice())

    def binary(self, rank: int) -> Node:
        if rank > 8:
            return self.unary()
        left = self.binary(rank + 1)
        signs = [sign for sign, level in _RANK.items() if level == rank]
        while (found := self.sign(*signs)) is not None:
            left = (found, left, self.binary(rank + 1))
        return left

    def unary(self) -> Node:
        found = self.sign("!", "-", "+")
        return self.postfix() if found is None else ("unary", found, self.unary())

    def postfix(self) -> Node:
        kind, text = self.tokens[self.at]
        self.at += 1
        if kind == "number":
            return ("value", float(text) if re.search(r"[.eE]", text) else int(text))
        if kind == "text":
            return ("value", text[1:-1])
        if text == "(":
            node = self.choice()
            self.expect(")")
        elif kind == "name":
            node = ("call", text, self.arguments()) if self.sign("(") else ("name", text)
        else:
            raise ValueError(text)
        while self.sign("["):
            node = ("at", node, self.choice())
            self.expect("]")
        return node

    def arguments(self) -> list[Node]:
        found: list[Node] = []
        while self.sign(")") is None:
            found.append(self.choice())
            self.sign(",")
        return found


def _walk(node: Node, scope: Scope) -> Value:
    kind = node[0]
    if kind == "value":
        found: Value = node[1]
        return found
    if kind == "name":
        return scope.name(node[1])
    if kind == "call":
        return scope.call(node[1], [_walk(argument, scope) for argument in node[2]])
    if kind in _LAZY:
        return _LAZY[kind](node, scope)
    if kind == "unary":
        return _unary(node[1], _walk(node[2], scope))
    if kind in _EAGER:
        return _binary(kind, _walk(node[1], scope), _walk(node[2], scope))
    return None


def _choice(node: Node, scope: Scope) -> Value:
    condition = _walk(node[1], scope)
    if condition is None:
        first, second = _walk(node[2], scope), _walk(node[3], scope)
        return first if first == second else None
    return _walk(node[2] if condition else node[3], scope)


def _both(node: Node, scope: Scope) -> Value:
    left, right = _walk(node[1], scope), _walk(node[2], scope)
    if left is None or right is None:
        known = left if right is None else right
        return None if known is None or known else 0
    return int(bool(left) and bool(right))


def _either(node: Node, scope: Scope) -> Value:
    left, right = _walk(node[1], scope), _walk(node[2], scope)
    if left is None or right is None:
        return 1 if left or right else None
    return int(bool(left) or bool(right))


def _element(node: Node, scope: Scope) -> Value:
    values, index = _walk(node[1], scope), _walk(node[2], scope)
    if not isinstance(values, list) or not isinstance(index, int):
        return None
    found: Value = values[index] if 0 <= index < len(values) else None
    return found


_LAZY: dict[str, Callable[[Node, Scope], Value]] = {
    "?": _choice,
    "&&": _both,
    "||": _either,
    "at": _element,
}

_EAGER: dict[str, Callable[[Any, Any], Any]] = {
    "==": lambda a, b: int(a == b),
    "!=": lambda a, b: int(a != b),
    "<": lambda a, b: int(a < b),
    "<=": lambda a, b: int(a <= b),
    ">": lambda a, b: int(a > b),
    ">=": lambda a, b: int(a >= b),
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: _divide(a, b),
    "%": lambda a, b: a % b if a >= 0 and b > 0 else None,
    "&": lambda a, b: a & b,
    "|": lambda a, b: a | b,
}


def _divide(left: Any, right: Any) -> Any:
    """C++ division: of ints it cuts off towards zero."""
    if right == 0:
        return None
    if isinstance(left, float) or isinstance(right, float):
        return left / right
    quotient = abs(left) // abs(right)
    return quotient if (left < 0) == (right < 0) else -quotient


def _binary(sign: str, left: Value, right: Value) -> Value:
    texts = isinstance(left, str), isinstance(right, str)
    if left is None or right is None or isinstance(left, list) or isinstance(right, list):
        return None
    if any(texts) and not (all(texts) and sign in ("==", "!=", "+")):
        return None
    try:
        found: Value = _EAGER[sign](left, right)
    except (TypeError, OverflowError):
        return None
    return None if isinstance(found, int) and abs(found) > LARGEST else found


def _unary(sign: str, value: Value) -> Value:
    if value is None or isinstance(value, list):
        return None
    if sign == "!":
        return int(not value)
    if isinstance(value, str):
        return None
    return -value if sign == "-" else value
