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

WITH_TOKENS = frozenset({MODEL, VOCAB, DRAFT})
"""Kinds that name an architecture of the language model loader and carry its vocabulary."""

DRAFT_ARCHITECTURES = frozenset({"eagle3", "dflash", "gemma4-assistant"})
"""Architectures that only predict for a larger model (``src/llama-arch.cpp``)."""

OTHER_RUNTIME_ARCHITECTURES = frozenset(
    {
        *("flux", "sd1", "sdxl", "sd3", "aura", "ltxv", "hyvid", "wan", "hidream", "cosmos"),
        *("lumina2", "qwen_image", "pig", "diffusion", "whisper"),
    }
)
"""Names of image, video and speech models in files for ComfyUI, stable-diffusion.cpp,
gguf-connector and whisper.cpp; no program for language models loads them."""


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
    if _is_vocabulary(header):
        return VOCAB
    if architecture in OTHER_RUNTIME_ARCHITECTURES:
        return OTHER_RUNTIME
    if architecture in DRAFT_ARCHITECTURES:
        return DRAFT
    return UNKNOWN if header.keys_end is None else MODEL


def _is_vocabulary(header: Header) -> bool:
    """No tensors but tokens; the first of several shards may leave all tensors to the others."""
    if header.tensor_count != 0 or (header.number("split.count") or 0) > 1:
        return False
    return header.find("tokenizer.ggml.tokens") is not None
