"""What lies beside a model: digests in checksum files, and parts that change how it is run."""

import hashlib
from collections.abc import Mapping
from dataclasses import replace

from ggufhub.errors import SourceError
from ggufhub.formats.model import Model, ModelFile, Signature
from ggufhub.integrity.certificates import verify
from ggufhub.integrity.manifests import Manifest, is_manifest, parse_manifest
from ggufhub.integrity.signatures import MOST_BYTES as SIGNATURE_BYTES
from ggufhub.integrity.signatures import NAMES as SIGNATURE_NAMES
from ggufhub.integrity.signatures import SHARDS, Signed, parse_bundle
from ggufhub.limits import MIB
from ggufhub.sources.base import EXPECTED, ByteSource, Digest, Layer

MANIFEST_BYTES = 1 * MIB
"""A listing of 10,000 files takes 800 KB."""

MOST_MANIFESTS = 4
"""Checksum files read for one model."""

IN_MANIFEST = "in a manifest"
SIGNED = "in a signature"
COMPUTED = "computed from all bytes"
"""Bases of digests."""

LAYER_BYTES = 64 * 1024
"""The largest template seen in a model is 12 KB."""

LAYER_FILES = ("template", "system", "params")
"""Files that Ollama takes from a repository in place of what the model itself says."""


def add_evidence(model: Model, source: ByteSource, expected: Mapping[str, str]) -> None:
    """Give every file of ``model`` the digests others give for it, each with its basis, and those
    of its tensors; and the file that was asked for the signature beside it.

    ``expected`` holds the user's own, by algorithm, of the file that was asked for (of the model
    inside, where that is a program with a model in it). What cannot
    be read beside the model is left out: it is no fault of the model.
    """
    names = _names_beside(source)
    manifests = _manifests(model, source, names)
    signed = _signature(model, source, names)
    for file in model.files:
        found = []
        for name, manifest in manifests.items():
            if is_manifest(name, file.name):
                about = manifest.about(file.name)
                found += [Digest(entry.algorithm, entry.value, IN_MANIFEST) for entry in about]
                file.manifest |= manifest.tensors_of(file.name)
        resource = None if signed is None else signed.about(file.name)
        if resource is not None:
            found.append(Digest(resource.algorithm, resource.digest, SIGNED))
        if file is model.opened:
            found += [Digest(name, hexes, EXPECTED) for name, hexes in expected.items()]
        _add_digests(file, found)
    opened = model.opened
    if not opened.identity.layers:
        opened.identity = replace(opened.identity, layers=_layers(source, names))


def add_computed(model: Model) -> None:
    """Give every file the digests that were computed from all its bytes."""
    for file in model.files:
        _add_digests(file, [Digest(name, of, COMPUTED) for name, of in file.computed.items()])


def _manifests(model: Model, source: ByteSource, names: list[str]) -> dict[str, Manifest]:
    """The checksum files that may speak of a file of the model, by name."""
    about = [name for name in names if any(is_manifest(name, file.name) for file in model.files)]
    texts = {name: _text(source, name, MANIFEST_BYTES) for name in about[:MOST_MANIFESTS]}
    return {name: parse_manifest(text, name) for name, text in texts.items() if text is not None}


def _signature(model: Model, source: ByteSource, names: list[str]) -> Signed | None:
    """What the bundle beside the model says; the file that was asked for is told as well."""
    name = next((name for name in SIGNATURE_NAMES if name in names), None)
    text = None if name is None else _text(source, name, SIGNATURE_BYTES)
    if name is None or text is None:
        return None
    signed = parse_bundle(text)
    beside = [other for other in names if other != name and not signed.covers(other)]
    here = {*names, *(file.name for file in model.files)}
    absent = [other for other in signed.names if "/" not in other and other not in here]
    model.opened.signature = Signature(
        name=name,
        standing=verify(text, signed.material),
        problems=tuple(signed.problems),
        unsigned=tuple(beside),
        absent=tuple(absent),
        pieces=signed.method == SHARDS,
    )
    return signed


def _add_digests(file: ModelFile, found: list[Digest]) -> None:
    digests = tuple(dict.fromkeys((*file.identity.digests, *found)))
    file.identity = replace(file.identity, digests=digests)


def _names_beside(source: ByteSource) -> list[str]:
    try:
        return source.sibling_names() or []
    except SourceError:
        return []


def _layers(source: ByteSource, names: list[str]) -> tuple[Layer, ...]:
    layers = []
    for name in LAYER_FILES:
        text = _text(source, name, LAYER_BYTES) if name in names else None
        if text is not None:
            data = text.encode()
            digest = hashlib.sha256(data).hexdigest()
            media_type = f"application/vnd.ollama.image.{name}"
            layers.append(Layer(name, media_type, None, len(data), text, digest))
    return tuple(layers)


def _text(source: ByteSource, name: str, most: int) -> str | None:
    """The text file ``name`` beside the source, None where it cannot be had."""
    try:
        with source.sibling(name) as sibling:
            size = sibling.identity.size
            if size is None or size > most:
                return None
            return sibling.read(0, size).decode("utf-8")
    except (SourceError, UnicodeDecodeError):
        return None
