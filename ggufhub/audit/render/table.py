"""CSV (RFC 4180), safe to open in a spreadsheet."""

import csv
import io
from collections.abc import Iterator

from ggufhub.audit.result import AuditResult, model_part
from ggufhub.report.codec import Json
from ggufhub.report.render.words import visible

COLUMNS = (
    "path",
    "family",
    "role",
    "verdict",
    "kind",
    "architecture",
    "quant",
    "parameters",
    "bits_per_weight",
    "size",
    "files",
    "errors",
    "warnings",
    "notes",
    "rules",
    "error",
)

_FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""First characters by which spreadsheets take a cell for a formula (OWASP, "CSV Injection")."""


def csv_lines(result: AuditResult) -> Iterator[str]:
    """A line for the head, one for each model, and one for each finding about the repository."""
    yield _line(COLUMNS)
    for row in result.rows():
        yield _line(_cells(model_part(row)))
    for finding in result.head["findings"]:
        rest = ["", "repository", finding["severity"], *[""] * 10, finding["rule"]]
        yield _line([finding["file"], *rest, finding["message"]])


def _cells(model: Json) -> list[Json]:
    rules = sorted({finding["rule"] for finding in model["findings"]})
    error = model["error"]
    plain = [model[name] for name in COLUMNS[:11]]
    counts = [model["counts"][name] for name in ("error", "warning", "info")]
    return [*plain, *counts, " ".join(rules), "" if error is None else error["message"]]


def _line(cells: "list[Json] | tuple[str, ...]") -> str:
    out = io.StringIO()
    csv.writer(out).writerow([_safe(cell) for cell in cells])
    return out.getvalue()


def _safe(cell: Json) -> Json:
    """Text that no spreadsheet runs: a quote in front makes it plain."""
    if not isinstance(cell, str):
        return cell
    text = visible(cell)
    return f"'{text}" if text.startswith(_FORMULA) else text
