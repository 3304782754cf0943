"""What is different from the last audit: models, bytes, verdicts and findings."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from ggufhub.audit.facts import Row
from ggufhub.report.codec import Json
from ggufhub.report.document import VERDICTS


@dataclass(frozen=True, slots=True)
class Brief:
    """What is remembered of a model until the next audit. ``fingerprints`` are those of errors
    and warnings: notes come and go without anybody having to act."""

    path: str
    identity: str | None
    verdict: str
    fingerprints: frozenset[str] = field(default_factory=frozenset)

    @classmethod
    def of(cls, row: Row) -> "Brief":
        report = row["report"]
        prints = frozenset(
            finding["fingerprint"]
            for finding in report["findings"]
            if finding["severity"] != "info"
        )
        return cls(row["path"], row["identity"], report["verdict"], prints)


def changes(before: Iterable[Brief], after: Iterable[Brief]) -> dict[str, Json]:
    """Paths of models that are new, gone, or of other bytes; verdicts that changed, each with
    both; and the fingerprints of findings that are new, by path. ``regressions`` are the models
    that got worse: another verdict further down, or new findings at the same one.
    """
    old = {brief.path: brief for brief in before}
    new = {brief.path: brief for brief in after}
    both = [(old[path], new[path]) for path in new if path in old]
    verdicts = [
        {"path": now.path, "before": then.verdict, "after": now.verdict}
        for then, now in both
        if then.verdict != now.verdict
    ]
    found = {
        now.path: sorted(now.fingerprints - then.fingerprints)
        for then, now in both
        if now.fingerprints - then.fingerprints
    }
    return {
        "new": [path for path in new if path not in old],
        "gone": [path for path in old if path not in new],
        "changed": [now.path for then, now in both if _other_bytes(then, now)],
        "verdicts": verdicts,
        "findings": found,
        "regressions": _regressions(both, new, old),
    }


def _other_bytes(then: Brief, now: Brief) -> bool:
    known = then.identity is not None and now.identity is not None
    return known and then.identity != now.identity


def _regressions(
    both: list[tuple[Brief, Brief]], new: dict[str, Brief], old: dict[str, Brief]
) -> list[str]:
    """Models that got worse, and new ones that are not sound."""
    worse = [
        now.path
        for then, now in both
        if VERDICTS.index(now.verdict) > VERDICTS.index(then.verdict)
        or (now.verdict != "pass" and now.fingerprints - then.fingerprints)
    ]
    unsound = ("fail", "unreadable")
    return worse + [p for p, brief in new.items() if p not in old and brief.verdict in unsound]
