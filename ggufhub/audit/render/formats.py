"""The formats an audit can be had in, by name: their media types, and how they are made."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from ggufhub.audit.render.html import html
from ggufhub.audit.render.table import csv_lines
from ggufhub.audit.render.text import markdown, text
from ggufhub.audit.result import AuditResult, model_part, reports
from ggufhub.report.codec import Json
from ggufhub.report.render.sarif import MOST_RESULTS, sarif
from ggufhub.report.render.words import SEVERITIES


@dataclass(frozen=True, slots=True)
class Style:
    """How to render: ``failing`` holds the severities that fail a JUnit case."""

    coloured: bool = False
    failing: tuple[str, ...] = ("error",)


@dataclass(frozen=True, slots=True)
class AuditFormat:
    """A format with its media type; ``pieces`` gives the text bit by bit."""

    media_type: str
    pieces: Callable[[AuditResult, Style], Iterator[str]]


def _line(value: Json) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _json(result: AuditResult, style: Style) -> Iterator[str]:
    """One object: the head, and the models at its end."""
    head = json.dumps(result.head, ensure_ascii=False, indent=2)
    yield head.removesuffix("\n}") + ',\n  "models": ['
    between = "\n    "
    for row in result.rows():
        yield between + _line(model_part(row))
        between = ",\n    "
    yield "\n  ]\n}\n"


def _ndjson(result: AuditResult, style: Style) -> Iterator[str]:
    """The head on the first line, then a model a line."""
    yield _line(result.head) + "\n"
    for row in result.rows():
        yield _line(model_part(row)) + "\n"


def _sarif(result: AuditResult, style: Style) -> Iterator[str]:
    """One run, as GitHub asks; the worst findings where there are too many."""
    kept, total = _worst(result)
    log = sarif(kept, left_out=total - sum(len(document["findings"]) for document in kept))
    yield json.dumps(log, ensure_ascii=False, indent=2) + "\n"


def _worst(result: AuditResult) -> tuple[list[dict[str, Json]], int]:
    """The reports with the worst ``MOST_RESULTS`` findings and no others, and how many there are.

    The rows are read once for each severity, so that no more than that is ever held.
    """
    kept: dict[str, dict[str, Json]] = {}
    room, total = MOST_RESULTS, 0
    for severity in SEVERITIES:
        for report in reports(result.rows(), result.head):
            found = [f for f in report["findings"] if f["severity"] == severity]
            total += len(found)
            if not found and report["error"] is None:
                continue
            part = kept.setdefault(report["source"], {**report, "findings": []})
            part["findings"] += found[:room]
            room -= min(room, len(found))
    return list(kept.values()), total


def _junit(result: AuditResult, style: Style) -> Iterator[str]:
    from ggufhub.audit.render.junit import junit  # XML costs a command 10 ms of its start

    return junit(result, style.failing)


AUDIT_FORMATS = {
    "text": AuditFormat("text/plain", lambda result, style: text(result, style.coloured)),
    "json": AuditFormat("application/json", _json),
    "ndjson": AuditFormat("application/x-ndjson", _ndjson),
    "csv": AuditFormat("text/csv", lambda result, style: csv_lines(result)),
    "sarif": AuditFormat("application/sarif+json", _sarif),
    "junit": AuditFormat("application/xml", _junit),
    "markdown": AuditFormat("text/markdown", lambda result, style: markdown(result)),
    "html": AuditFormat("text/html", lambda result, style: html(result)),
}
