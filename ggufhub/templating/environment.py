"""The Jinja environment in which transformers renders chat templates, as exactly as we can.

Source: ``_compile_jinja_template`` in ``transformers/utils/chat_template_utils.py`` (5.24): the
immutable sandbox, block trimming, loop controls, a `generation` block, `tojson` without HTML
escapes, `raise_exception` and `strftime_now`. Only ``lipsum`` is taken away: it is a way to
Python's internals, and no template uses it. Runs inside the jail, and nowhere else.
"""

import json
from datetime import date, datetime, time
from typing import Any, NoReturn

from jinja2 import nodes
from jinja2.exceptions import TemplateError
from jinja2.ext import Extension
from jinja2.parser import Parser
from jinja2.sandbox import ImmutableSandboxedEnvironment


class RaisedByTemplate(TemplateError):
    """The template called ``raise_exception``: its author's own word, no defect by itself."""


class GenerationBlock(Extension):
    """``{% generation %}…{% endgeneration %}`` marks the assistant's text; it prints its body."""

    tags = {"generation"}

    def parse(self, parser: Parser) -> list[nodes.Node]:
        next(parser.stream)
        return parser.parse_statements(("name:endgeneration",), drop_needle=True)


def build_environment(today: date) -> ImmutableSandboxedEnvironment:
    """A fresh environment. ``today`` is what templates get when they ask for the date."""
    environment = ImmutableSandboxedEnvironment(
        trim_blocks=True,
        lstrip_blocks=True,
        extensions=[GenerationBlock, "jinja2.ext.loopcontrols"],
    )
    environment.filters["tojson"] = _tojson
    environment.globals["raise_exception"] = _raise_exception
    environment.globals["strftime_now"] = datetime.combine(today, time(12)).strftime
    del environment.globals["lipsum"]
    return environment


def _raise_exception(message: object) -> NoReturn:
    raise RaisedByTemplate(str(message))


def _tojson(
    value: Any,
    ensure_ascii: bool = False,
    indent: int | None = None,
    separators: tuple[str, str] | None = None,
    sort_keys: bool = False,
) -> str:
    return json.dumps(
        value,
        ensure_ascii=ensure_ascii,
        indent=indent,
        separators=separators,
        sort_keys=sort_keys,
    )
