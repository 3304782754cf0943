"""The report document: its schema name, its parts, and how verdicts are ranked."""

from dataclasses import dataclass, field

from ggufhub.report.codec import Json, PackedArray

REPORT_SCHEMA = "ggufhub.report/1"
CHECK_SCHEMA = "ggufhub.check/1"

VERDICTS = ("pass", "warn", "fail", "unreadable")
"""From best to worst."""

SHOW_PARTS = ("metadata", "tensors", "templates", "memory")
"""What `show` adds to what `check` prints."""

_CHECK_PARTS = (
    "schema",
    "source",
    "name",
    "kind",
    "verdict",
    "error",
    "profile",
    "depth",
    "format",
    "summary",
    "files",
    "notes",
    "layers",
    "findings",
    "not_evaluated",
    "ignored",
    "reads",
    "seconds",
    "rule_set",
)


@dataclass(slots=True)
class Report:
    """``document`` is safe JSON; ``arrays`` holds the large arrays by metadata key."""

    document: dict[str, Json]
    arrays: dict[str, PackedArray] = field(default_factory=dict)

    @property
    def verdict(self) -> str:
        verdict: str = self.document["verdict"]
        return verdict

    def linked(self) -> dict[str, Json]:
        """The document with the digest of each packed array on the key that holds it."""
        metadata = [
            {**entry, "array": self.arrays[entry["key"]].digest}
            if entry["key"] in self.arrays and isinstance(entry["value"], dict)
            else entry
            for entry in self.document["metadata"]
        ]
        return {**self.document, "metadata": metadata}

    @property
    def retry_after(self) -> float | None:
        """Seconds after which the source may be tried again, where a server asked for that."""
        error = self.document["error"]
        seconds: float | None = error.get("retry_after") if error else None
        return seconds


def worst(verdicts: list[str]) -> str:
    """The worst of some verdicts; ``pass`` for none."""
    return max(verdicts, key=VERDICTS.index, default="pass")


def check_document(documents: list[dict[str, Json]]) -> dict[str, Json]:
    """What `ggufhub check --format json` prints. A part that an older report lacks is null."""
    reports = [{part: document.get(part) for part in _CHECK_PARTS} for document in documents]
    verdict = worst([document["verdict"] for document in documents])
    return {"schema": CHECK_SCHEMA, "verdict": verdict, "reports": reports}


def show_document(document: dict[str, Json]) -> dict[str, Json]:
    """What `ggufhub show --json` prints: the check's report with the contents added."""
    return {part: document.get(part) for part in (*_CHECK_PARTS, *SHOW_PARTS)}
