"""Strings from files, made safe to look at.

A file decides what its keys, tensor names and tokens say, and may say things that cannot be seen
or that turn the reading order round. Every such character is shown as ``\\u{202E}``; nothing is
dropped or normalised, because that would hide what the file holds.
"""

import re
from typing import Any

from django.utils.html import conditional_escape, escape
from django.utils.safestring import SafeString, mark_safe

HIDDEN = (
    "\x00-\x1f\x7f-\xa0\xad"  # C0, DEL, C1, no-break space, soft hyphen
    "\u034f\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u115f\u1160\u1680\u17b4\u17b5"
    "\u180b-\u180f\u2000-\u200f\u2028-\u202f\u205f-\u206f\u2800\u3000\u3164\ufe00-\ufe0f\ufeff"
    "\uffa0\ufff9-\ufffb\ud800-\udfff"
    "\U000110bd\U000110cd\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    "\U000e0000-\U000e0fff"
)
"""Characters without a picture of their own, as the inside of a character class: controls,
format and bidirectional marks, every space but U+0020, blank fillers, variation selectors,
tags and lone surrogates."""

_ONE_LINE = re.compile(f"([{HIDDEN}])\\1*")
_MANY_LINES = re.compile(f"((?![\\n\\t])[{HIDDEN}])\\1*")

HEAD = 80
"""Characters of a long value that stand for it in a row."""


def head(text: str) -> str:
    """The start of a long value, on one line."""
    return text[:HEAD].split("\n", 1)[0]


def visible(text: str) -> str:
    """``text`` with hidden characters written out: for titles, attributes and plain text."""
    return _ONE_LINE.sub(_code, text)


def visible_html(text: str, *, lines: bool = False) -> SafeString:
    """``text`` escaped for HTML, hidden characters in a styled span.

    With ``lines`` a line feed and a tab keep their meaning, for blocks set in ``pre-wrap``.
    """
    pattern = _MANY_LINES if lines else _ONE_LINE
    shown = pattern.sub(lambda run: f'<span class="esc">{_code(run)}</span>', escape(text))
    return mark_safe(shown)  # safe: escaped above; the pattern adds only digits


def foreign_html(value: object, *, lines: bool = False) -> SafeString:
    """Any value of a report inside ``<bdi>``, so that it cannot turn its surroundings round.

    A string that is not UTF-8 arrives as ``{"b64", "why", "text"}`` and is shown by its text, an
    array inside an array as ``{"count", "first"}``.
    """
    if isinstance(value, dict):
        value = _text_of(value)
    if isinstance(value, bool):
        value = "true" if value else "false"
    is_text = isinstance(value, str)
    shown = visible_html(value, lines=lines) if is_text else conditional_escape(value)
    return mark_safe(f"<bdi>{shown}</bdi>")  # safe: both branches are escaped


def _text_of(value: dict[str, Any]) -> str:
    if "first" not in value:
        return str(value.get("text") or value.get("b64") or "")
    shown = [_text_of(item) if isinstance(item, dict) else str(item) for item in value["first"]]
    more = ", …" if value["count"] > len(shown) else ""
    return f"[{', '.join(shown)}{more}]"


def _code(run: re.Match[str]) -> str:
    """``\\u{000A}``, or ``\\u{000A}×31`` for a run: vocabularies hold long ones."""
    code = f"\\u{{{ord(run[1]):04X}}}"
    return code if len(run[0]) == 1 else f"{code}\u00d7{len(run[0])}"
