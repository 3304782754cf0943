"""SARIF 2.1.0: one run for any number of models, within the limits of GitHub code scanning."""

from typing import Any

from ggufhub import __version__
from ggufhub.report.codec import Json
from ggufhub.report.render.words import file_path, is_known, uri, visible, worst_first
from ggufhub.rules.registry import AREAS, Rule, catalogue

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"

MOST_RESULTS = 5_000
"""GitHub refuses a run of more than 25,000 results and shows the first 5,000 of one."""

LEVELS = {"error": "error", "warning": "warning", "info": "note"}

FINGERPRINT = "ggufhub/v1"


def sarif(documents: list[dict[str, Json]], left_out: int = 0) -> dict[str, Any]:
    """A SARIF log of all findings, the worst first; how many did not fit is a notification.

    ``left_out`` findings, less severe than all others, were dropped before.
    """
    found = [(document, finding) for document in documents for finding in document["findings"]]
    order = {id(finding): rank for rank, finding in enumerate(worst_first(f for _, f in found))}
    found.sort(key=lambda pair: order[id(pair[1])])
    kept = found[:MOST_RESULTS]
    rules = _rules([finding for _, finding in kept])
    places = {rule["id"]: index for index, rule in enumerate(rules)}
    notes = [_unreadable(document) for document in documents if document["error"] is not None]
    dropped = len(found) - len(kept) + left_out
    if dropped:
        notes.append(_left_out(dropped, len(found) + left_out))
    succeeded = all(document["verdict"] != "unreadable" for document in documents)
    run = {
        "tool": {"driver": _driver(documents, rules)},
        "invocations": [
            {"executionSuccessful": succeeded, "toolExecutionNotifications": notes},
        ],
        "artifacts": [artifact for document in documents for artifact in _artifacts(document)],
        "results": [_result(document, finding, places) for document, finding in kept],
        "columnKind": "unicodeCodePoints",
    }
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}


def _driver(documents: list[dict[str, Json]], rules: list[dict[str, Any]]) -> dict[str, Any]:
    versions = sorted({document["rule_set"]["version"] for document in documents})
    return {
        "name": "ggufhub",
        "version": __version__,
        "semanticVersion": __version__,
        "rules": rules,
        "properties": {"ruleSets": versions},
    }


def _rules(findings: list[dict[str, Json]]) -> list[dict[str, Any]]:
    """Every rule that has a result, described; one the catalogue has lost keeps its title."""
    known = {rule.id: rule for rule in catalogue()}
    titles = {finding["rule"]: finding["title"] for finding in findings}
    return [
        _rule(known[id]) if id in known else {"id": id, "shortDescription": {"text": title}}
        for id, title in sorted(titles.items())
    ]


def _rule(rule: Rule) -> dict[str, Any]:
    text = f"{rule.help}\n\nFix: {rule.fix}"
    tags = [AREAS[rule.id[:3]].lower(), rule.truth.value]
    return {
        "id": rule.id,
        "name": "".join(word.capitalize() for word in rule.title.split() if word.isalpha()),
        "shortDescription": {"text": rule.title},
        "fullDescription": {"text": rule.help},
        "help": {"text": text, "markdown": f"{rule.help}\n\n**Fix:** {rule.fix}"},
        "defaultConfiguration": {"level": LEVELS[rule.severity.value]},
        "properties": {"tags": tags, "precision": "high"},
    }


def _artifacts(document: dict[str, Json]) -> list[dict[str, Any]]:
    artifacts = []
    for file in document["files"]:
        place = uri(file_path(document, {"file": file["name"]}))
        artifact: dict[str, Any] = {"location": {"uri": place}}
        if file["size"] is not None:
            artifact["length"] = file["size"]
        hashes = {digest["algorithm"]: digest["value"] for digest in file["digests"]}
        if hashes:
            artifact["hashes"] = hashes
        artifacts.append(artifact)
    return artifacts


def _result(
    document: dict[str, Json], finding: dict[str, Json], places: dict[str, int]
) -> dict[str, Any]:
    result: dict[str, Any] = {
        "ruleId": finding["rule"],
        "ruleIndex": places[finding["rule"]],
        "level": LEVELS[finding["severity"]],
        "message": {"text": _message(finding)},
        "locations": [_location(document, finding)],
        "partialFingerprints": {FINGERPRINT: finding["fingerprint"]},
    }
    if "known" in finding:
        result["baselineState"] = "unchanged" if is_known(finding) else "new"
    return result


def _message(finding: dict[str, Json]) -> str:
    parts = [visible(finding["message"])]
    if finding["expected"] and finding["actual"]:
        parts.append(
            f"Expected {visible(finding['expected'])}, found {visible(finding['actual'])}."
        )
    if "line" in finding["place"]:
        parts.append(f"Line {finding['place']['line']} of the template.")
    parts.append(f"Fix: {visible(finding['fix'])}")
    return " ".join(parts)


def _location(document: dict[str, Json], finding: dict[str, Json]) -> dict[str, Any]:
    """Bytes where they are known, and the name of the key or tensor: a model has no lines."""
    place = finding["place"]
    physical: dict[str, Any] = {"artifactLocation": {"uri": uri(file_path(document, finding))}}
    if "offset" in place:
        physical["region"] = {"byteOffset": place["offset"], "byteLength": place["length"]}
    location: dict[str, Any] = {"physicalLocation": physical}
    logical = [
        {"name": visible(place[what]), "fullyQualifiedName": f"{group}/{visible(place[what])}"}
        for what, group in (("key", "metadata"), ("tensor", "tensors"))
        if what in place
    ]
    if logical:
        location["logicalLocations"] = logical
    return location


def _unreadable(document: dict[str, Json]) -> dict[str, Any]:
    place = {"physicalLocation": {"artifactLocation": {"uri": uri(document["source"])}}}
    return {
        "level": "error" if document["verdict"] == "unreadable" else "warning",
        "descriptor": {"id": document["error"]["code"]},
        "message": {"text": visible(document["error"]["message"])},
        "locations": [place],
    }


def _left_out(number: int, total: int) -> dict[str, Any]:
    text = f"{number:,} of {total:,} findings, the least severe, are left out of this file."
    return {"level": "note", "message": {"text": text}}
