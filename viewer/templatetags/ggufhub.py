"""Template filters: ``foreign`` for every string of a file, and numbers for people."""

import re

from django import template
from django.http import QueryDict
from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe

from viewer import numbers, text

register = template.Library()

_CODE = re.compile(r"`+([^`]+)`+")

LONG = 240
"""Characters after which a value is folded."""


@register.filter
def foreign(value: object) -> SafeString:
    """A value of a file on one line: escaped, isolated, hidden characters written out."""
    return text.foreign_html(value)


@register.filter
def foreign_lines(value: object) -> SafeString:
    """Like ``foreign`` for a block of text: line feeds and tabs keep their meaning."""
    return text.foreign_html(value, lines=True)


@register.filter
def visible(value: object) -> str:
    """For titles and attributes: plain text, hidden characters written out, then autoescaped."""
    return text.visible(str(value))


@register.filter
def human_bytes(value: int | None) -> str:
    """Bytes as ``6.6 MB``; nothing for None."""
    return "" if value is None else numbers.human_bytes(int(value))


@register.filter
def thousands(value: object) -> str:
    """An integer with commas; anything else unchanged."""
    is_number = isinstance(value, int) and not isinstance(value, bool)
    return f"{value:,}" if is_number else str(value)


@register.filter
def place(value: int) -> str:
    """A byte offset as ``0x0F12A3C0``."""
    return numbers.human_place(int(value))


@register.filter
def seconds(value: float) -> str:
    """Seconds as ``0.41 s``."""
    return numbers.human_seconds(float(value))


@register.filter
def is_long(value: object) -> bool:
    """Whether a value is too long or has too many lines to stand in a row of a table."""
    return isinstance(value, str) and (len(value) > LONG or "\n" in value)


@register.filter
def head(value: str) -> str:
    """The start of a long value, on one line."""
    return text.head(value)


@register.filter
def percent(value: float | None) -> str:
    """A share of one as ``5.4 %``; a dash for None."""
    return "\u2013" if value is None else numbers.human_share(value, 1)


@register.filter
def figure(value: float | None) -> str:
    """A number of a measurement to four digits; a dash for None."""
    return "\u2013" if value is None else f"{value:.4g}"


@register.filter
def prose(value: str) -> SafeString:
    """Our own words about the API: what stands between backticks is code."""
    return mark_safe(_CODE.sub(r"<code>\1</code>", escape(value)))  # safe: escaped before


@register.simple_tag
def share(part: int, whole: int) -> str:
    """``part`` of ``whole`` as ``5.4 %``."""
    return numbers.human_share(part, whole)


@register.simple_tag(takes_context=True)
def query(context: template.Context, **changes: object) -> str:
    """The query string of this page with ``changes`` made; an empty value removes a parameter.

    Changing anything but ``start`` goes back to the first row.
    """
    params: QueryDict = context["request"].GET.copy()
    if "start" not in changes:
        params.pop("start", None)
    for name, value in changes.items():
        params.pop(name, None)
        if value not in ("", None):
            params[name] = str(value)
    return "?" + params.urlencode()
