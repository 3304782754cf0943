"""Text for people at a terminal: verdict, findings by severity with places and fixes, a summary.

Every foreign string has been through ``visible``: control characters and direction marks of a
file cannot move the cursor, change colours or reorder a line.
"""

from collections.abc import Iterator
from itertools import groupby

from ggufhub.report.codec import Json
from ggufhub.report.render.words import (
    counted,
    counts,
    facts,
    is_known,
    place_text,
    totals,
    verdict_words,
    visible,
    worst_first,
)

_COLOURS = {"error": "31", "warning": "33", "info": "36", "bold": "1", "dim": "2", "pass": "32"}

_VERDICT_COLOURS = {"pass": "pass", "warn": "warning", "fail": "error", "unreadable": "error"}

_MARKS = {"error": "✗", "warning": "!", "info": "·"}


class Paint:
    """Adds colours where they are wanted."""

    def __init__(self, coloured: bool) -> None:
        self._coloured = coloured

    def __call__(self, name: str, text: str) -> str:
        return f"\x1b[{_COLOURS[name]}m{text}\x1b[0m" if self._coloured else text


def check_text(documents: list[dict[str, Json]], *, coloured: bool = False) -> str:
    """The report of `ggufhub check`."""
    paint = Paint(coloured)
    blocks = ["\n".join(_report_lines(document, paint)) for document in documents]
    if len(documents) > 1:
        blocks.append(paint("bold", totals(documents)))
    return "\n\n".join(blocks) + "\n"


def _report_lines(document: dict[str, Json], paint: Paint) -> Iterator[str]:
    yield paint("bold", visible(document["source"]))
    found = counts(document["findings"])
    words = paint(_VERDICT_COLOURS[document["verdict"]], verdict_words(document))
    yield f"  {words}{' · ' if found else ''}{found}"
    what = _what(document)
    if what:
        yield f"  {paint('dim', what)}"
    for note in document["notes"]:
        yield paint("dim", f"  {visible(note)}")
    if document["error"] is not None:
        yield f"  {visible(document['error']['message'])}"
    findings = worst_first(document["findings"])
    for _, group in groupby(findings, key=lambda finding: (finding["severity"], finding["rule"])):
        yield from _rule_lines(list(group), document, paint)
    for ignored in document["ignored"]:
        found = counted(ignored["findings"], "finding")
        yield paint("dim", f"  {found} of {ignored['rule']} ignored: {visible(ignored['reason'])}")
    skipped = len(document["not_evaluated"])
    if skipped and document["verdict"] != "unreadable":
        rules = counted(skipped, "rule")
        yield paint("dim", f"  {rules} could not be evaluated (--format json lists them)")


def _what(document: dict[str, Json]) -> str:
    known = facts(document)
    return " · ".join([*known, f"{document['reads']['bytes']:,} bytes read"]) if known else ""


def _rule_lines(
    findings: list[dict[str, Json]], document: dict[str, Json], paint: Paint
) -> Iterator[str]:
    """The findings of one rule, one line each, and every different fix once."""
    for finding in findings:
        severity = finding["severity"]
        mark = f"{_MARKS[severity]} {finding['rule']} {severity}"
        note = " (known)" if is_known(finding) else ""
        line = f"  {paint('dim' if note else severity, mark)}{note}  {visible(finding['message'])}"
        place = place_text(finding)
        if finding["file"] != document["name"]:
            place = ", ".join(filter(None, (visible(finding["file"]), place)))
        yield line + (paint("dim", f"  [{place}]") if place else "")
        if finding["expected"] and finding["actual"]:
            expected, actual = visible(finding["expected"]), visible(finding["actual"])
            yield f"      expected {expected}, found {actual}"
    for fix in dict.fromkeys(finding["fix"] for finding in findings):
        yield f"      fix: {visible(fix)}"


def show_text(document: dict[str, Json], *, coloured: bool = False) -> str:
    """What is inside: every key and a summary of the tensors."""
    paint = Paint(coloured)
    lines = [paint("bold", visible(document["source"])), "  " + _what(document)]
    if document["error"] is not None:
        lines.append("  " + visible(document["error"]["message"]))
    lines += _metadata_lines(document, paint)
    if document["types"]:
        lines += ["", paint("bold", f"Tensors ({len(document['tensors']):,})")]
        for share in document["types"]:
            lines.append(f"  {share['type']:<8} {share['tensors']:>6,} {share['bytes']:>18,} bytes")
    return "\n".join(lines) + "\n"


def _metadata_lines(document: dict[str, Json], paint: Paint) -> list[str]:
    entries = document["metadata"]
    width = max((min(len(entry["key"]), 48) for entry in entries), default=0)
    lines = ["", paint("bold", f"Metadata ({len(entries):,})")]
    for entry in entries:
        kind = paint("dim", f"{entry['type']:<10}")
        lines.append(f"  {visible(entry['key']):<{width}}  {kind} {shown_value(entry['value'])}")
    return lines


def shown_value(value: Json, most: int = 100) -> str:
    """One value on one line, shortened."""
    if isinstance(value, dict) and "count" in value:
        first = ", ".join(shown_value(item, 24) for item in value["first"])
        more = ", …" if value["count"] > len(value["first"]) else ""
        return f"[{first}{more}] ({value['count']:,})"
    text = visible(str(value["text"] if isinstance(value, dict) else value))
    return text if len(text) <= most else text[: most - 1] + "…"


def tensors_text(document: dict[str, Json]) -> str:
    """The tensor table, one row a line."""
    lines = []
    for tensor in document["tensors"]:
        shape = " × ".join(f"{dimension:,}" for dimension in tensor["shape"]) or "scalar"
        size = "?" if tensor["bytes"] is None else f"{tensor['bytes']:,}"
        name = visible(tensor["name"])
        lines.append(
            f"{name:<40} {tensor['type']:<8} {shape:<24} {tensor['offset']:>16,} {size:>14}"
        )
    return "".join(line + "\n" for line in lines)


def memory_text(document: dict[str, Json]) -> str:
    """What the model takes by context and type of the cache, in bytes."""
    memory = document["memory"]
    if memory is None:
        return "There is nothing to estimate.\n"
    columns = ("context", "cache type", "weights", "cache", "states", "compute", "total")
    rows = [columns, *(_memory_row(row) for row in memory["table"])]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = [
        "  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True))
        for row in rows
    ]
    bases = [f"{part}: {memory['table'][0][part]['basis']}" for part in _MEMORY_PARTS]
    return "\n".join([*lines, "", f"Bytes. {', '.join(bases)}."]) + "\n"


_MEMORY_PARTS = ("weights", "cache", "states", "compute")


def _memory_row(row: dict[str, Json]) -> tuple[str, ...]:
    figures = [row[part]["bytes"] for part in _MEMORY_PARTS] + [row["total"]]
    kind = row["key_type"]
    if row["value_type"] != kind:
        kind += f"/{row['value_type']}"
    shown = ("unknown" if figure is None else f"{figure:,}" for figure in figures)
    return f"{row['context']:,}", kind, *shown


def templates_text(document: dict[str, Json]) -> str:
    """The chat templates as they are, line breaks kept and hidden characters shown."""
    parts = []
    for template in document["templates"]:
        body = "\n".join(visible(line) for line in template["text"].split("\n"))
        parts.append(f"# template: {visible(template['name'])}\n{body}\n")
    return "\n".join(parts) or "There is no chat template.\n"
