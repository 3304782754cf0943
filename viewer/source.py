"""Template source as numbered lines with Jinja's own marks set apart."""

import re
from dataclasses import dataclass

from django.utils.safestring import SafeString, mark_safe

from viewer.text import visible_html

MOST_LINES = 4_000
"""The longest real template known has about 500 lines."""
MOST_CHARACTERS = 400_000

_TAG = re.compile(r"\{%.*?%\}|\{\{.*?\}\}|\{#.*?#\}", re.DOTALL)
_CLASSES = {"{%": "j-tag", "{{": "j-out", "{#": "j-note"}


@dataclass(frozen=True, slots=True)
class Line:
    """One line: its number from 1, its markup, and the findings that point at it."""

    number: int
    html: SafeString
    findings: list[dict]


def numbered(text: str, findings: list[dict]) -> tuple[list[Line], bool]:
    """The first lines of ``text``, and whether more were left off."""
    cut = text[:MOST_CHARACTERS]
    by_line: dict[int, list[dict]] = {}
    for finding in findings:
        by_line.setdefault(finding["place"].get("line") or 0, []).append(finding)
    rows = _split(cut)
    lines = [
        Line(number, mark_safe("".join(parts)), by_line.get(number, []))  # escaped in _append
        for number, parts in enumerate(rows[:MOST_LINES], 1)
    ]
    return lines, len(cut) < len(text) or len(rows) > MOST_LINES


def _split(text: str) -> list[list[str]]:
    """Lines as lists of escaped markup; a mark that spans lines is closed and opened again."""
    rows: list[list[str]] = [[]]
    at = 0
    for match in _TAG.finditer(text):
        _append(rows, text[at : match.start()], "")
        _append(rows, match[0], _CLASSES[match[0][:2]])
        at = match.end()
    _append(rows, text[at:], "")
    return rows


def _append(rows: list[list[str]], text: str, css: str) -> None:
    for index, piece in enumerate(text.split("\n")):
        if index:
            rows.append([])
        if piece:
            shown = visible_html(piece, lines=True)
            rows[-1].append(f'<span class="{css}">{shown}</span>' if css else shown)
