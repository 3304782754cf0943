"""A comparison as text for a terminal and as Markdown for release notes."""

from collections.abc import Callable, Iterator

from ggufhub.report.codec import Json
from ggufhub.report.render.markdown import escape
from ggufhub.report.render.text import Paint, shown_value
from ggufhub.report.render.words import counted, visible

_MOST = 100
"""Lines of one list; a requantised model changes the type of every tensor."""

_COLOURS = {"+": "pass", "-": "error", "~": "warning"}

Line = tuple[str, str]
"""A sign (``+``, ``-``, ``~``, or a space) and the words of one change."""


def comparison_text(document: dict[str, Json], *, coloured: bool = False) -> str:
    """The changes, one a line; ``+`` added, ``-`` removed, ``~`` changed."""
    paint = Paint(coloured)
    lines = [f"{paint('bold', visible(_title(document)))}"]
    for heading, changes in _sections(document):
        lines += ["", paint("bold", heading)]
        for sign, words in _capped(changes):
            line = f"  {sign} {visible(words)}"
            lines.append(paint(_COLOURS[sign], line) if sign in _COLOURS else line)
    lines += ["", *_conclusion(document)]
    return "\n".join(lines) + "\n"


def comparison_markdown(document: dict[str, Json]) -> str:
    """What changed in this release."""
    lines = [f"### What changed: {escape(_title(document))}"]
    for heading, changes in _sections(document):
        lines += ["", f"#### {escape(heading)}", ""]
        lines += [f"- {_NAMES[sign]}{escape(words)}" for sign, words in _capped(changes)]
    lines += ["", *_conclusion(document)]
    return "\n".join(lines) + "\n"


def _conclusion(document: dict[str, Json]) -> list[str]:
    """What the whole comes to, and whether the weights were looked at."""
    weights = document["weights"]
    lines = ["No differences in metadata, tensors and templates."] if document["same"] else []
    if weights is None:
        return [*lines, "Weights were not compared: only --depth full reads them."]
    share = f"{weights['changed']:,} of {counted(weights['compared'], 'tensor')}"
    return [*lines, f"Weights: the data of {share} differs."]


def _renamed(weights: dict[str, Json] | None) -> list[Line]:
    pairs = [] if weights is None else weights["renamed"]
    return [("~", f"{pair['before']} → {pair['after']}, same data") for pair in pairs]


_NAMES = {"+": "**added** ", "-": "**removed** ", "~": "**changed** ", " ": ""}


def _title(document: dict[str, Json]) -> str:
    return f"{document['before']['source']} → {document['after']['source']}"


def _capped(changes: list[Line]) -> list[Line]:
    more = len(changes) - _MOST
    return [*changes[:_MOST], (" ", f"and {more:,} more")] if more > 0 else changes


def _sections(document: dict[str, Json]) -> Iterator[tuple[str, list[Line]]]:
    """A heading and its changes, for every part that has any."""
    parts = (
        ("Summary", [("~", _row(row)) for row in document["summary"]]),
        ("Metadata", _changes(document["metadata"], "key", _value)),
        ("Tensor types", [_type(row) for row in document["types"]]),
        ("Renamed tensors", _renamed(document["weights"])),
        ("Tensors", _changes(document["tensors"], "name", _shape)),
        ("Findings", _findings(document["findings"])),
    )
    for name, changes in parts:
        if changes:
            yield f"{name} ({counted(len(changes), 'change')})", changes
    for template in document["templates"]:
        # The first two lines of a unified difference name the files.
        lines = [(line[0] if line[0] in "+-" else " ", line[1:]) for line in template["diff"][2:]]
        yield f"Template {template['name']}", lines


def _row(row: dict[str, Json]) -> str:
    old, new = row["before"], row["after"]
    return f"{row['what']}: {_shown(old)} → {_shown(new)}{_percent(old, new)}"


def _shown(value: Json) -> str:
    if value is None:
        return "none"
    return f"{value:,}" if isinstance(value, int | float) else shown_value(value)


def _percent(old: Json, new: Json) -> str:
    if isinstance(old, int | float) and isinstance(new, int | float) and old:
        return f" ({100 * (new - old) / old:+.1f} %)"
    return ""


def _changes(
    part: dict[str, Json], name: str, shown: Callable[[dict[str, Json]], str]
) -> list[Line]:
    lines = [("+", f"{entry[name]}: {shown(entry)}") for entry in part["added"]]
    lines += [("-", f"{entry[name]}: {shown(entry)}") for entry in part["removed"]]
    for entry in part["changed"]:
        old, new = shown(entry["before"]), shown(entry["after"])
        # Long arrays may start alike, and a value may keep its text and change its type.
        words = f"{old} → {new}" if old != new else f"{old}, differently"
        if entry["before"]["type"] != entry["after"]["type"] and "value" in entry["before"]:
            words += f" (was {entry['before']['type']}, is {entry['after']['type']})"
        lines.append(("~", f"{entry[name]}: {words}"))
    return lines


def _value(entry: dict[str, Json]) -> str:
    return shown_value(entry["value"])


def _shape(entry: dict[str, Json]) -> str:
    shape = " × ".join(str(dimension) for dimension in entry["shape"])
    digest = f" {entry['xxh64']}" if "xxh64" in entry else ""
    return f"{entry['type']} {shape}".strip() + digest


def _type(row: dict[str, Json]) -> Line:
    old, new = row["before"], row["after"]
    sign = "+" if old is None else "-" if new is None else "~"
    amounts = " → ".join(_amount(side) for side in (old, new) if side is not None)
    return sign, f"{row['type']}: {amounts}"


def _amount(side: dict[str, Json]) -> str:
    return f"{counted(side['tensors'], 'tensor')}, {side['bytes']:,} bytes"


def _findings(part: dict[str, Json]) -> list[Line]:
    new = [("+", f"{f['rule']} {f['severity']}: {f['message']}") for f in part["new"]]
    gone = [("-", f"{f['rule']} {f['severity']}: {f['message']}") for f in part["gone"]]
    return new + gone
