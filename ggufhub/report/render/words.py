"""Words that several renders share: places, counts, and foreign text made harmless to show."""

import re
from collections.abc import Iterable
from urllib.parse import quote

from ggufhub.report.codec import Json

SEVERITIES = {"error": "error", "warning": "warning", "info": "note"}
"""The noun for a finding of each severity, the worst first."""

VERDICT_WORDS = {
    "pass": "Sound: no errors, no warnings",
    "warn": "Loads, with warnings",
    "fail": "Has errors",
    "unreadable": "Could not be read as a model",
}

_HIDDEN = re.compile(
    "[\x00-\x08\x0a-\x1f\x7f-\x9f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\uffff]"
)
"""Controls, zero-width and direction characters, and what XML forbids; a tab is harmless."""

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")


def visible(text: str) -> str:
    """``text`` with hidden characters written as ``\\u{202E}``."""
    return _HIDDEN.sub(lambda match: f"\\u{{{ord(match[0]):X}}}", text)


def verdict_words(document: dict[str, Json]) -> str:
    """The verdict as a sentence."""
    verdict: str = document["verdict"]
    if verdict in ("pass", "warn") and document["format"]["name"] != "gguf":
        return "Sound, but no GGUF"  # current loaders take nothing else
    if verdict == "fail" and any(map(_stops_loading, document["findings"])):
        return "Does not load"
    return VERDICT_WORDS[verdict]


def _stops_loading(finding: dict[str, Json]) -> bool:
    """An error by which the reference loader rejects the file; others are unsafe or unwanted."""
    return bool(finding["severity"] == "error" and finding["truth"] == "invalid")


def counted(number: int, noun: str) -> str:
    """``1 error``, ``2 errors``."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def counts(findings: Iterable[dict[str, Json]]) -> str:
    """``1 error, 2 notes (1 known)``; empty where there are no findings."""
    findings = list(findings)
    parts = []
    for severity, noun in SEVERITIES.items():
        number = sum(finding["severity"] == severity for finding in findings)
        if number:
            parts.append(counted(number, noun))
    known = sum(is_known(finding) for finding in findings)
    return ", ".join(parts) + (f" ({known:,} known)" if known else "")


def is_known(finding: dict[str, Json]) -> bool:
    """Whether a baseline holds this finding (``report.baseline`` marks it)."""
    return bool(finding.get("known"))


def worst_first(findings: Iterable[dict[str, Json]]) -> list[dict[str, Json]]:
    """By severity; findings of one severity keep their order."""
    order = list(SEVERITIES)
    return sorted(findings, key=lambda finding: order.index(finding["severity"]))


def place_text(finding: dict[str, Json]) -> str:
    """``tensor blk.0.attn_q.weight, byte 4,096 (0x1000)``; empty where there is no place."""
    place = finding["place"]
    parts = [f"{what} {visible(place[what])}" for what in ("key", "tensor") if what in place]
    if "line" in place:
        parts.append(f"template line {place['line']}")
    if "offset" in place:
        parts.append(f"byte {place['offset']:,} (0x{place['offset']:X})")
    return ", ".join(parts)


def file_path(document: dict[str, Json], finding: dict[str, Json]) -> str:
    """Path or link of the file a finding is about: beside what was asked for."""
    source: str = document["source"]
    if finding["file"] == document["name"]:
        return source
    folder, slash, _ = source.rpartition("/")
    return f"{folder}{slash}{finding['file']}"


def uri(path: str) -> str:
    """A path or link as a URI reference (RFC 3986)."""
    if _SCHEME.match(path):
        return quote(path, safe=":/?#[]@!$&'()*+,;=%~")
    encoded = quote(path.removeprefix("./"))
    return f"file://{encoded}" if path.startswith("/") else encoded


def short_number(number: int) -> str:
    """``268.1 M`` for 268,098,176."""
    for size, unit in ((10**12, "T"), (10**9, "B"), (10**6, "M"), (10**3, "K")):
        if number >= size:
            return f"{number / size:.1f} {unit}"
    return str(number)


def format_name(form: dict[str, Json]) -> str | None:
    """``GGUF v3`` from the document's ``format``; None for what is not recognised."""
    if form["name"] == "unknown":
        return None
    name: str = form["name"].upper()
    return name if form["version"] is None else f"{name} v{form['version']}"


def facts(document: dict[str, Json]) -> list[str]:
    """Format, kind, architecture, parameters and quantisation, as far as they are known."""
    form, summary = document["format"], document["summary"]
    if form["byte_order"] is None:
        return []
    parts = [document["kind"]]
    name = format_name(form)
    if name is not None:
        parts.insert(0, name)
    if summary["architecture"]:
        parts.append(visible(summary["architecture"]))
    if summary["parameters"]:
        parts.append(f"{short_number(summary['parameters'])} parameters")
    if summary["quant"]:
        bits = summary["bits_per_weight"]
        parts.append(summary["quant"] + (f" ({bits} bits/weight)" if bits else ""))
    return parts


def totals(documents: list[dict[str, Json]]) -> str:
    """``27 models: 25 pass, 0 warn, 2 fail, 0 unreadable``."""
    parts = [
        f"{sum(document['verdict'] == verdict for document in documents)} {verdict}"
        for verdict in VERDICT_WORDS
    ]
    return f"{counted(len(documents), 'model')}: {', '.join(parts)}"
