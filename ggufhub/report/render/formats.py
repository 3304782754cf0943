"""The formats a report can be had in, by name: their media types, and how they are made."""

import json
from collections.abc import Callable
from dataclasses import dataclass

from ggufhub.report.codec import Json
from ggufhub.report.document import check_document
from ggufhub.report.render.github import github
from ggufhub.report.render.markdown import markdown
from ggufhub.report.render.sarif import sarif
from ggufhub.report.render.text import check_text

Documents = list[dict[str, Json]]

DEFAULT_FAILING = ("error",)


@dataclass(frozen=True, slots=True)
class Style:
    """How to render: ``failing`` holds the severities that fail a JUnit case."""

    coloured: bool = False
    failing: tuple[str, ...] = DEFAULT_FAILING


@dataclass(frozen=True, slots=True)
class Format:
    """A format with its media type; ``render`` makes the whole text."""

    media_type: str
    render: Callable[[Documents, Style], str]


def json_text(document: Json) -> str:
    """A document as people and programs read it."""
    return json.dumps(document, ensure_ascii=False, indent=2) + "\n"


def _junit(documents: Documents, style: Style) -> str:
    from ggufhub.report.render.junit import junit  # XML costs a command 10 ms of its start

    return junit(documents, style.failing)


FORMATS = {
    "text": Format("text/plain", lambda docs, style: check_text(docs, coloured=style.coloured)),
    "json": Format("application/json", lambda docs, style: json_text(check_document(docs))),
    "sarif": Format("application/sarif+json", lambda docs, style: json_text(sarif(docs))),
    "junit": Format("application/xml", _junit),
    "markdown": Format("text/markdown", lambda docs, style: markdown(docs)),
    "github": Format("text/plain", lambda docs, style: github(docs)),
}


def render(name: str, documents: Documents, style: Style | None = None) -> str:
    """The reports in one of ``FORMATS``."""
    return FORMATS[name].render(documents, style or Style())
