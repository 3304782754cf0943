"""Signatures of models by the OpenSSF's rules: what a ``model.sig`` says was signed.

The file is a Sigstore bundle around a DSSE envelope, whose payload is an in-toto statement: the
digest of every file of the model, and a root, the SHA-256 over all those digests one after the
other (``model_signing/_signing/signing.py`` of model-signing 1.1.1). All of that can be checked
without a byte of the model. Whether the signature itself is good is another question, which
``ggufhub.integrity.certificates`` asks.
"""

import base64
import binascii
import hashlib
import json
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from ggufhub.limits import MIB

NAMES = ("model.sig",)
"""What the tool calls the file."""

MOST_BYTES = 4 * MIB
"""Of a bundle: 10,000 files take 1.5 MB."""

MOST_RESOURCES = 16_384

PAYLOAD_TYPE = "application/vnd.in-toto+json"
STATEMENT_TYPE = "https://in-toto.io/Statement/v1"
PREDICATE_TYPE = "https://model_signing/signature/v1.0"
OLD_PREDICATE_TYPE = "https://model_signing/Digests/v0.1"
"""Before version 1.0: no root, and each file is a subject of its own."""

FILES, SHARDS = "files", "shards"


@dataclass(frozen=True, slots=True)
class Resource:
    """A signed file, or part of one; ``name`` is its path in the model's folder."""

    name: str
    algorithm: str
    digest: str


@dataclass
class Signed:
    """What a bundle says. ``problems`` is empty where all of it makes sense.

    ``root`` tells whether the root digest is the one of ``resources``, None where there is none.
    ``method`` is ``files`` or ``shards`` (digests of pieces of a file, which are those of no whole
    file). ``ignored`` are paths that were left out on purpose. ``material`` is what the signature
    can be checked with: ``certificate``, ``key`` or ``nothing``.
    """

    resources: list[Resource] = field(default_factory=list)
    root: bool | None = None
    method: str = ""
    ignored: list[str] = field(default_factory=list)
    material: str = "nothing"
    problems: list[str] = field(default_factory=list)

    def about(self, name: str) -> Resource | None:
        """The signed digest of the whole file ``name``; None where none was signed."""
        if self.method != FILES:
            return None
        return next((one for one in self.resources if one.name == name), None)

    def covers(self, name: str) -> bool:
        """Whether the file, or parts of it, were signed, or it was left out on purpose."""
        parents = (name[:place] for place, letter in enumerate(name) if letter == "/")
        return name in self._signed or not self._left_out.isdisjoint((name, *parents))

    @property
    def names(self) -> list[str]:
        """The signed files, each once, in their order."""
        return list(self._signed)

    @cached_property
    def _signed(self) -> dict[str, None]:
        shards = self.method == SHARDS
        names = (one.name.rsplit(":", 2)[0] if shards else one.name for one in self.resources)
        return dict.fromkeys(names)

    @cached_property
    def _left_out(self) -> frozenset[str]:
        return frozenset(path.rstrip("/") for path in self.ignored)


def parse_bundle(text: str) -> Signed:
    """Read a bundle, whatever it holds; what makes no sense is a problem, never an exception."""
    signed = Signed()
    try:
        bundle = _object(json.loads(text) if len(text) <= MOST_BYTES else None, "the bundle")
        signed.material = _material(bundle)
        _read_statement(_payload(bundle), signed)
    except (_Problem, RecursionError, ValueError) as problem:
        told = problem.args[0] if isinstance(problem, _Problem) else "this is no JSON"
        signed.problems.append(told)
    return signed


class _Problem(Exception):
    """What makes no sense, in words."""


def _object(value: Any, what: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise _Problem(f"{what} is no JSON object, or too large")
    return value


def _list(value: Any, what: str) -> list[Any]:
    if not isinstance(value, list) or len(value) > MOST_RESOURCES:
        raise _Problem(f"{what} is no list, or longer than {MOST_RESOURCES:,}")
    return value


def _material(bundle: dict[str, Any]) -> str:
    """With what the signature can be checked (protobuf's JSON names, of every bundle version)."""
    material = _object(bundle.get("verificationMaterial", {}), "the verification material")
    if "certificate" in material or "x509CertificateChain" in material:
        return "certificate"
    return "key" if "publicKey" in material else "nothing"


def _payload(bundle: dict[str, Any]) -> dict[str, Any]:
    envelope = _object(bundle.get("dsseEnvelope"), "the DSSE envelope")
    if envelope.get("payloadType") != PAYLOAD_TYPE:
        raise _Problem(f"the payload is not of the type {PAYLOAD_TYPE}")
    if not _list(envelope.get("signatures"), "the list of signatures"):
        raise _Problem("nobody signed the envelope")
    payload = envelope.get("payload")
    try:
        text = base64.b64decode(payload if isinstance(payload, str) else "", validate=True)
    except binascii.Error:
        raise _Problem("the payload is not in Base64") from None
    statement = _object(json.loads(text), "the statement")
    if statement.get("_type") != STATEMENT_TYPE:
        raise _Problem(f"the statement is not of the type {STATEMENT_TYPE}")
    return statement


def _read_statement(statement: dict[str, Any], signed: Signed) -> None:
    subjects = [_object(one, "a subject") for one in _list(statement.get("subject"), "subject")]
    kind = statement.get("predicateType")
    if kind == OLD_PREDICATE_TYPE:
        signed.method = FILES
        for subject in subjects:
            digest = _object(subject.get("digest"), "a digest").get("sha256")
            signed.resources.append(_resource(subject.get("name"), "sha256", digest))
        return
    if kind != PREDICATE_TYPE:
        raise _Problem("the statement is not about a model: its predicate is of an unknown type")
    predicate = _object(statement.get("predicate"), "the predicate")
    how = _object(predicate.get("serialization"), "the serialisation")
    signed.method = str(how.get("method"))
    if signed.method not in (FILES, SHARDS):
        raise _Problem("how the model was serialised is unknown")
    ignored = _list(how.get("ignore_paths", []), "the list of ignored paths")
    signed.ignored = [path for path in ignored if isinstance(path, str)]
    for entry in _list(predicate.get("resources"), "the list of resources"):
        one = _object(entry, "a resource")
        signed.resources.append(_resource(one.get("name"), one.get("algorithm"), one.get("digest")))
    if len(subjects) != 1:
        raise _Problem("there is not exactly one subject")
    root = _object(subjects[0].get("digest"), "the root digest").get("sha256")
    signed.root = _root(signed.resources) == root
    if not signed.root:
        raise _Problem("the root digest is not the one of the signed files")


def _resource(name: Any, algorithm: Any, digest: Any) -> Resource:
    if not (isinstance(name, str) and isinstance(algorithm, str) and isinstance(digest, str)):
        raise _Problem("a resource lacks its name, algorithm or digest")
    try:
        value = bytes.fromhex(digest).hex()
    except ValueError:
        raise _Problem("a digest is not hexadecimal") from None
    return Resource(name, algorithm.lower(), value)


def _root(resources: list[Resource]) -> str:
    digest = hashlib.sha256()
    for resource in resources:
        digest.update(bytes.fromhex(resource.digest))
    return digest.hexdigest()
