"""The result of an audit: a head that fits in memory, and rows that are read one after another."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from ggufhub.audit.facts import Row
from ggufhub.audit.judge import Judgement
from ggufhub.report.build import REFERENCE, RULE_SET
from ggufhub.report.codec import Json
from ggufhub.report.document import VERDICTS, worst

AUDIT_SCHEMA = "ggufhub.audit/1"


@dataclass(frozen=True, slots=True)
class AuditResult:
    """``head`` is all but the models; ``rows`` gives them anew with every call, by path."""

    head: dict[str, Json]
    rows: Callable[[], Iterable[Row]]

    def document(self) -> dict[str, Json]:
        """Everything in one object."""
        return {**self.head, "models": [model_part(row) for row in self.rows()]}


class Totals:
    """Counts rows as they come."""

    def __init__(self) -> None:
        self.verdicts = Counter[str]()
        self.files = 0
        self.bytes = 0

    def add(self, row: Row) -> None:
        self.verdicts[row["report"]["verdict"]] += 1
        self.files += len(row["facts"]["files"])
        self.bytes += row["size"] or 0

    @property
    def part(self) -> dict[str, Json]:
        """``models`` and ``files`` in all, their ``bytes``, and the models by verdict."""
        by_verdict = {verdict: self.verdicts[verdict] for verdict in VERDICTS}
        models = sum(by_verdict.values())
        return {"models": models, "files": self.files, "bytes": self.bytes, **by_verdict}


def make_head(
    *,
    source: str,
    profile: str,
    totals: Totals,
    judgement: Judgement,
    places: list[dict[str, Json]],
    problems: list[dict[str, Json]],
    changes: dict[str, Json] | None,
) -> dict[str, Json]:
    """The audit document without its models. Its verdict is the worst there is: a model's, or
    that of the findings about the repository."""
    verdicts = [verdict for verdict in VERDICTS if totals.verdicts[verdict]]
    severities = {finding["severity"] for finding in judgement.findings}
    verdicts += ["fail"] if "error" in severities else ["warn"] if "warning" in severities else []
    return {
        "schema": AUDIT_SCHEMA,
        "source": source,
        "profile": profile,
        "verdict": worst(verdicts),
        "totals": totals.part,
        "places": places,
        "findings": judgement.findings,
        "not_evaluated": [
            {"rule": rule, "reason": reason} for rule, reason in judgement.not_evaluated.items()
        ],
        "changes": changes,
        "problems": problems,
        "rule_set": {
            "version": RULE_SET,
            "reference": REFERENCE,
            "evaluated": list(judgement.evaluated),
        },
    }


def model_part(row: Row) -> dict[str, Json]:
    """One model as the audit document shows it."""
    report, facts = row["report"], row["facts"]
    summary = report["summary"]
    return {
        "path": row["path"],
        "family": row["family"],
        "role": row["role"],
        "size": row["size"],
        "files": len(facts["files"]),
        "verdict": report["verdict"],
        "kind": report["kind"],
        "error": report["error"],
        "architecture": facts["architecture"],
        "quant": facts["label"] or facts["quant"] or None,
        "parameters": facts["parameters"],
        "bits_per_weight": summary["bits_per_weight"],
        "counts": row["counts"],
        "findings": report["findings"],
        "reused": row.get("reused", False),
    }


def reports(rows: Iterable[Row], head: dict[str, Json]) -> Iterator[dict[str, Any]]:
    """The rows as report documents, as the exports of single reports take them, with the
    findings about the repository in front under a document of their own."""
    if head["findings"]:
        yield repository_report(head)
    for row in rows:
        yield {**row["report"], "source": row["path"]}


def repository_report(head: dict[str, Json]) -> dict[str, Any]:
    """The findings about the repository in the form of a report on one model."""
    severities = {finding["severity"] for finding in head["findings"]}
    return {
        "source": f"{head['source'].rstrip('/')}/",  # the files of its findings lie below it
        "name": head["source"],
        "verdict": "fail" if "error" in severities else "warn",
        "kind": "repository",
        "error": None,
        "files": [],
        "findings": head["findings"],
        "not_evaluated": head["not_evaluated"],
        "ignored": [],
        "seconds": {},
        "rule_set": head["rule_set"],
    }
