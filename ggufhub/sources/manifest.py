"""Manifests of registries: which layers a model has, and which manifest of an index is meant.

Media types and descriptors follow the OCI image specification 1.1; the types of layers are those
of Ollama and of Docker Model Runner.
"""

import hashlib
import re
from dataclasses import dataclass, field
from typing import Any

from ggufhub.errors import SourceError
from ggufhub.limits import MIB
from ggufhub.sources.api import Answer
from ggufhub.sources.base import Layer

MANIFEST_BYTES = 4 * MIB
"""What the distribution specification asks registries to take; real manifests have about 2 KB."""

MOST_LAYERS = 200

MOST_MANIFESTS = 8
"""Manifests of an index looked into; each costs a request."""

MANIFESTS = frozenset(
    {
        "application/vnd.docker.distribution.manifest.v2+json",
        "application/vnd.oci.image.manifest.v1+json",
    }
)
INDEXES = frozenset(
    {
        "application/vnd.docker.distribution.manifest.list.v2+json",
        "application/vnd.oci.image.index.v1+json",
    }
)
ACCEPT = ", ".join(sorted(MANIFESTS) + sorted(INDEXES))

MODEL_TYPES = frozenset({"application/vnd.ollama.image.model", "application/vnd.docker.ai.gguf.v3"})
TEXT_KINDS = ("template", "prompt", "system", "params", "license", "messages")

_TITLES = ("org.cncf.model.filepath", "org.opencontainers.image.title")
"""Annotations that name the file a layer was made from."""

_ATTESTATION = "vnd.docker.reference.type"
"""Annotation of entries that are statements about another entry, not images."""

_DIGEST = re.compile(r"sha256:([0-9a-f]{64})")


@dataclass(frozen=True, slots=True)
class Manifest:
    """``titles`` holds the file names of layers that tell theirs, by digest."""

    layers: list[Layer]
    titles: dict[str, str] = field(default_factory=dict)

    @property
    def models(self) -> list[Layer]:
        """The GGUF layers: one, or the shards of one model in order."""
        return [layer for layer in self.layers if layer.kind == "model"]

    def checked(self) -> "Manifest":
        """This manifest, if there is a model in it; ``SourceError('not_gguf')`` if not."""
        if self.models:
            return self
        if any(layer.kind == "tensor" for layer in self.layers):
            message = "The registry holds this model as single tensors, not as a GGUF file."
            raise SourceError("not_gguf", message)
        raise SourceError("not_gguf", "The registry's manifest holds no GGUF layer.")


def document(answer: Answer, digest: str | None = None) -> Any:
    """The JSON of ``answer``, which must have the SHA-256 ``digest``, or the one its header tells.

    ``SourceError('digest')`` if it does not.
    """
    told = _DIGEST.fullmatch((answer.headers.get("Docker-Content-Digest") or "").strip())
    computed = hashlib.sha256(answer.body).hexdigest()
    if computed != (digest or (told[1] if told else computed)):
        raise SourceError("digest", "The registry's manifest does not have its own digest.")
    return answer.json()


def candidates(index: Any) -> list[str] | None:
    """Digests of the manifests ``index`` lists, None if it is no index but a manifest itself.

    ``SourceError('not_gguf')`` where it lists only further indexes: those are not followed.
    """
    if not isinstance(index, dict) or "layers" in index or "manifests" not in index:
        return None
    entries = index["manifests"]
    if not isinstance(entries, list) or len(entries) > MOST_LAYERS:
        raise SourceError("bad_answer", "The registry's index is not valid.")
    described = [(entry, *_descriptor(entry)) for entry in entries]
    found = [
        digest
        for entry, media_type, digest, size in described
        if media_type in MANIFESTS and size <= MANIFEST_BYTES and not _is_attestation(entry)
    ]
    if not found and any(media_type in INDEXES for _, media_type, _, _ in described):
        message = "The registry's index lists further indexes, which are not followed."
        raise SourceError("not_gguf", message)
    if not found:
        raise SourceError("not_gguf", "The registry's index lists no manifest.")
    return found[:MOST_MANIFESTS]


def parse_manifest(manifest: Any) -> Manifest:
    """The layers of ``manifest``. ``SourceError('bad_answer')`` if it makes no sense."""
    entries = manifest.get("layers") if isinstance(manifest, dict) else None
    if not isinstance(entries, list) or len(entries) > MOST_LAYERS:
        raise SourceError("bad_answer", "The registry's manifest lists no layers.")
    layers, titles = [], {}
    for entry in entries:
        media_type, digest, size = _descriptor(entry)
        layers.append(Layer(_kind(media_type), media_type, digest, size))
        title = _title(entry)
        if title:
            titles[digest] = title
    return Manifest(layers, titles)


def _descriptor(entry: Any) -> tuple[str, str, int]:
    """Media type, SHA-256 and size."""
    fields = entry if isinstance(entry, dict) else {}
    media_type, size = fields.get("mediaType"), fields.get("size")
    digest = _DIGEST.fullmatch(str(fields.get("digest")))
    if not isinstance(media_type, str) or not isinstance(size, int) or size < 0 or digest is None:
        raise SourceError("bad_answer", "A layer in the registry's manifest is not valid.")
    return media_type, digest[1], size


def _annotation(entry: dict[str, Any], name: str) -> str:
    annotations = entry.get("annotations")
    value = annotations.get(name) if isinstance(annotations, dict) else None
    return value if isinstance(value, str) else ""


def _title(entry: dict[str, Any]) -> str:
    named = next((text for name in _TITLES if (text := _annotation(entry, name))), "")
    return named.rpartition("/")[2]


def _is_attestation(entry: dict[str, Any]) -> bool:
    return _annotation(entry, _ATTESTATION) != ""


def _kind(media_type: str) -> str:
    """``template`` for ``application/vnd.ollama.image.template``."""
    if media_type in MODEL_TYPES:
        return "model"
    words = re.split(r"[./+]", media_type)
    return next((word for word in TEXT_KINDS if word in words), words[-1])
