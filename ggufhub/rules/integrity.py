"""Digests that contradict each other, and templates that a registry puts in place of the own."""

import hashlib
import re
from collections.abc import Iterator

from ggufhub.formats.header import Span
from ggufhub.formats.model import ModelFile
from ggufhub.rules.registry import (
    ALL_FORMATS,
    Hit,
    Need,
    Severity,
    Truth,
    file_rule,
    model_rule,
)
from ggufhub.rules.samples import Gguf
from ggufhub.rules.subject import Subject
from ggufhub.sources.base import EXPECTED, Digest
from ggufhub.templating.facts import TEMPLATE_KEY as TEMPLATE

_RANK = (
    "computed from all bytes",
    EXPECTED,
    "declared by hub",
    "declared by registry",
    "in a manifest",
    "declared by server",
)
"""Bases of digests, the one to believe first."""

_GO_TEMPLATE = re.compile(r"\{\{-?\s*(?:\.|\$|range|if|else|end|with|template|block|define|/\*)")
"""What begins an action in a Go template and no expression in Jinja."""


def _with_manifest(digest: str) -> dict[str, bytes]:
    return {"model.gguf": _SAMPLE, "model.gguf.sha256": f"{digest}  model.gguf\n".encode()}


_SAMPLE = Gguf().key("general.architecture", "llama").build()


@file_rule(
    "STR035",
    "Digest differs from the published one",
    Severity.ERROR,
    Truth.INVALID,
    needs=(Need.DIGESTS,),
    formats=ALL_FORMATS,
    runtimes=("llama.cpp", "ollama"),
    help="Hubs, registries, checksum files and the person who asked each name a digest of the "
    "file. They must be the same, and the same as the digest of the bytes where all of them were "
    "read. A digest you expect and that nothing could be compared with is an error too. A "
    "difference means a damaged download, another version, or a file that was exchanged.",
    fix="Fetch the file again from its first publisher and compare its SHA-256.",
    failing=lambda: _with_manifest("ab" * 32),
    passing=lambda: _with_manifest(hashlib.sha256(_SAMPLE).hexdigest()),
)
def digests_differ(file: ModelFile) -> Iterator[Hit]:
    for algorithm in sorted({digest.algorithm for digest in file.identity.digests}):
        known = sorted(
            (digest for digest in file.identity.digests if digest.algorithm == algorithm),
            key=lambda digest: _RANK.index(digest.basis),
        )
        believed = known[0]
        if len(known) == 1 and believed.basis == EXPECTED:
            yield _unverified(file, believed)
        for other in known[1:]:
            if other.value != believed.value:
                expected, actual = _pair(believed, other)
                yield Hit(
                    f"The {algorithm.upper()} {other.basis} is not the one {believed.basis}.",
                    span=Span(0, file.size or 0),
                    expected=expected,
                    actual=actual,
                )
    for layer in file.identity.layers:
        if layer.digest is not None and layer.computed not in (None, layer.digest):
            yield Hit(
                f"The {layer.kind} beside the model does not have the digest it is listed under.",
                span=Span(0, file.size or 0),
                expected=layer.digest,
                actual=layer.computed,
            )


def _unverified(file: ModelFile, expected: Digest) -> Hit:
    """Nothing to compare with must not look like a digest that was compared."""
    return Hit(
        f"The {expected.algorithm.upper()} you expect could not be verified: nobody declares one, "
        "and not every byte was read.",
        span=Span(0, file.size or 0),
        expected=expected.value,
        fix="Check the file at depth full, which computes the digest from every byte.",
    )


def _pair(believed: Digest, other: Digest) -> tuple[str, str]:
    """What the bytes have is the actual value; without them, the one to believe is expected."""
    if believed.basis == "computed from all bytes":
        return other.value, believed.value
    return believed.value, other.value


@model_rule(
    "PRV006",
    "Another template is shipped beside the model",
    Severity.WARNING,
    Truth.ADVICE,
    needs=(Need.KEYS,),
    runtimes=("ollama", "docker"),
    help="A registry ships the chat template as a layer of its own, and its runtime uses that one "
    "and not the template in the model. Where the two differ, the same model answers differently "
    "in different programs. Templates in Go's language cannot be compared with the model's line "
    "by line; that they exist is then noted.",
    fix="Compare the two templates, and publish the one that was meant in both places.",
    failing=lambda: _with_layer("{{ messages[0].content }}"),
    passing=lambda: _with_layer("{{ messages }}"),
)
def other_template(model: Subject) -> Iterator[Hit]:
    own = model.text(TEMPLATE)
    for layer in model.opened.identity.layers:
        if layer.kind != "template" or layer.text is None or _same(layer.text, own):
            continue
        info = own is None or _GO_TEMPLATE.search(layer.text) is not None
        yield Hit(
            _difference(own, info),
            key=TEMPLATE,
            severity=Severity.INFO if info else Severity.WARNING,
        )


def _difference(own: str | None, info: bool) -> str:
    if own is None:
        return "A chat template is shipped beside the model, which holds none of its own."
    if info:
        return "The template beside the model is in Go's language: whether both agree is unknown."
    return "The template beside the model is not the one in the model."


def _same(text: str, own: str | None) -> bool:
    return own is not None and text.strip() == own.strip()


def _with_layer(template: str) -> dict[str, bytes]:
    model = Gguf().key("general.architecture", "llama").key(TEMPLATE, "{{ messages }}")
    return {"model.gguf": model.build(), "template": template.encode()}
