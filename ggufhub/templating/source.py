"""Look at a template's source without running it: gadgets, telling text, what engines refuse."""

import re
from collections.abc import Iterator
from typing import Any

from jinja2 import Environment, nodes

from ggufhub.templating.engines import refused_by_llama_cpp
from ggufhub.templating.gadgets import gadgets

KNOWN_VARIABLES = frozenset(
    {
        "add_generation_prompt",
        "add_vision_id",
        "available_tools",
        "bos_token",
        "builtin_tools",
        "caller",
        "clear_thinking",
        "cls_token",
        "continue_final_message",
        "controls",
        "custom_tools",
        "cycler",
        "date_string",
        "datetime",
        "dict",
        "documents",
        "enable_citations",
        "enable_thinking",
        "eos_token",
        "false",
        "functions",
        "joiner",
        "kwargs",
        "loop",
        "mask_token",
        "messages",
        "namespace",
        "none",
        "pad_token",
        "raise_exception",
        "range",
        "reasoning_effort",
        "response_format",
        "self",
        "sep_token",
        "strftime_now",
        "thinking",
        "tools",
        "true",
        "unk_token",
        "varargs",
    }
)
"""Variables that some runtime gives to templates, counted over 190 real ones."""

_LINK = re.compile(
    r"https?://[^\s\"'<>]{4,}|data:[a-z]+/[a-z]+;|<(?:script|iframe)\b|\b\d{1,3}(?:\.\d{1,3}){3}\b",
    re.IGNORECASE,
)
_BASE64 = re.compile(r"[A-Za-z0-9+/]{40,}={0,2}")
_IDIOM = re.compile(
    r"ignore (?:all )?(?:previous|prior|above)|do not (?:reveal|mention|disclose|tell)"
    r"|disregard (?:all|any|previous)|never (?:reveal|mention|disclose)",
    re.IGNORECASE,
)

_TEXT = (
    ("link", _LINK, "a link, address or markup"),
    ("encoded", _BASE64, "a long run of base64"),
    ("idiom", _IDIOM, "a phrase of an instruction"),
)


def look(environment: Environment, text: str, tree: nodes.Template) -> list[dict[str, Any]]:
    """Notes about one template: ``what``, ``line`` and ``text`` each, in source order."""
    notes = [
        *_telling_text(text),
        *_unknown_filters(environment, tree),
        *gadgets(tree),
        *refused_by_llama_cpp(environment, text, tree),
        *_unknown_variables(tree),
        *_date_branches(tree),
    ]
    return sorted(
        ({"what": what, "line": line, "text": said} for what, line, said in notes),
        key=lambda note: note["line"],
    )


Found = Iterator[tuple[str, int, str]]


def _telling_text(text: str) -> Found:
    for what, pattern, said in _TEXT:
        for match in pattern.finditer(text):
            line = text.count("\n", 0, match.start()) + 1
            yield what, line, f"{said}: {match[0][:80]}"


def _unknown_filters(environment: Environment, tree: nodes.Template) -> Found:
    """Filters and tests nobody provides, in branches that compiling does not look into."""
    for kind, known in ((nodes.Filter, environment.filters), (nodes.Test, environment.tests)):
        for use in tree.find_all(kind):
            if use.name not in known:
                yield "filter", use.lineno, f"nothing is called {use.name} among {kind.__name__}s"


def _unknown_variables(tree: nodes.Template) -> Found:
    """Names that are read and that neither the template nor a known runtime sets."""
    stored = {name.name for name in tree.find_all(nodes.Name) if name.ctx in ("store", "param")}
    stored |= {macro.name for macro in tree.find_all(nodes.Macro)}
    stored |= {reference.name for reference in tree.find_all(nodes.NSRef)}
    seen: set[str] = set()
    for name in tree.find_all(nodes.Name):
        if name.ctx != "load" or name.name in stored or name.name in KNOWN_VARIABLES:
            continue
        if name.name not in seen:
            seen.add(name.name)
            yield "variable", name.lineno, name.name


def _date_branches(tree: nodes.Template) -> Found:
    """Conditions that depend on the date: the template behaves differently some day."""
    branches: list[nodes.If | nodes.CondExpr] = list(tree.find_all(nodes.If))
    branches += tree.find_all(nodes.CondExpr)
    for branch in branches:
        for call in branch.test.find_all(nodes.Call):
            if isinstance(call.node, nodes.Name) and call.node.name == "strftime_now":
                yield "date", branch.lineno, "a condition on today's date"
