"""Ways from a template to Python's internals, found in the syntax tree.

Names: the published attacks on unsandboxed renderers (CVE-2024-34359, CVE-2026-5760) and the
escapes listed in Jinja's own change log.
"""

import re
from collections.abc import Iterator
from typing import Any

from jinja2 import nodes

INTERNAL_NAMES = frozenset(
    {
        "mro",
        "func_globals",
        "func_code",
        "gi_frame",
        "gi_code",
        "cr_frame",
        "cr_code",
        "ag_frame",
        "ag_code",
        "f_globals",
        "f_locals",
        "f_builtins",
        "tb_frame",
    }
)
"""Attributes of Python objects that lead out of them and have no underscores."""

GADGET_OBJECTS = frozenset({"lipsum", "cycler", "joiner", "self", "config", "request"})
"""Objects in scope of many environments whose attributes lead to ``os``."""

_DUNDER = re.compile(r"__\w+__")
_FORMAT_REACH = re.compile(r"\{[^{}]*(?:\.|\[)_*\w*[^{}]*__\w+__")

Found = Iterator[tuple[str, int, str]]


def gadgets(tree: nodes.Template) -> Found:
    """Notes ``internals`` (plain), ``folded`` (hidden in pieces), ``reach`` (loading, attr)."""
    yield from _plain(tree)
    yield from _folded(tree)
    for node in tree.find_all((nodes.Include, nodes.Import, nodes.FromImport, nodes.Extends)):
        yield "reach", node.lineno, f"{type(node).__name__.lower()} of another file"
    for use in tree.find_all(nodes.Filter):
        if use.name in ("attr", "b64decode", "from_base64"):
            yield "reach", use.lineno, f"the filter {use.name}"


def _plain(tree: nodes.Template) -> Found:
    for attribute in tree.find_all(nodes.Getattr):
        if _is_internal(attribute.attr):
            yield "internals", attribute.lineno, f"the attribute {attribute.attr}"
        elif isinstance(attribute.node, nodes.Name) and attribute.node.name in GADGET_OBJECTS:
            name = f"{attribute.node.name}.{attribute.attr}"
            yield "internals", attribute.lineno, f"an attribute of a built-in object, {name}"
    for item in tree.find_all(nodes.Getitem):
        if isinstance(item.arg, nodes.Const) and _is_internal(item.arg.value):
            yield "internals", item.lineno, f"the item {item.arg.value}"
    for use in tree.find_all(nodes.Filter):
        for text in _arguments(use):
            if _is_internal(text):
                yield "internals", use.lineno, f"{text} through the filter {use.name}"
    for constant in tree.find_all(nodes.Const):
        if isinstance(constant.value, str) and _FORMAT_REACH.search(constant.value):
            yield "internals", constant.lineno, "a format string that reaches into objects"


def _is_internal(name: Any) -> bool:
    if not isinstance(name, str):
        return False
    return name in INTERNAL_NAMES or _DUNDER.search(name) is not None


def _arguments(use: nodes.Filter) -> Iterator[Any]:
    for argument in use.args:
        if isinstance(argument, nodes.Const):
            yield argument.value
    for keyword in use.kwargs:
        if isinstance(keyword.value, nodes.Const):
            yield keyword.value.value


def _folded(tree: nodes.Template) -> Found:
    """Internal names put together from pieces: joined, added, formatted, replaced, reversed."""
    kinds = (nodes.Add, nodes.Concat, nodes.Mod, nodes.Filter, nodes.Call, nodes.Getitem)
    for node in tree.find_all(kinds):
        text = fold(node)
        if text is not None and _is_internal(text):
            yield "folded", node.lineno, f"{text} put together from pieces"


MOST_FOLDED = 4096
"""Characters of a folded string; longer ones cannot be names."""


def fold(node: nodes.Node, depth: int = 0) -> str | None:
    """The string an expression of constants stands for, or None. Never runs template code."""
    if depth > 30:
        return None
    if isinstance(node, nodes.Const):
        return node.value if isinstance(node.value, str) else None
    if isinstance(node, nodes.Add):
        parts = [fold(node.left, depth + 1), fold(node.right, depth + 1)]
    elif isinstance(node, nodes.Concat):
        parts = [fold(child, depth + 1) for child in node.nodes]
    elif isinstance(node, nodes.Filter):
        return _fold_filter(node, depth)
    elif isinstance(node, nodes.Getitem):
        return _fold_slice(node, depth)
    elif isinstance(node, nodes.Call):
        return _fold_method(node, depth)
    else:
        return None
    if any(part is None for part in parts):
        return None
    joined = "".join(part for part in parts if part is not None)
    return joined if len(joined) <= MOST_FOLDED else None


def _fold_filter(node: nodes.Filter, depth: int) -> str | None:
    inner = node.node
    if node.name == "join" and isinstance(inner, nodes.List | nodes.Tuple):
        pieces = [fold(item, depth + 1) for item in inner.items]
        between = fold(node.args[0], depth + 1) if node.args else ""
        if between is None or any(piece is None for piece in pieces):
            return None
        return between.join(piece for piece in pieces if piece is not None)[:MOST_FOLDED]
    text = None if inner is None else fold(inner, depth + 1)
    if text is None:
        return None
    if node.name == "reverse":
        return text[::-1]
    if node.name in ("lower", "upper"):
        return text.lower() if node.name == "lower" else text.upper()
    if node.name == "replace" and len(node.args) >= 2:
        old, new = fold(node.args[0], depth + 1), fold(node.args[1], depth + 1)
        if old and new is not None:
            return text.replace(old, new)[:MOST_FOLDED]
    return None


def _fold_method(node: nodes.Call, depth: int) -> str | None:
    """``'…'.replace(a, b)``, ``.lower()`` and the like on constants."""
    if not isinstance(node.node, nodes.Getattr):
        return None
    text = fold(node.node.node, depth + 1)
    arguments = [fold(argument, depth + 1) for argument in node.args]
    if text is None or any(argument is None for argument in arguments):
        return None
    plain = [argument for argument in arguments if argument is not None]
    if node.node.attr in ("lower", "upper", "strip") and not plain:
        return str(getattr(text, node.node.attr)())
    if node.node.attr == "replace" and len(plain) == 2 and plain[0]:
        return text.replace(plain[0], plain[1])[:MOST_FOLDED]
    return None


def _fold_slice(node: nodes.Getitem, depth: int) -> str | None:
    text = fold(node.node, depth + 1)
    if text is None or not isinstance(node.arg, nodes.Slice):
        return None
    bounds = []
    for part in (node.arg.start, node.arg.stop, node.arg.step):
        try:
            bounds.append(None if part is None else part.as_const())
        except nodes.Impossible:
            return None
    if any(bound is not None and not isinstance(bound, int) for bound in bounds):
        return None
    return None if bounds[2] == 0 else text[slice(*bounds)]
