"""Text for people at a terminal: verdict, findings with places and fixes, a summary.

Every foreign string has been through ``visible``: control characters and direction marks of a
file cannot move the cursor, change colours or reorder a line.
"""

import re
from collections.abc import Iterator

from ggufhub.report.codec import Json

_HIDDEN = re.compile(
    "[\x00-\x08\x0a-\x1f\x7f-\x9f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]"
)
"""Controls, zero-width and direction characters; a tab is harmless."""

_COLOURS = {"error": "31", "warning": "33", "info": "36", "bold": "1", "dim": "2", "pass": "32"}

VERDICT_WORDS = {
    "pass": ("pass", "Sound: no errors, no warnings"),
    "warn": ("warning", "Loads, with warnings"),
    "fail": ("error", "Does not load, or is unsafe"),
    "unreadable": ("error", "Could not be read as a model"),
}

_MARKS = {"error": "✗", "warning": "!", "info": "·"}


def visible(text: str) -> str:
    """``text`` with hidden characters written as ``\\u{202E}``."""
    return _HIDDEN.sub(lambda match: f"\\u{{{ord(match[0]):X}}}", text)


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
        blocks.append(_totals(documents))
    return "\n\n".join(blocks) + "\n"


def _report_lines(document: dict[str, Json], paint: Paint) -> Iterator[str]:
    colour, words = VERDICT_WORDS[document["verdict"]]
    if document["verdict"] in ("pass", "warn") and document["format"]["name"] != "gguf":
        words = "Sound, but no GGUF"  # current loaders take nothing else
    yield f"{paint('bold', visible(document['source']))}"
    yield f"  {paint(colour, words)}{_counts(document['findings'])}"
    what = _what(document)
    if what:
        yield f"  {paint('dim', what)}"
    if document["error"] is not None:
        yield f"  {visible(document['error']['message'])}"
    for finding in document["findings"]:
        yield from _finding_lines(finding, paint)
    skipped = len(document["not_evaluated"])
    if skipped and document["verdict"] != "unreadable":
        yield paint("dim", f"  {skipped} rules could not be evaluated (--format json lists them)")


def _counts(findings: list[dict[str, Json]]) -> str:
    counts = []
    for severity, noun in (("error", "error"), ("warning", "warning"), ("info", "note")):
        number = sum(finding["severity"] == severity for finding in findings)
        if number:
            counts.append(f"{number} {noun}{'' if number == 1 else 's'}")
    return f": {', '.join(counts)}" if counts else ""


def _what(document: dict[str, Json]) -> str:
    form, summary = document["format"], document["summary"]
    if form["byte_order"] is None:
        return ""
    parts = [document["kind"]]
    if form["name"] != "unknown":
        version = "" if form["version"] is None else f" v{form['version']}"
        parts.insert(0, form["name"].upper() + version)
    if summary["architecture"]:
        parts.append(visible(summary["architecture"]))
    if summary["parameters"]:
        parts.append(f"{short_number(summary['parameters'])} parameters")
    if summary["quant"]:
        bits = summary["bits_per_weight"]
        parts.append(summary["quant"] + (f" ({bits} bits/weight)" if bits else ""))
    parts.append(f"{document['reads']['bytes']:,} bytes read")
    return " · ".join(parts)


def _finding_lines(finding: dict[str, Json], paint: Paint) -> Iterator[str]:
    severity = finding["severity"]
    mark = paint(severity, f"{_MARKS[severity]} {severity} {finding['rule']}")
    yield f"  {mark}  {visible(finding['message'])}"
    place = _place(finding)
    if place:
        yield paint("dim", f"      at {place}")
    if finding["expected"] and finding["actual"]:
        yield f"      expected {visible(finding['expected'])}, found {visible(finding['actual'])}"
    yield f"      fix: {visible(finding['fix'])}"


def _place(finding: dict[str, Json]) -> str:
    place = finding["place"]
    parts = [visible(finding["file"])]
    parts += [f"{what} {visible(place[what])}" for what in ("key", "tensor") if what in place]
    if "line" in place:
        parts.append(f"template line {place['line']}")
    if "offset" in place:
        parts.append(f"byte {place['offset']:,} (0x{place['offset']:X})")
    return ", ".join(parts)


def _totals(documents: list[dict[str, Json]]) -> str:
    counts = [
        f"{sum(document['verdict'] == verdict for document in documents)} {verdict}"
        for verdict in VERDICT_WORDS
    ]
    return f"{len(documents)} models: {', '.join(counts)}"


def short_number(number: int) -> str:
    """``268.1 M`` for 268,098,176."""
    for size, unit in ((10**12, "T"), (10**9, "B"), (10**6, "M"), (10**3, "K")):
        if number >= size:
            return f"{number / size:.1f} {unit}"
    return str(number)


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


def templates_text(document: dict[str, Json]) -> str:
    """The chat templates as they are, line breaks kept and hidden characters shown."""
    parts = []
    for template in document["templates"]:
        body = "\n".join(visible(line) for line in template["text"].split("\n"))
        parts.append(f"# template: {visible(template['name'])}\n{body}\n")
    return "\n".join(parts) or "There is no chat template.\n"
