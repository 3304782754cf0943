"""Digests that contradict each other, and templates that a registry puts in place of the own."""

import base64
import hashlib
import json
import re
from collections.abc import Iterator

import xxhash

from ggufhub.formats.header import Span
from ggufhub.formats.model import ModelFile, TensorData
from ggufhub.integrity.signatures import PAYLOAD_TYPE, PREDICATE_TYPE, STATEMENT_TYPE
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
    "in a signature",
    "in a manifest",
    "declared by server",
)
"""Bases of digests, the one to believe first."""

_GO_TEMPLATE = re.compile(r"\{\{-?\s*(?:\.|\$|range|if|else|end|with|template|block|define|/\*)")
"""What begins an action in a Go template and no expression in Jinja."""


def _with_manifest(digest: str) -> dict[str, bytes]:
    return {"model.gguf": _SAMPLE, "model.gguf.sha256": f"{digest}  model.gguf\n".encode()}


_SAMPLE = Gguf().key("general.architecture", "llama").build()
_WEIGHTS = bytes(range(128))


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


@file_rule(
    "STR050",
    "Published digest that cannot be checked here",
    Severity.INFO,
    Truth.ADVICE,
    needs=(Need.DATA,),
    formats=ALL_FORMATS,
    help="Somebody gives a digest of the file in an algorithm that is not known here. It was not "
    "compared with anything, so it says nothing about the bytes: neither that they are right nor "
    "that they are wrong.",
    fix="Check it with a program that knows the algorithm, or publish a SHA-256 as well.",
    failing=lambda: {
        "model.gguf": _SAMPLE,
        "SHA256SUMS": b"BLAKE3 (model.gguf) = " + b"ab" * 32,
    },
    passing=lambda: _with_manifest(hashlib.sha256(_SAMPLE).hexdigest()),
)
def unknown_algorithm(file: ModelFile) -> Iterator[Hit]:
    for digest in file.identity.digests:
        if digest.algorithm not in file.computed:
            yield Hit(
                f"The {digest.algorithm.upper()} {digest.basis} was not compared: the algorithm "
                "is not known here.",
                span=Span(0, file.size or 0),
                actual=digest.value,
            )


@file_rule(
    "STR051",
    "Tensor data differs from its manifest",
    Severity.ERROR,
    Truth.INVALID,
    needs=(Need.DATA,),
    help="A manifest by llama-gguf-hash lies beside the model, and a digest in it is not the one "
    "of the tensor's data. Only the weights count there, so it also tells whether two files with "
    "other metadata hold the same ones.",
    fix="Fetch the file again, or make the manifest anew where weights were changed on purpose.",
    failing=lambda: _with_tensor_manifest("ab" * 8),
    passing=lambda: _with_tensor_manifest(xxhash.xxh64_hexdigest(_WEIGHTS)),
)
def tensors_differ(file: ModelFile) -> Iterator[Hit]:
    found = {one.tensor.name: one for one in file.data}
    names = {tensor.name for tensor in file.tensors}
    for (name, algorithm), expected in file.manifest.items():
        one = found.get(name)
        digests = file.tensor_digests if name == "" else {} if one is None else one.digests
        actual = digests.get(algorithm)
        if name and name not in names:
            yield Hit(f"The manifest names the tensor {name}, which is not there.", tensor=name)
        elif actual is not None and actual != expected:
            subject = "all tensors as one" if name == "" else f"the data of {name}"
            yield Hit(
                f"The {algorithm.upper()} of {subject} is not the one in the manifest.",
                span=None if one is None or file.header is None else _data_span(file, one),
                tensor=name or None,
                expected=expected,
                actual=actual,
            )


def _data_span(file: ModelFile, one: TensorData) -> Span:
    start = (file.header and file.header.data_offset) or 0
    return Span(start + one.tensor.offset, one.tensor.bytes or 0)


def _with_tensor_manifest(digest: str) -> dict[str, bytes]:
    model = Gguf(data=_WEIGHTS).key("general.architecture", "llama").tensor("a", (32,))
    line = f"xxh64     {digest}  made/here/model.gguf:a\n"
    return {"model.gguf": model.build(), "model.gguf.manifest": line.encode()}


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


@model_rule(
    "PRV007",
    "Signature beside the model",
    Severity.INFO,
    Truth.ADVICE,
    needs=(Need.HEAD,),
    formats=ALL_FORMATS,
    runtimes=("model-signing",),
    help="A file `model.sig` by the rules of the OpenSSF lists the digests of all files of a model "
    "and is signed as a whole. The digests in it are compared like any others. Told here are who "
    "signed (where the extra `signatures` is installed, which checks the certificate), files that "
    "nobody signed, and a list that does not fit together, which is a warning: such a signature "
    "protects nothing. A signature whose certificate does not hold is one too.",
    fix="Check the signer with `model_signing verify`, and sign every file that is published.",
    failing=lambda: _with_bundle({"model.gguf": _SAMPLE, "notes.txt": b"unsigned"}),
    passing=lambda: {"model.gguf": _SAMPLE},
)
def signature(model: Subject) -> Iterator[Hit]:
    signed = model.opened.signature
    if signed is None:
        return
    whole = Span(0, model.opened.size or 0)
    for problem in signed.problems:
        message = f"The signature {signed.name} makes no sense: {problem}."
        yield Hit(message, span=whole, severity=Severity.WARNING)
    if signed.problems:
        return
    bad = signed.standing.startswith("bad")
    told = [f"The model is signed ({signed.standing})."]
    if signed.pieces:
        told.append("Parts of files were signed, whose digests are those of no whole file.")
    for what, names in (("not signed", signed.unsigned), ("signed but absent", signed.absent)):
        if names:
            told.append(f"{len(names):,} files are {what}, the first {names[0]}.")
    severity = Severity.WARNING if bad else Severity.INFO
    yield Hit(" ".join(told), span=whole, severity=severity)


def _with_bundle(files: dict[str, bytes]) -> dict[str, bytes]:
    """``files`` with a bundle beside them in which only the first is signed (by nobody known)."""
    name, data = next(iter(files.items()))
    digest = hashlib.sha256(data)
    statement = {
        "_type": STATEMENT_TYPE,
        "predicateType": PREDICATE_TYPE,
        "subject": [
            {"name": "model", "digest": {"sha256": hashlib.sha256(digest.digest()).hexdigest()}}
        ],
        "predicate": {
            "serialization": {"method": "files", "hash_type": "sha256"},
            "resources": [{"name": name, "algorithm": "sha256", "digest": digest.hexdigest()}],
        },
    }
    payload = base64.b64encode(json.dumps(statement).encode()).decode()
    envelope = {"payloadType": PAYLOAD_TYPE, "payload": payload, "signatures": [{"sig": ""}]}
    bundle = {"verificationMaterial": {"publicKey": {}}, "dsseEnvelope": envelope}
    return {**files, "model.sig": json.dumps(bundle).encode()}
