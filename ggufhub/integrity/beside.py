"""What lies beside a model: digests in checksum files, and parts that change how it is run."""

import hashlib
from collections.abc import Mapping
from dataclasses import replace

from ggufhub.errors import SourceError
from ggufhub.formats.model import Model, ModelFile
from ggufhub.integrity.manifests import is_manifest, parse_manifest
from ggufhub.limits import MIB
from ggufhub.sources.base import EXPECTED, ByteSource, Digest, Layer

MANIFEST_BYTES = 1 * MIB
"""A listing of 10,000 files takes 800 KB."""

MOST_MANIFESTS = 4
"""Checksum files read for one model."""

LAYER_BYTES = 64 * 1024
"""The largest template seen in a model is 12 KB."""

LAYER_FILES = ("template", "system", "params")
"""Files that Ollama takes from a repository in place of what the model itself says."""


def add_evidence(model: Model, source: ByteSource, expected: Mapping[str, str]) -> None:
    """Give every file of ``model`` the digests known of it, each with its basis.

    ``expected`` holds the user's own, by algorithm, of the file that was asked for (of the model
    inside, where that is a program with a model in it). What cannot
    be read beside the model is left out: it is no fault of the model.
    """
    names = _names_beside(source)
    manifests = {
        name: parse_manifest(text, name)
        for name in [n for n in names if any(is_manifest(n, f.name) for f in model.files)][
            :MOST_MANIFESTS
        ]
        if (text := _text(source, name, MANIFEST_BYTES)) is not None
    }
    for file in model.files:
        found = [
            Digest(entry.algorithm, entry.value, "in a manifest")
            for name, manifest in manifests.items()
            if is_manifest(name, file.name)
            for entry in manifest.about(file.name)
        ]
        if file is model.opened:
            found += [Digest(name, hexes, EXPECTED) for name, hexes in expected.items()]
        if file.sha256 is not None:
            found.append(Digest("sha256", file.sha256, "computed from all bytes"))
        _add_digests(file, found)
    opened = model.opened
    if not opened.identity.layers:
        opened.identity = replace(opened.identity, layers=_layers(source, names))


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
