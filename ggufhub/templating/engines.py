"""What the engine of llama.cpp (``common/jinja`` at 0c1e57098) refuses in a template.

Measured with 158 snippets in three engines; a test replays them. ``refused`` means the template
does not parse there and the server does not start; ``risky`` that a construct fails when it is
reached, which may be never.
"""

from collections.abc import Iterator

from jinja2 import Environment, nodes

_STATEMENTS = {
    nodes.With: "with",
    nodes.Block: "block",
    nodes.ScopedEvalContextModifier: "autoescape",
    nodes.Include: "include",
    nodes.Import: "import",
    nodes.FromImport: "from … import",
    nodes.Extends: "extends",
}

_OPERATORS = {nodes.FloorDiv: "//", nodes.Pow: "**"}

_FILTERS = frozenset(
    {
        "groupby",
        "batch",
        "sum",
        "round",
        "unique",
        "truncate",
        "wordcount",
        "wordwrap",
        "center",
        "urlencode",
        "escape",
        "e",
        "striptags",
        "xmlattr",
        "pprint",
        "random",
        "attr",
    }
)

_METHODS = frozenset(
    {
        "find",
        "index",
        "count",
        "join",
        "isdigit",
        "removeprefix",
        "removesuffix",
        "partition",
        "splitlines",
        "zfill",
    }
)

_LOOP_METHODS = frozenset({"cycle", "changed"})

Found = Iterator[tuple[str, int, str]]


def refused_by_llama_cpp(environment: Environment, text: str, tree: nodes.Template) -> Found:
    """Notes ``refused`` and ``risky``."""
    for kind, word in _STATEMENTS.items():
        for node in tree.find_all(kind):
            yield "refused", node.lineno, f"the statement {word}"
    for operator, sign in _OPERATORS.items():
        for use in tree.find_all(operator):
            yield "refused", use.lineno, f"the operator {sign}"
    for loop in tree.find_all(nodes.For):
        if loop.recursive:
            yield "refused", loop.lineno, "a recursive loop"
    yield from _refused_tokens(environment, text)
    yield from _risky(tree)


def _refused_tokens(environment: Environment, text: str) -> Found:
    """What only the source shows: raw blocks, `{%+`, odd numbers, escapes in strings."""
    for line, kind, value in environment.lex(text):
        if kind == "raw_begin":
            yield "refused", line, "the statement raw"
        elif kind in ("block_begin", "variable_begin") and value.endswith("+"):
            yield "refused", line, f"the sign + in {value}"
        elif kind in ("integer", "float") and _odd_number(value):
            yield "refused", line, f"the number {value}"
        elif kind == "string" and ("\\u" in value or "\\x" in value):
            yield "refused", line, f"the escape in {value[:40]}"


def _odd_number(value: str) -> bool:
    return "_" in value or "e" in value.lower() or value[:2].lower() in ("0x", "0o", "0b")


def _risky(tree: nodes.Template) -> Found:
    for comparison in tree.find_all(nodes.Compare):
        if len(comparison.ops) > 1:
            yield "risky", comparison.lineno, "a chained comparison"
    for use in tree.find_all(nodes.Filter):
        if use.name in _FILTERS:
            yield "risky", use.lineno, f"the filter {use.name}"
        elif use.name == "map" and use.args:
            yield "risky", use.lineno, "map with a filter"
        elif use.name == "tojson" and any(keyword.key == "sort_keys" for keyword in use.kwargs):
            yield "risky", use.lineno, "tojson with sort_keys"
    for modulo in tree.find_all(nodes.Mod):
        if isinstance(modulo.left, nodes.Const) and isinstance(modulo.left.value, str):
            yield "risky", modulo.lineno, "formatting with %"
    for call in tree.find_all(nodes.Call):
        if isinstance(call.node, nodes.Getattr):
            owner, name = call.node.node, call.node.attr
            on_loop = isinstance(owner, nodes.Name) and owner.name == "loop"
            if name in _METHODS or (on_loop and name in _LOOP_METHODS):
                yield "risky", call.lineno, f"the method {name}()"
