"""Baseline: the findings a team knows already, so that only new ones fail a build."""

import json
from pathlib import Path

from ggufhub.errors import UsageError
from ggufhub.report.codec import Json

BASELINE_SCHEMA = "ggufhub.baseline/1"


def baseline_document(documents: list[dict[str, Json]]) -> dict[str, Json]:
    """What ``--write-baseline`` writes: every finding's fingerprint, and what it stands for."""
    findings = {
        finding["fingerprint"]: {part: finding[part] for part in ("rule", "file", "message")}
        for document in documents
        for finding in document["findings"]
    }
    return {"schema": BASELINE_SCHEMA, "findings": dict(sorted(findings.items()))}


def read_baseline(path: Path) -> frozenset[str]:
    """The fingerprints in a baseline file; ``UsageError`` where it is none."""
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"the baseline {path} cannot be read: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise UsageError(f"the baseline {path} is not JSON: {error}") from error
    if not isinstance(values, dict) or values.get("schema") != BASELINE_SCHEMA:
        raise UsageError(f"the baseline {path} does not have the schema {BASELINE_SCHEMA}")
    findings = values.get("findings")
    if not isinstance(findings, dict):
        raise UsageError(f"the baseline {path}: findings must be an object")
    return frozenset(findings)


def mark_known(document: dict[str, Json], fingerprints: frozenset[str]) -> dict[str, Json]:
    """The document with ``known`` set, true or false, on every finding."""
    findings = [
        {**finding, "known": finding["fingerprint"] in fingerprints}
        for finding in document["findings"]
    ]
    return {**document, "findings": findings}
