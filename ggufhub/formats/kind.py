"""Which kind of model file a header describes.

Marks of each kind: ``gguf-py/gguf/constants.py`` (``GGUFType``, ``Keys``) and the loaders in
``src/llama-adapter.cpp``, ``tools/mtmd/clip.cpp`` and ``tools/imatrix`` of llama.cpp 0c1e57098.
"""

from ggufhub.formats.header import Header

MODEL = "model"
VOCAB = "vocab"
ADAPTER = "adapter"
MMPROJ = "mmproj"
IMATRIX = "imatrix"
CONTROL_VECTOR = "control vector"
DRAFT = "draft"
SHARD = "shard"
LEGACY = "legacy"
OTHER_RUNTIME = "other runtime"
UNKNOWN = "unknown"

DRAFT_ARCHITECTURES = frozenset({"eagle3", "dflash", "gemma4-assistant"})
"""Architectures that only predict for a larger model (``src/llama-arch.cpp``)."""


_LEGACY_KINDS = {"llama": LEGACY, "ggla": ADAPTER, "imatrix": IMATRIX}
"""Kinds by the layout that a reader of an old format found; any other is another program's."""


def header_kind(header: Header) -> str:
    """The kind of any file that has a header."""
    if header.format == "gguf":
        return gguf_kind(header)
    return _LEGACY_KINDS.get(header.program, OTHER_RUNTIME)


def gguf_kind(header: Header) -> str:
    """The kind of a GGUF file. Needs the keys; the tensor table decides only about vocabularies."""
    architecture = header.text("general.architecture")
    declared = header.text("general.type")
    if architecture == "clip":
        return MMPROJ
    if declared == "adapter" or header.find("adapter.type") is not None:
        return ADAPTER
    if "imatrix" in (architecture, declared):
        return IMATRIX
    if architecture == "controlvector":
        return CONTROL_VECTOR
    if (header.number("split.no") or 0) > 0:
        return SHARD
    if header.tensor_count == 0 and header.find("tokenizer.ggml.tokens") is not None:
        return VOCAB
    if architecture in DRAFT_ARCHITECTURES:
        return DRAFT
    return UNKNOWN if header.keys_end is None else MODEL
