"""The rules about a whole repository, run over the rows of its models and its listing."""

import hashlib
import json
import logging
import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from ggufhub.audit.facts import Row, member_of
from ggufhub.audit.groups import group, is_manifest_name
from ggufhub.integrity.manifests import parse_manifest
from ggufhub.integrity.signatures import parse_bundle
from ggufhub.report.codec import Json, safe_text
from ggufhub.rules.policy import Policy
from ggufhub.rules.profiles import DEFAULT_PROFILE, selected_for_repositories
from ggufhub.rules.registry import Rule
from ggufhub.rules.repository import Card, Repository, RepositoryHit
from ggufhub.sources.listing import Listing

MOST_FINDINGS = 200
"""Of one rule in one repository; the last one tells how many more there are."""

_ORDER = ("error", "warning", "info")

log = logging.getLogger(__name__)

_FRONT = re.compile(r"---\r?\n(.*?)\r?\n---", re.DOTALL)
_FIELD = re.compile(r"^(license|base_model)[ \t]*:[ \t]*(.*)$", re.MULTILINE)
_ITEM = re.compile(r"^[ \t]*-[ \t]*(\S.*)$")


@dataclass(slots=True)
class Judgement:
    """Findings about repositories, each with the ``paths`` it is about; the ids of the rules that
    ran, and the reason for each that did not."""

    findings: list[dict[str, Json]] = field(default_factory=list)
    evaluated: dict[str, None] = field(default_factory=dict)
    not_evaluated: dict[str, str] = field(default_factory=dict)

    def add(
        self,
        listing: Listing,
        rows: Iterable[Row],
        profile: str = DEFAULT_PROFILE,
        policy: Policy | None = None,
    ) -> None:
        """Judge one more repository."""
        repository = make_repository(listing, rows)
        for rule in selected_for_repositories(profile, policy):
            reason = None if policy is None else policy.reason(rule.id)
            if reason is not None:
                self.not_evaluated[rule.id] = f"ignored: {reason}"
                continue
            try:
                hits = _hits(rule, repository)
            except Exception as error:  # of any kind: our defect costs a rule, never the audit
                log.exception("rule %s", rule.id)
                self.not_evaluated[rule.id] = f"the rule itself failed ({type(error).__name__})"
                continue
            self.evaluated[rule.id] = None
            self.findings += [_finding(rule, hit, policy) for hit in hits]
        self.findings.sort(key=lambda finding: _ORDER.index(finding["severity"]))


def make_repository(listing: Listing, rows: Iterable[Row]) -> Repository:
    """What the rules look at."""
    manifests = {
        path: parse_manifest(text, path.rpartition("/")[2])
        for path, text in listing.texts.items()
        if is_manifest_name(path.rpartition("/")[2])
    }
    return Repository(
        members=[member_of(row) for row in rows],
        files=listing.entries,
        manifests=manifests,
        signatures={
            path: parse_bundle(text)
            for path, text in listing.texts.items()
            if path.endswith(".sig")
        },
        cards=_cards(listing),
        declared=_declared(listing),
        parts=group(listing.entries).parts,
    )


def _cards(listing: Listing) -> list[Card]:
    """Cards from README files, and from what a hub says of the card."""
    cards = [
        parse_card(text, path)
        for path, text in listing.texts.items()
        if path.lower().endswith("readme.md")
    ]
    told = listing.declared.get("cardData")
    if isinstance(told, dict):
        path = f"{listing.root}/README.md".lstrip("/")
        licences, bases = _texts(told.get("license")), _texts(told.get("base_model"))
        cards.append(Card(path, licences[0] if licences else None, bases))
    return cards


def _texts(value: Json) -> tuple[str, ...]:
    """A text, or those of a list; cards have either."""
    values = value if isinstance(value, list) else [value]
    return tuple(text for text in values if isinstance(text, str))


def parse_card(text: str, path: str) -> Card:
    """Licence and base models from the YAML head of a README. Only these two plain fields are
    looked for, line by line: a whole YAML parser is a large surface for two words."""
    front = _FRONT.match(text)
    if front is None:
        return Card(path)
    fields = {match[1]: match[2].strip().strip("\"'") for match in _FIELD.finditer(front[1])}
    bases = [fields["base_model"]] if fields.get("base_model") else _items(front[1])
    return Card(path, fields.get("license") or None, tuple(bases))


def _items(front: str) -> list[str]:
    """The lines ``- name`` after ``base_model:``."""
    found: list[str] = []
    inside = False
    for line in front.splitlines():
        item = _ITEM.match(line)
        if inside and item:
            found.append(item[1].strip().strip("\"'"))
        else:
            inside = line.startswith("base_model:")
    return found


def _declared(listing: Listing) -> dict[str, Any]:
    facts = listing.declared.get("gguf")
    return facts if isinstance(facts, dict) else {}


def _hits(rule: Rule, repository: Repository) -> list[RepositoryHit]:
    """The hits of one rule, at most ``MOST_FINDINGS``."""
    assert rule.check_repository is not None
    hits = list(rule.check_repository(repository))
    if len(hits) > MOST_FINDINGS:
        more = len(hits) - MOST_FINDINGS
        last = hits[MOST_FINDINGS - 1]
        note = f"{last.message} (and {more:,} more findings of this rule)"
        hits[MOST_FINDINGS - 1 :] = [replace(last, message=note)]
    return hits


def _finding(rule: Rule, hit: RepositoryHit, policy: Policy | None) -> dict[str, Json]:
    severity = (hit.severity or rule.severity).value
    if policy is not None:
        severity = policy.severity.get(rule.id, severity)
    return {
        "rule": rule.id,
        "severity": severity,
        "truth": rule.truth.value,
        "title": rule.title,
        "message": safe_text(hit.message),
        "file": safe_text(hit.paths[0]),
        "paths": [safe_text(path) for path in hit.paths],
        "place": {},
        "expected": None if hit.expected is None else safe_text(hit.expected),
        "actual": None if hit.actual is None else safe_text(hit.actual),
        "fix": rule.fix,
        "fingerprint": _fingerprint(rule.id, hit.paths[0]),
    }


def _fingerprint(rule: str, path: str) -> str:
    """Equal for the same disagreement in the next audit."""
    joined = json.dumps([rule, path]).encode()
    return hashlib.sha256(joined).hexdigest()[:16]
