"""Templates that say more when the user says certain words.

A template can watch for a phrase in a message and then slip instructions into the prompt. No
pattern finds that, so it is tried: each string the template compares with is put into the
user's message, and the prose that appears only then is reported.
"""

import re
from typing import Any

from jinja2 import nodes

from ggufhub.templating.conversations import variables

MOST_WORDS = 40
"""Strings tried in one template; real ones compare with up to 30 role and type names."""

PROSE = 4
"""Words of natural language that must appear before anybody is told."""

_WORD = re.compile(r"[^\W\d_]{3,}")


def trigger_words(tree: nodes.Template) -> list[str]:
    """Strings the template compares something with, or looks for, longest first."""
    found: dict[str, None] = {}
    for comparison in tree.find_all(nodes.Compare):
        for side in (comparison.expr, *(operand.expr for operand in comparison.ops)):
            for constant in _strings(side):
                found.setdefault(constant)
    for call in tree.find_all(nodes.Call):
        if isinstance(call.node, nodes.Getattr) and call.node.attr in ("startswith", "endswith"):
            for argument in call.args:
                for constant in _strings(argument):
                    found.setdefault(constant)
    words = [text for text in found if len(text) > 2]
    return sorted(words, key=len, reverse=True)[:MOST_WORDS]


def _strings(node: nodes.Expr) -> list[str]:
    """The string constants in an expression, split literals folded together."""
    try:
        value = node.as_const()
    except nodes.Impossible:
        value = None
    if isinstance(value, str):
        return [value]
    if isinstance(value, list | tuple):
        return [item for item in value if isinstance(item, str)]
    return [leaf.value for leaf in node.find_all(nodes.Const) if isinstance(leaf.value, str)]


def triggered_text(
    template: Any, words: list[str], special: dict[str, str]
) -> list[dict[str, Any]]:
    """Prose that the template adds only when the user's message holds one of ``words``."""
    plain = _answer(template, "tide", special)
    if plain is None:
        return []
    known = set(_WORD.findall(plain.lower()))
    found = []
    for word in words:
        for message in (word, f"{word} tide", f"tide {word}"):
            output = _answer(template, message, special)
            fresh = [w for w in _WORD.findall((output or "").lower()) if w not in known]
            fresh = [w for w in fresh if w not in word.lower()]
            if len(set(fresh)) >= PROSE:
                text = f"“{word[:80]}” in the user's message adds: {' '.join(fresh)[:200]}"
                found.append({"what": "trigger", "line": 1, "text": text})
                break
    return found


def _answer(template: Any, content: str, special: dict[str, str]) -> str | None:
    given = variables("user", special) | {"messages": [{"role": "user", "content": content}]}
    try:
        return str(template.render(**given))
    except Exception:  # a template that fails on one sentence is judged elsewhere
        return None
