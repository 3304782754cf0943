"""A badge as SVG: the verdict of one report, made here, with no font or service from elsewhere."""

from xml.sax.saxutils import escape

from ggufhub.report.codec import Json
from ggufhub.report.render.words import counts

LABEL = "gguf"

_COLOURS = {"pass": "#2a7f3b", "warn": "#8a6100", "fail": "#b3261e", "unreadable": "#5f6368"}
"""Each at least 4.5 : 1 against the white text."""

_CHARACTER = 6.6
"""Mean width in pixels of a character of 11 pixels; ``textLength`` makes it exact."""

_HEIGHT, _PADDING = 20, 6


def badge(document: dict[str, Json]) -> str:
    """``gguf | pass``, ``gguf | 2 errors, 1 warning``; notes are not counted."""
    verdict = document["verdict"]
    serious = [finding for finding in document["findings"] if finding["severity"] != "info"]
    words = verdict if verdict in ("pass", "unreadable") else counts(serious) or verdict
    left, right = (round(len(text) * _CHARACTER) + 2 * _PADDING for text in (LABEL, words))
    title = escape(f"{LABEL}: {words}")
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + right}" height="{_HEIGHT}" '
        f'role="img" aria-label="{title}"><title>{title}</title>'
        f'<rect width="{left + right}" height="{_HEIGHT}" rx="3" fill="#3c4043"/>'
        f'<path d="M{left} 0h{right - 3}a3 3 0 0 1 3 3v{_HEIGHT - 6}a3 3 0 0 1-3 3h-{right - 3}z" '
        f'fill="{_COLOURS[verdict]}"/>'
        '<g fill="#fff" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11" '
        f'text-anchor="middle">{_text(LABEL, 0, left)}{_text(words, left, right)}</g></svg>\n'
    )


def _text(text: str, start: int, width: int) -> str:
    middle, length = start + width / 2, width - 2 * _PADDING
    return f'<text x="{middle:g}" y="14" textLength="{length}">{escape(text)}</text>'
