"""From a source to a report: load, judge, count, and fold it all into one document."""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING

from ggufhub.errors import (
    BytesMissing,
    FormatError,
    GgufHubError,
    LimitExceeded,
    SourceChanged,
    SourceError,
)
from ggufhub.estimate.memory import memory_document
from ggufhub.estimate.size import bits_per_weight, parameters
from ggufhub.formats.detect import UNKNOWN
from ggufhub.formats.facts import header_facts
from ggufhub.formats.file_types import file_type_name
from ggufhub.formats.header import Header
from ggufhub.formats.load import load_model
from ggufhub.formats.model import Model, ModelFile
from ggufhub.integrity.beside import add_computed, add_evidence
from ggufhub.limits import FULL, HEADER, Limits
from ggufhub.report import contents
from ggufhub.report.codec import Json, safe_name, safe_text, safe_words
from ggufhub.report.document import REPORT_SCHEMA, Report
from ggufhub.report.parts import part_digests
from ggufhub.report.templates import template_facts, template_parts
from ggufhub.rules.engine import Finding, Outcome, evaluate
from ggufhub.rules.policy import Policy
from ggufhub.rules.profiles import DEFAULT_PROFILE, selected
from ggufhub.rules.registry import Severity
from ggufhub.rules.subject import Subject
from ggufhub.sources.base import ByteSource, Identity, Reads

if TYPE_CHECKING:
    from ggufhub.integrity.checkpoint import Checkpoints

RULE_SET = "2026.11.4"
"""Version of the rule set; it changes with every change of a rule."""

REFERENCE = "llama.cpp 0c1e57098"
"""The commit whose tables and checks the rules follow."""

Progress = Callable[[str, Reads], None]


def inspect(
    source: ByteSource,
    *,
    limits: Limits | None = None,
    profile: str = DEFAULT_PROFILE,
    policy: Policy | None = None,
    progress: Progress | None = None,
    arrays: bool = True,
    expected: Mapping[str, str] | None = None,
    depth: str = HEADER,
    judge: bool = True,
    checkpoints: "Checkpoints | None" = None,
) -> Report:
    """Inspect one model and report on it, whatever its bytes hold.

    A source that fails gives a report with the verdict ``unreadable``. Raises only
    ``BytesMissing``: a header-only upload has to grow before there is anything to report.
    ``arrays=False`` leaves the large arrays out of the result. ``expected`` holds digests (hex)
    that the file must have, by algorithm. A file that changes while it is read is read anew once.
    At depth ``full`` every byte of every file is read; ``limits`` must allow it the time, and
    ``checkpoints`` let a later attempt go on where this one ended.
    ``judge=False`` only looks inside: no template is run and no rule, so the verdict says nothing.
    ``UsageError`` for a profile that does not exist.
    """
    limits = limits or Limits()
    clock = _Clock()
    stage = _Stage(source.reads, progress)
    try:
        work = _Work(limits, expected or {}, depth, stage, clock, checkpoints)
        model = _load(source, work)
    except BytesMissing:
        raise
    except GgufHubError as error:
        return unreadable(source.locator, error, profile, source.reads, policy, depth)
    with clock.stage("templates"):
        subject = Subject.of(model, template_facts(model) if judge else [], policy)
    with clock.stage("rules"):
        outcome = evaluate(subject, limits, profile) if judge else Outcome()
    with clock.stage("report"):
        document = _document(subject, outcome, profile, source.reads, _problem(subject), depth)
        header = model.header
        packed = contents.packed_arrays(header) if arrays and header is not None else {}
    document["seconds"] = clock.seconds
    return Report(document, packed)


class _Clock:
    """Wall seconds by stage."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        began = time.perf_counter()
        try:
            yield
        finally:
            self.seconds[name] = round(time.perf_counter() - began, 4)


class _Stage:
    """Tells the listener what is being done with every change of ``reads``."""

    def __init__(self, reads: Reads, progress: Progress | None) -> None:
        self._name = "reading"
        if progress is not None:
            reads.listener = lambda reads: progress(self._name, reads)

    def every_byte(self, done: int, total: int | None) -> None:
        """``done`` of ``total`` bytes of the model were read."""
        share = "" if total is None else f", {100 * done // max(total, 1)} % of {total:,} bytes"
        self._name = f"reading every byte{share}"


@dataclass(frozen=True, slots=True)
class _Work:
    """How a model is to be read, and who hears of it."""

    limits: Limits
    expected: Mapping[str, str]
    depth: str
    stage: _Stage
    clock: _Clock
    checkpoints: "Checkpoints | None"


def _load(source: ByteSource, work: _Work) -> Model:
    """The model with all that is known about its files."""
    try:
        return _read(source, work)
    except SourceChanged:
        source.reset()
        return _read(source, work)


def _read(source: ByteSource, work: _Work) -> Model:
    with work.clock.stage("read"):
        model = load_model(source, work.limits)
    with work.clock.stage("digests"):
        add_evidence(model, source, work.expected)
    if work.depth == FULL:
        _read_every_byte(model, source, work)
    add_computed(model)
    return model


def _read_every_byte(model: Model, source: ByteSource, work: _Work) -> None:
    # Here, because numpy is not needed for a header.
    from ggufhub.integrity.checkpoint import Checkpoints
    from ggufhub.integrity.full_read import read_whole
    from ggufhub.integrity.sampling import unsampled

    checkpoints = work.checkpoints or Checkpoints()
    work.stage.every_byte(0, None)
    with work.clock.stage("every byte"):
        read_whole(model, source, work.stage.every_byte, checkpoints=checkpoints)
    notes = [*checkpoints.notes, *unsampled(one for file in model.files for one in file.data)]
    opened = model.opened
    opened.identity = replace(opened.identity, notes=(*opened.identity.notes, *notes))


def _problem(model: Model) -> GgufHubError | None:
    """Why a model that could be fetched was still not read as one, or not to its end."""
    file = model.first
    if not file.form.model:
        return FormatError(file.form.code, f"This is {file.form.title}. {file.form.advice}")
    return None if file.header is None else file.header.limit


def _document(
    model: Subject,
    outcome: Outcome,
    profile: str,
    reads: Reads,
    error: GgufHubError | None,
    depth: str,
) -> dict[str, Json]:
    header = model.header
    return {
        "schema": REPORT_SCHEMA,
        "source": safe_text(model.opened.identity.locator),
        "name": safe_name(model.opened.name),
        "kind": model.kind,
        "verdict": _verdict(outcome, error),
        "error": None if error is None else _error(error),
        "profile": profile,
        "depth": depth,
        "format": _format(model.first),
        "summary": _summary(model),
        "files": [_file(file) for file in model.files],
        "notes": [safe_text(note) for note in model.opened.identity.notes],
        "layers": contents.layers(model.opened.identity.layers),
        "findings": [_finding(finding) for finding in outcome.findings],
        "not_evaluated": [
            {"rule": rule, "reason": safe_words(reason)} for rule, reason in outcome.not_evaluated
        ],
        "ignored": [
            {"rule": rule, "reason": safe_text(reason), "findings": count}
            for rule, reason, count in outcome.ignored
        ],
        "metadata": contents.metadata(header) if header else [],
        "tensors": contents.tensors(model),
        "types": [asdict(share) for share in model.shares],
        "parts": part_digests(model),
        "layout": contents.layout(model.first),
        "shard_layouts": {
            safe_name(file.identity.name): contents.layout(file) for file in model.files[1:]
        },
        "templates": template_parts(header, model.templates) if header else [],
        "memory": memory_document(model),
        "reads": {"requests": reads.requests, "bytes": reads.bytes},
        "seconds": {},
        "rule_set": {
            "version": RULE_SET,
            "reference": REFERENCE,
            "evaluated": outcome.evaluated,
        },
    }


def _error(error: GgufHubError) -> dict[str, Json]:
    """``retry_after`` (seconds) is there where a server asked us to come back later."""
    known: dict[str, Json] = {"code": error.code, "message": safe_words(error.message)}
    if isinstance(error, SourceError) and error.retry_after is not None:
        known["retry_after"] = error.retry_after
    return known


def _verdict(outcome: Outcome, error: GgufHubError | None) -> str:
    severities = {finding.severity for finding in outcome.findings}
    if isinstance(error, LimitExceeded) and Severity.ERROR in severities:
        return "fail"  # what was read before the limit is enough to know
    if error is not None:
        return "unreadable"
    if Severity.ERROR in severities:
        return "fail"
    return "warn" if Severity.WARNING in severities else "pass"


def _format(file: ModelFile) -> dict[str, Json]:
    header = file.header or Header("unknown", file.size)
    return {
        "name": header.format,
        "version": header.version,
        "byte_order": header.byte_order.value if header.byte_order else None,
        "alignment": header.alignment,
        "kv_count": header.kv_count,
        "tensor_count": header.tensor_count,
        "data_offset": header.data_offset,
    }


def _summary(model: Subject) -> dict[str, Json]:
    shares = model.shares
    facts = header_facts(model.header or Header("unknown", None))
    file_type = facts.file_type
    quant = shares[0].type if shares else None
    return {
        "name": _name(model.text("general.name")),
        "architecture": _name(facts.architecture),
        "parameters": parameters(shares),
        "quant": quant if file_type is None else file_type_name(file_type),
        "bits_per_weight": bits_per_weight(shares),
        "context_length": facts.context_length,
        "vocabulary": None if facts.tokens is None else facts.tokens.count,
        "license": _name(model.text("general.license")),
        "file_type": file_type,
    }


def _safe(text: str | None) -> str | None:
    return None if text is None else safe_words(text)


def _name(text: str | None) -> str | None:
    return None if text is None else safe_name(text)


def _file(file: ModelFile) -> dict[str, Json]:
    identity = file.identity
    return {
        "name": safe_name(identity.name),
        "size": file.size,
        "digests": [asdict(digest) for digest in identity.digests],
        "tensor_digests": file.tensor_digests,
        "signature": contents.signature(file),
        "etag": _safe(identity.etag),
        "last_modified": _safe(identity.last_modified),
        "hops": [
            {"host": safe_text(hop.host), "status": hop.status, "seconds": hop.seconds}
            for hop in identity.hops
        ],
    }


def _finding(finding: Finding) -> dict[str, Json]:
    hit = finding.hit
    place: dict[str, Json] = {}
    if hit.span is not None:
        place |= {"offset": hit.span.offset, "length": hit.span.length}
    place |= {
        name: safe_name(value)
        for name, value in (("key", hit.key), ("tensor", hit.tensor))
        if value is not None
    }
    if hit.line is not None:
        place["line"] = hit.line
    return {
        "rule": finding.rule.id,
        "severity": finding.severity.value,
        "truth": finding.rule.truth.value,
        "title": finding.rule.title,
        "message": safe_words(hit.message),
        "file": safe_name(finding.file),
        "place": place,
        "expected": _safe(hit.expected),
        "actual": _safe(hit.actual),
        "fix": safe_words(finding.fix),
        "fingerprint": finding.fingerprint,
    }


def unreadable(
    locator: str,
    error: GgufHubError,
    profile: str = DEFAULT_PROFILE,
    reads: Reads | None = None,
    policy: Policy | None = None,
    depth: str = HEADER,
) -> Report:
    """The report about a source that could not be read: why, and no guesses."""
    name = locator.rsplit("/", 1)[-1]
    model = Subject([ModelFile(Identity(locator, name, None), UNKNOWN)])
    reason = f"the source could not be read: {error.message}"
    outcome = Outcome([], [(rule.id, reason) for rule in selected(profile, policy)])
    return Report(_document(model, outcome, profile, reads or Reads(), error, depth))
