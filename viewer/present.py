"""A stored document in the words and links of the pages."""

from typing import Any
from uuid import UUID

from django.urls import reverse

from ggufhub.report.render.words import counts, format_name, short_number, verdict_words
from ggufhub.report.render.words import facts as facts_in_words
from viewer import paths
from viewer.numbers import human_bytes

TOKENS = "tokenizer.ggml.tokens"
TEMPLATE = "tokenizer.chat_template"

_WHY = {"nul": "holds NUL", "utf8": "not UTF-8", "long": "start of {bytes:,} bytes"}
"""Why a string is not shown as it is."""


def facts(document: dict[str, Any]) -> list[dict[str, Any]]:
    """What it is, at a glance: label, value and a note. Absent facts are left out."""
    summary, form = document["summary"], document["format"]
    size = sum(file["size"] or 0 for file in document["files"])
    bits = summary.get("bits_per_weight")
    parameters = summary.get("parameters")
    order = form.get("byte_order")
    rows = [
        ("Architecture", summary.get("architecture"), document["kind"]),
        ("Parameters", short_number(parameters) if parameters else None, ""),
        ("Quant", summary.get("quant"), f"{bits:.2f} bits/weight" if bits else ""),
        ("Context", summary.get("context_length"), ""),
        ("Vocabulary", summary.get("vocabulary"), ""),
        ("Licence", summary.get("license"), ""),
        ("Format", format_name(form), f"{order}-endian" if order else ""),
    ]
    found = [{"label": a, "value": b, "note": c} for a, b, c in rows if b not in (None, "")]
    if size:
        found.insert(-1, {"label": "Size", "value": size, "note": "", "bytes": True})
    return found + _digest_fact(document)


def _digest_fact(document: dict[str, Any]) -> list[dict[str, Any]]:
    for file in document["files"]:
        for digest in file["digests"]:
            if digest["algorithm"] == "sha256":
                value = digest["value"][:8] + "…"
                return [{"label": "SHA-256", "value": value, "note": digest["basis"], "mono": True,
                         "title": digest["value"]}]  # fmt: skip
    return []


def about(document: dict[str, Any]) -> str:
    """The report in one line, for previews of a link to it."""
    found = counts(document["findings"])
    size = sum(file["size"] or 0 for file in document["files"])
    parts = [verdict_words(document), found, *facts_in_words(document)]
    return " · ".join(filter(None, [*parts, human_bytes(size) if size else ""]))


def tabs(inspection_id: UUID, document: dict[str, Any], current: str) -> list[dict[str, Any]]:
    """The tabs of a report, each with its address and a count where one helps."""
    templates = len(document["templates"])
    template_note = {0: "none", 1: None}.get(templates, templates)
    rows: list[tuple[str, str, Any]] = [
        ("metadata", "Metadata", len(document["metadata"])),
        ("tensors", "Tensors", len(document["tensors"])),
    ]
    if has_vocabulary(document):
        rows.append(("tokenizer", "Tokenizer", None))
    rows += [
        ("template", "Template", template_note),
        *([("memory", "Memory", None)] if document["memory"] else []),
        ("layout", "Layout", None),
        ("integrity", "Integrity", None),
        *([("shards", "Shards", len(document["files"]))] if len(document["files"]) > 1 else []),
        ("raw", "Raw", None),
    ]
    found = [
        {"url": paths.tab(inspection_id, slug), "title": title, "note": note, "on": slug == current}
        for slug, title, note in rows
    ]
    overview = reverse("viewer:inspection", args=[inspection_id])
    return [{"url": overview, "title": "Overview", "note": None, "on": not current}, *found]


def has_vocabulary(document: dict[str, Any]) -> bool:
    """Whether the file lists tokens; a key of that name which holds no list does not count."""
    entry = first_by_key(document["metadata"]).get(TOKENS)
    return entry is not None and is_array(entry["value"])


def is_array(value: Any) -> bool:
    """Whether a value of the document stands for an array."""
    return isinstance(value, dict) and "count" in value


def findings(
    inspection_id: UUID, document: dict[str, Any], rows: list[dict[str, Any]]
) -> list[dict[str, Any]]:
    """Findings with the address of every place they name.

    A key or tensor that is missing has no address, and nor has a byte of a file whose layout is
    not known.
    """
    here = {
        "key": {entry["key"] for entry in document["metadata"]},
        "tensor": {tensor["name"] for tensor in document["tensors"]},
    }
    found = []
    for finding in rows:
        place = {
            what: value
            for what, value in finding["place"].items()
            if what not in here or value in here[what]
        }
        links = _links(inspection_id, place)
        if place.get("offset") is not None and layout_of(document, finding["file"]):
            several = len(document["files"]) > 1
            links["byte"] = paths.byte(
                inspection_id,
                place["offset"],
                finding["file"] if several else "",
                place.get("length") or 0,
            )
        found.append(finding | {"links": links})
    return found


def layout_of(document: dict[str, Any], file: str) -> list[dict[str, Any]]:
    """What lies where in one file of the report; nothing where that was not kept."""
    first = document["files"][0]["name"]
    found: list[dict[str, Any]]
    found = document["layout"] if file == first else document.get("shard_layouts", {}).get(file, [])
    return found


def _links(inspection_id: UUID, place: dict[str, Any]) -> dict[str, str]:
    links = {}
    if place.get("tensor"):
        links["tensor"] = paths.tensor(inspection_id, place["tensor"])
    if place.get("key"):
        links["key"] = paths.key(inspection_id, place["key"])
    if place.get("line"):
        name = template_name(place.get("key") or TEMPLATE)
        links["line"] = paths.tab(inspection_id, "template", f"L{place['line']}", name=name)
    return links


def template_name(key: str) -> str:
    """The template's name in the document, from its key: ``default`` or that of the variant."""
    return key.removeprefix(TEMPLATE).lstrip(".") or "default"


def not_evaluated(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rules that could not run, grouped by reason: most first."""
    groups: dict[str, list[str]] = {}
    for row in rows:
        groups.setdefault(row["reason"], []).append(row["rule"])
    ordered = sorted(groups.items(), key=lambda group: -len(group[1]))
    return [{"reason": reason, "rules": rules} for reason, rules in ordered]


def first_by_key(metadata: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """The entries by key; of two with one name the first, as readers take it."""
    found: dict[str, dict[str, Any]] = {}
    for row in metadata:
        found.setdefault(row["key"], row)
    return found


def entry(inspection_id: UUID, row: dict[str, Any]) -> dict[str, Any]:
    """A metadata row with its anchor, and for arrays the address of all elements."""
    value = row["value"]
    shown = row | {"anchor": paths.anchor("key", row["key"])}
    if is_array(value):
        url = reverse("viewer:array", args=[inspection_id, row["key"]])
        return shown | {"array_url": url, "more": value["count"] > len(value["first"][:8])}
    if isinstance(value, dict):
        note = _WHY[value["why"]].format(bytes=value.get("bytes", 0))
        return shown | {"note": note, "shown": value.get("text") or value.get("b64", "")}
    return shown | {"shown": row.get("text") or value}
