"""What the name of a model file claims: base name, size, version, quant, role.

The naming convention (``docs/gguf.md`` of ggml, "GGUF Naming Convention") is
``BaseName-SizeLabel[-FineTune]-Version[-Encoding][-Type][-Shard].gguf``. Few names keep it, so
a name is cut from its end, part by part, and what is left is the base. Every step looks at a
name of at most ``LONGEST`` characters with patterns that cannot backtrack far: the regular
expression of the convention itself takes exponential time on hostile names.
"""

import re
from dataclasses import dataclass

from ggufhub.formats.naming import ShardName, shard_name

LONGEST = 255
"""Bytes a file name may have on every common file system; what is longer is cut."""

MODEL, MMPROJ, DRAFT, IMATRIX, ADAPTER, VOCAB = (
    "model",
    "mmproj",
    "draft",
    "imatrix",
    "adapter",
    "vocab",
)
"""What a file is for, as its name tells it."""

_ROLE_WORDS = {
    "mmproj": MMPROJ,
    "mtp": DRAFT,
    "dflash": DRAFT,
    "eagle3": DRAFT,
    "dspark": DRAFT,
    "draft": DRAFT,
    "imatrix": IMATRIX,
    "lora": ADAPTER,
    "adapter": ADAPTER,
    "vocab": VOCAB,
}
"""Words of a name that tell a side file (``common/download.cpp`` of llama.cpp 0c1e57098, and the
types ``LoRA`` and ``vocab`` of the convention)."""

_QUANT = re.compile(
    r"(?<![A-Za-z0-9])"
    r"((?:UD[-_])?(?:F64|F32|F16|BF16|FP32|FP16|FP8|MXFP4(?:_MOE)?|NVFP4|TQ[12]_0"
    r"|I?Q[1-9](?:_(?:[0-9]{1,2}|K|XXS|XS|S|M|L|XL|XXL|NL|P)){0,4}))"
    r"(?![A-Za-z0-9])",
    re.IGNORECASE,
)
"""A quant label between separators; the last one of a name counts."""

_SIZE = re.compile(
    r"(?:\d{1,3}x)?\d{1,4}(?:\.\d{1,3})?[KMBTQ](?:-A\d{1,4}(?:\.\d{1,3})?[KMBT])?", re.I
)
_VERSION = re.compile(r"v\d{1,4}(?:\.\d{1,4}){0,3}", re.IGNORECASE)
_SEPARATORS = re.compile(r"[-_. ]+")


@dataclass(frozen=True, slots=True)
class ModelName:
    """The parts of a file name. ``quant`` is in upper case; absent parts are empty.

    ``family`` is what all quants of one model share: the name without quant, role and shard
    numbers, in lower case. ``conforms`` tells whether the naming convention is kept.
    """

    family: str
    role: str = MODEL
    size: str = ""
    version: str = ""
    quant: str = ""
    shard: ShardName | None = None
    conforms: bool = False


def parse_model_name(name: str) -> ModelName:
    """The parts of ``name`` (without folders), whatever it is."""
    shard = shard_name(name)
    stem = shard.prefix if shard is not None else name
    stem = stem[:LONGEST]
    for ending in (".gguf", ".bin", ".dat"):
        if stem.lower().endswith(ending):
            stem = stem[: -len(ending)]
    quants = list(_QUANT.finditer(stem))
    quant = quants[-1] if quants else None
    rest = stem if quant is None else stem[: quant.start()] + stem[quant.end() :]
    words = [word for word in _SEPARATORS.split(rest) if word]
    role = next((_ROLE_WORDS[w.lower()] for w in words if w.lower() in _ROLE_WORDS), MODEL)
    words = [word for word in words if word.lower() not in _ROLE_WORDS]
    parts = rest.split("-")
    return ModelName(
        family="-".join(words).lower(),
        role=role,
        size=_last(_SIZE, parts),
        version=_last(_VERSION, parts),
        quant="" if quant is None else quant[1].upper().replace("UD_", "UD-"),
        shard=shard,
        conforms=_conforms(parts),
    )


def is_quant(word: str) -> bool:
    """Whether ``word`` is a quant label and nothing else, as names of folders are."""
    return _QUANT.fullmatch(word) is not None


def _last(pattern: re.Pattern[str], parts: list[str]) -> str:
    return next((part for part in reversed(parts) if pattern.fullmatch(part)), "")


def _conforms(parts: list[str]) -> bool:
    """Base, size and version in this order; the convention asks for each of them."""
    sizes = [index for index, part in enumerate(parts) if index and _SIZE.fullmatch(part)]
    versions = [index for index, part in enumerate(parts) if _VERSION.fullmatch(part)]
    return bool(sizes and versions and sizes[0] < versions[-1])
