"""Run the rules over a model: findings where they are broken, reasons where they could not run."""

import hashlib
import logging
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import islice

from ggufhub.formats.kind import MMPROJ
from ggufhub.formats.model import ModelFile
from ggufhub.limits import Limits
from ggufhub.rules.known_templates import base_templates
from ggufhub.rules.policy import Policy
from ggufhub.rules.profiles import DEFAULT_PROFILE, selected
from ggufhub.rules.registry import Hit, Need, Rule, Severity
from ggufhub.rules.subject import Subject
from ggufhub.sources.base import EXPECTED

OF_EVERY_FILE = frozenset({Need.TENSORS, Need.SIZE})
"""What a rule about the whole model needs of all its files; the rest the first one carries."""

COUNTED = 100_000
"""Findings of one rule that are counted beside those kept: a file can hold one in every byte."""

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Finding:
    """One place where a rule is broken, complete: what, where, and what to do."""

    rule: Rule
    severity: Severity
    file: str
    hit: Hit

    @property
    def fix(self) -> str:
        return self.hit.fix or self.rule.fix

    @property
    def fingerprint(self) -> str:
        """Equal for the same defect in the next release: rule, file and subject, no offsets."""
        subject = (self.rule.id, self.file, self.hit.key or "", self.hit.tensor or "")
        joined = "\0".join(subject).encode("utf-8", "surrogateescape")
        return hashlib.sha256(joined).hexdigest()[:16]


@dataclass(slots=True)
class Outcome:
    """All findings, and for each rule that could not run the reason.

    ``evaluated`` holds the ids of the rules that ran; ``ignored`` the rules whose findings the
    policy does not count: id, reason, and how many there were.
    """

    findings: list[Finding] = field(default_factory=list)
    not_evaluated: list[tuple[str, str]] = field(default_factory=list)
    evaluated: list[str] = field(default_factory=list)
    ignored: list[tuple[str, str, int]] = field(default_factory=list)


def evaluate(subject: Subject, limits: Limits, profile: str = DEFAULT_PROFILE) -> Outcome:
    """Run the rules of the profile, as the subject's policy changes it; errors come first.

    At most ``limits.findings_per_rule`` findings each; the rest is counted.
    """
    outcome = Outcome()
    for rule in selected(profile, subject.policy):
        reasons: list[str] = []
        found = _run(rule, subject, reasons, limits.findings_per_rule)
        if reasons:
            outcome.not_evaluated.append((rule.id, reasons[0]))
        else:
            outcome.evaluated.append(rule.id)
        _count(rule, found, subject.policy, outcome)
    order = list(Severity)
    outcome.findings.sort(key=lambda finding: order.index(finding.severity))
    return outcome


def _run(rule: Rule, subject: Subject, reasons: list[str], most: int) -> list[Finding]:
    """The findings of one rule. A defect in a rule costs that rule, never the report."""
    try:
        return _first(_findings(rule, subject, reasons), most)
    except Exception as error:  # of any kind: it is our defect, and it is logged
        log.exception("rule %s", rule.id)
        reasons.append(f"the rule itself failed ({type(error).__name__})")
        return []


def _count(rule: Rule, found: list[Finding], policy: Policy | None, outcome: Outcome) -> None:
    """Add findings to the outcome, ignored or of another severity where the policy says so."""
    reason = None if policy is None else policy.reason(rule.id)
    if found and reason is not None:
        outcome.ignored.append((rule.id, reason, len(found)))
    elif policy is not None and rule.id in policy.severity:
        severity = Severity(policy.severity[rule.id])
        outcome.findings += [replace(finding, severity=severity) for finding in found]
    else:
        outcome.findings += found


def _findings(rule: Rule, subject: Subject, reasons: list[str]) -> Iterator[Finding]:
    if rule.check_file is not None:
        for file in subject.files:
            missing = _unmet(rule, subject, file)
            if missing is not None:
                reasons.append(missing)
                continue
            yield from _named(rule, file, rule.check_file(file))
        return
    missing = _unmet(rule, subject)
    if missing is not None:
        reasons.append(missing)
    elif rule.check_model is not None:
        yield from _named(rule, subject.first, rule.check_model(subject))
    elif rule.check_template is not None:
        for facts in subject.templates:
            yield from _named(rule, subject.first, rule.check_template(subject, facts))


def _named(rule: Rule, file: ModelFile, hits: Iterator[Hit]) -> Iterator[Finding]:
    for hit in hits:
        yield Finding(rule, hit.severity or rule.severity, file.name, hit)


def _first(findings: Iterator[Finding], most: int) -> list[Finding]:
    """Up to ``most`` findings; the last one tells how many more there were."""
    kept = list(islice(findings, most))
    more = sum(1 for _ in islice(findings, COUNTED + 1))
    if more:
        last = kept[-1]
        told = f"{more:,} more" if more <= COUNTED else f"more than {COUNTED:,} other"
        message = f"{last.hit.message} (and {told} findings of this rule)"
        kept[-1] = replace(last, hit=replace(last.hit, message=message))
    return kept


def _unmet(rule: Rule, subject: Subject, file: ModelFile | None = None) -> str | None:
    """Why the rule cannot speak about a file, or the model without one; None where it can."""
    one = file or subject.first
    if one.header is not None and one.header.format not in rule.formats:
        return f"the rule is not about {one.header.format} files"
    for need in rule.needs:
        asked = subject.files if file is None and need in OF_EVERY_FILE else [one]
        for other in asked:
            reason = _CHECKS[need](other, subject)
            if reason is not None:
                return reason if other is one else f"{other.name}: {reason}"
    return None


def _keys_unread(file: ModelFile, subject: Subject) -> str | None:
    header = file.header
    if header is None:
        return f"this is {file.form.title}"
    if header.keys_end is None:
        return _why_stopped(file, "the keys")
    return None


def _no_tokens(file: ModelFile, subject: Subject) -> str | None:
    reason = _keys_unread(file, subject)
    if reason is not None:
        return reason
    vocabulary = subject.vocabulary
    return "there is no vocabulary" if vocabulary.array is None else vocabulary.too_large


def _tensors_unread(file: ModelFile, subject: Subject) -> str | None:
    reason = _keys_unread(file, subject)
    if reason is not None:
        return reason
    assert file.header is not None
    return None if file.header.complete else _why_stopped(file, "the tensor table")


def _why_stopped(file: ModelFile, what: str) -> str:
    header = file.header
    if header is not None and header.limit is not None:
        return f"{what} could not be read within our limits: {header.limit.message}"
    return f"{what} could not be read to the end"


def _size_unknown(file: ModelFile, subject: Subject) -> str | None:
    return "the size of the file is unknown" if file.size is None else None


def _one_digest(file: ModelFile, subject: Subject) -> str | None:
    algorithms = [digest.algorithm for digest in file.identity.digests]
    layers = [layer for layer in file.identity.layers if layer.digest and layer.computed]
    expected = any(digest.basis == EXPECTED for digest in file.identity.digests)
    if layers or expected or len(set(algorithms)) < len(algorithms):
        return None
    return "no two digests of this file are known by the same algorithm"


def _shards_missing(file: ModelFile, subject: Subject) -> str | None:
    if not subject.missing:
        return None
    name, error = next(iter(subject.missing.items()))
    return f"{len(subject.missing)} shards could not be read, the first {name}: {error.message}"


def _no_template(file: ModelFile, subject: Subject) -> str | None:
    return None if subject.templates else "there is no chat template"


def _not_run(file: ModelFile, subject: Subject) -> str | None:
    reason = _no_template(file, subject)
    if reason is None and not any(facts.renders for facts in subject.templates):
        facts = subject.templates[0]
        reason = facts.stopped or "the template does not compile"
    return reason


def _not_whole(file: ModelFile, subject: Subject) -> str | None:
    return "needs every byte: only depth full reads them" if file.faults is None else None


def _base_unknown(file: ModelFile, subject: Subject) -> str | None:
    reason = _no_template(file, subject)
    if reason is None and not base_templates(subject):
        return "no base model is declared whose template is known"
    return reason


def _no_companion(file: ModelFile, subject: Subject) -> str | None:
    if subject.kind != MMPROJ:
        return "this is no projector"
    if subject.companion is None or subject.companion.header is None:
        return "there is not exactly one text model beside the projector"
    return None


def _nothing(file: ModelFile, subject: Subject) -> str | None:
    return None


_CHECKS = {
    Need.HEAD: _nothing,
    Need.KEYS: _keys_unread,
    Need.TOKENS: _no_tokens,
    Need.TENSORS: _tensors_unread,
    Need.SIZE: _size_unknown,
    Need.DIGESTS: _one_digest,
    Need.SHARDS: _shards_missing,
    Need.TEMPLATE: _no_template,
    Need.RENDERS: _not_run,
    Need.COMPANION: _no_companion,
    Need.BASE_TEMPLATE: _base_unknown,
    Need.DATA: _not_whole,
}
