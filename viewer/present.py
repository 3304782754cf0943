"""A stored document in the words and links of the pages."""

import shlex
from typing import Any
from uuid import UUID

from django.urls import reverse

from ggufhub.hub.models import Inspection
from ggufhub.limits import HEADER
from viewer import paths
from viewer.numbers import human_count

TOKENS = "tokenizer.ggml.tokens"
TEMPLATE = "tokenizer.chat_template"

_WHY = {"nul": "holds NUL", "utf8": "not UTF-8", "long": "start of {bytes:,} bytes"}
"""Why a string is not shown as it is."""

_VERDICTS = {
    "pass": "No problems found",
    "warn": "Has warnings",
    "fail": "Has errors",
    "unreadable": "Cannot be read",
}
_SEVERITIES = (("error", "error", "errors"), ("warning", "warning", "warnings"),
               ("info", "note", "notes"))  # fmt: skip


def verdict_title(document: dict[str, Any]) -> str:
    """The verdict in words; an error by which the reference rejects the file stops loading."""
    verdict: str = document["verdict"]
    invalid = any(
        finding["severity"] == "error" and finding.get("truth") == "invalid"
        for finding in document["findings"]
    )
    return "Does not load" if verdict == "fail" and invalid else _VERDICTS.get(verdict, verdict)


def severity_counts(findings: list[dict[str, Any]]) -> str:
    """``1 error · 2 warnings``, or ``no findings``."""
    parts = []
    for severity, one, many in _SEVERITIES:
        count = sum(finding["severity"] == severity for finding in findings)
        if count:
            parts.append(f"{count} {one if count == 1 else many}")
    return " · ".join(parts) or "no findings"


def facts(document: dict[str, Any]) -> list[dict[str, Any]]:
    """What it is, at a glance: label, value and a note. Absent facts are left out."""
    summary, form = document["summary"], document["format"]
    size = sum(file["size"] or 0 for file in document["files"])
    bits = summary.get("bits_per_weight")
    parameters = summary.get("parameters")
    order = form.get("byte_order")
    rows = [
        ("Architecture", summary.get("architecture"), document["kind"]),
        ("Parameters", human_count(parameters) if parameters else None, ""),
        ("Quant", summary.get("quant"), f"{bits:.2f} bits/weight" if bits else ""),
        ("Context", summary.get("context_length"), ""),
        ("Vocabulary", summary.get("vocabulary"), ""),
        ("Licence", summary.get("license"), ""),
        ("Format", _format_name(form), f"{order}-endian" if order else ""),
    ]
    found = [{"label": a, "value": b, "note": c} for a, b, c in rows if b not in (None, "")]
    if size:
        found.insert(-1, {"label": "Size", "value": size, "note": "", "bytes": True})
    return found + _digest_fact(document)


def _format_name(form: dict[str, Any]) -> str | None:
    if form["name"] == "unknown":
        return None
    version = form.get("version")
    return form["name"].upper() + ("" if version is None else f" v{version}")


def _digest_fact(document: dict[str, Any]) -> list[dict[str, Any]]:
    for file in document["files"]:
        for digest in file["digests"]:
            if digest["algorithm"] == "sha256":
                value = digest["value"][:8] + "…"
                return [{"label": "SHA-256", "value": value, "note": digest["basis"], "mono": True,
                         "title": digest["value"]}]  # fmt: skip
    return []


def tabs(inspection_id: UUID, document: dict[str, Any], current: str) -> list[dict[str, Any]]:
    """The tabs of a report, each with its address and a count where one helps."""
    keys = {entry["key"] for entry in document["metadata"]}
    templates = len(document["templates"])
    template_note = {0: "none", 1: None}.get(templates, templates)
    rows: list[tuple[str, str, Any]] = [
        ("metadata", "Metadata", len(document["metadata"])),
        ("tensors", "Tensors", len(document["tensors"])),
    ]
    if TOKENS in keys:
        rows.append(("tokenizer", "Tokenizer", None))
    rows += [
        ("template", "Template", template_note),
        *([("memory", "Memory", None)] if document["memory"] else []),
        ("layout", "Layout", None),
        ("raw", "Raw", None),
    ]
    found = [
        {"url": paths.tab(inspection_id, slug), "title": title, "note": note, "on": slug == current}
        for slug, title, note in rows
    ]
    overview = reverse("viewer:inspection", args=[inspection_id])
    return [{"url": overview, "title": "Overview", "note": None, "on": not current}, *found]


def findings(
    inspection_id: UUID, document: dict[str, Any], rows: list[dict[str, Any]]
) -> list[dict[str, Any]]:
    """Findings with the address of every place they name.

    Only the first file of several has its layout in the document, so a byte of another one has
    no address; nor has a key or tensor that is missing.
    """
    first = document["files"][0]["name"]
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
        links = _links(inspection_id, place, finding["file"] == first)
        found.append(finding | {"links": links})
    return found


def _links(inspection_id: UUID, place: dict[str, Any], in_first: bool) -> dict[str, str]:
    links = {}
    if place.get("tensor"):
        links["tensor"] = paths.tensor(inspection_id, place["tensor"])
    if place.get("key"):
        links["key"] = paths.key(inspection_id, place["key"])
    if place.get("offset") is not None and in_first:
        links["byte"] = paths.byte(inspection_id, place["offset"])
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


def entry(inspection_id: UUID, row: dict[str, Any]) -> dict[str, Any]:
    """A metadata row with its anchor, and for arrays the address of all elements."""
    value = row["value"]
    shown = row | {"anchor": paths.anchor("key", row["key"])}
    if isinstance(value, dict) and "count" in value:
        url = reverse("viewer:array", args=[inspection_id, row["key"]])
        return shown | {"array_url": url, "more": value["count"] > len(value["first"][:8])}
    if isinstance(value, dict):
        note = _WHY[value["why"]].format(bytes=value.get("bytes", 0))
        return shown | {"note": note, "shown": value.get("text") or value.get("b64", "")}
    return shown | {"shown": row.get("text") or value}


def command(row: Inspection, document: dict[str, Any]) -> str:
    """The command line that makes the same report; an upload is taken from where it lies."""
    source = row.locator if row.source_kind == "url" else f"./{document['name']}"
    depth = "" if row.depth == HEADER else f" --depth {row.depth}"
    return f"ggufhub check {shlex.quote(source)} --profile {row.profile}{depth} --format json"
