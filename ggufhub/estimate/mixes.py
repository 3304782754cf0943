"""Which type the quantiser gives to each tensor: the mixes behind names such as Q4_K_M.

The rules are those of ``llama_tensor_get_type`` in ``src/llama-quant.cpp`` of llama.cpp 0c1e57098,
as it runs without options of its own. They look at the role of a tensor, at where its block is in
the model, at how many heads share a key, and at the number of experts. Predicted sizes of the
tensors are those of its files, byte for byte.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum

from ggufhub.formats.tensor_types import TENSOR_TYPES, TensorType

BASES = {
    **{name: name for name in ("F32", "F16", "BF16", "Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0")},
    **{name: name for name in ("Q1_0", "Q2_0", "Q2_K", "Q6_K", "TQ1_0", "TQ2_0")},
    **{name: name for name in ("IQ1_S", "IQ1_M", "IQ2_XXS", "IQ2_XS", "IQ3_XXS", "IQ3_S")},
    **{name: name for name in ("IQ4_NL", "IQ4_XS")},
    "Q2_K_S": "Q2_K",
    "Q3_K_S": "Q3_K",
    "Q3_K_M": "Q3_K",
    "Q3_K_L": "Q3_K",
    "Q4_K_S": "Q4_K",
    "Q4_K_M": "Q4_K",
    "Q5_K_S": "Q5_K",
    "Q5_K_M": "Q5_K",
    "IQ2_S": "IQ2_XS",
    "IQ2_M": "IQ2_S",
    "IQ3_XS": "IQ3_S",
    "IQ3_M": "IQ3_S",
    "MXFP4_MOE": "MXFP4",
}
"""The type most tensors of a mix have (``llama_ftype_get_default_type``)."""

UNPREDICTED = frozenset({"glm5-next"})
"""Architectures with so many exceptions of their own that no size is told."""

_TYPES = {entry.name: entry for entry in TENSOR_TYPES.values() if not entry.removed}

_LOW = frozenset({"IQ1_S", "IQ1_M", "IQ2_XXS", "IQ2_XS", "IQ2_S", "IQ2_M"})
"""Mixes of about two bits, which have rules of their own."""

_IQ2_WIDE = frozenset({"IQ2_S", "IQ2_M"})

_FALLBACK = {
    **dict.fromkeys(("IQ1_S", "IQ1_M", "IQ2_XXS", "IQ2_XS", "IQ2_S"), "IQ4_NL"),
    **dict.fromkeys(("IQ3_XXS", "IQ3_S", "IQ4_XS"), "IQ4_NL"),
    **dict.fromkeys(("Q2_0", "Q2_K", "Q3_K", "TQ1_0", "TQ2_0"), "Q4_0"),
    "Q4_K": "Q5_0",
    "Q5_K": "Q5_1",
    "Q6_K": "Q8_0",
}
"""Types for rows that are not whole blocks (``tensor_type_fallback``); then comes F16."""

SMALL_BLOCK = 32
"""Types of such blocks need no fallback: what they cannot hold goes to F16 at once."""

_EMBEDDINGS = {
    **dict.fromkeys(("IQ2_XXS", "IQ2_XS", "IQ1_S", "IQ1_M"), "Q2_K"),
    **dict.fromkeys(("IQ2_S", "IQ2_M", "IQ3_XXS"), "IQ3_S"),
    **dict.fromkeys(("TQ1_0", "TQ2_0", "Q2_0"), "Q4_K"),
}
"""Of the embedding, where the output is a tensor of its own."""

_KEPT = re.compile(
    r"_norm\.weight|ffn_gate_(?:inp|tid2eid)\.weight|altup|laurel|per_layer_model_proj"
    r"|ssm_conv1d|shortconv\.conv\.weight|indexer\.[kq]_proj\.weight"
    r"|time_mix_(?:first|w[012]|v[012]|a[012]|g[12]|decay_w[12]|lerp_fused)\.weight"
    r"|attn_rel_b\.weight|\.position_embd|sam\.(?:pos_embd|neck\.|net_)|\.rel_pos"
    r"|\.patch_(?:embd|merger)|a\.rvq\.codebook|mm\.a\.code_embd"
    r"|^(?:position_embd|token_types)\.weight$"
)
"""Matrices that keep their type (``tensor_allows_quantization``)."""


class Role(Enum):
    """What a tensor is for, as far as the mixes care."""

    OUTPUT = "output"
    EMBEDDING = "embedding"
    QKV = "attn_qkv.weight"
    KV_B = "attn_kv_b.weight"
    VALUE = "attn_v.weight"
    KEY = "attn_k.weight"
    QUERY = "attn_q.weight"
    ATTENTION_OUTPUT = "attn_output.weight"
    UP = "ffn_up"
    GATE = "ffn_gate"
    DOWN = "ffn_down"
    OTHER = ""


VALUES = frozenset({Role.QKV, Role.KV_B, Role.VALUE})
"""Attention values, which suffer most."""

_NAMED = [role for role in Role if role not in (Role.OUTPUT, Role.EMBEDDING, Role.OTHER)]
_BLOCK = re.compile(r"blk\.(\d{1,9})\.")


def role_of(name: str) -> Role:
    if name == "output.weight":
        return Role.OUTPUT
    if name in ("token_embd.weight", "per_layer_token_embd.weight"):
        return Role.EMBEDDING
    return next((role for role in _NAMED if role.value in name), Role.OTHER)


@dataclass(frozen=True, slots=True)
class Matrix:
    """A tensor that is quantised. ``index`` counts those of its kind (values, or one of the
    parts of the feed-forward) in the quantiser's order; ``block`` is None outside any."""

    shape: tuple[int, ...]
    role: Role
    block: int | None
    index: int


@dataclass(frozen=True, slots=True)
class Plan:
    """A model as the quantiser sees it. ``kept`` are bytes of tensors that keep their type.

    ``grouped`` is how many heads share a key; ``values`` how many matrices of values there are;
    ``imatrix`` whether an importance matrix is used; ``large`` marks models of 70 billion, whose
    values are few.
    """

    architecture: str
    matrices: tuple[Matrix, ...]
    kept: tuple[int, ...]
    blocks: int
    experts: int
    grouped: int
    values: int
    tied: bool
    large: bool
    imatrix: bool


def matrices_of(
    tensors: Iterable[tuple[str, tuple[int, ...], int]],
) -> tuple[list[Matrix], list[int]]:
    """The tensors (name, shape, bytes) that are quantised, and the bytes of those that are not."""
    found, kept = [], []
    counts = dict.fromkeys(Role, 0)
    for name, shape, size in sorted(tensors, key=lambda tensor: (_block(tensor[0]), tensor[0])):
        flat = [length for length in shape[1:] if length > 1]
        if not flat or not name.endswith("weight") or _KEPT.search(name):
            kept.append(size)
            continue
        role, block = role_of(name), _block(name)
        counted = Role.VALUE if role in VALUES else role
        found.append(Matrix(shape, role, None if block < 0 else block, counts[counted]))
        counts[counted] += 1
    return found, kept


def _block(name: str) -> int:
    """The block, as the loader sorts by it: -1 outside any."""
    match = _BLOCK.match(name)
    return -1 if match is None else int(match[1])


def mixed_type(matrix: Matrix, plan: Plan, mix: str) -> TensorType | None:
    """The type of ``matrix`` in the mix ``mix``; None where the quantiser gives up, because its
    rows are not whole blocks and there is no other type for them."""
    base = BASES[mix]
    name = base if _TYPES[base].block == 1 else _chosen(matrix, plan, mix)
    columns = matrix.shape[0]
    if columns % _TYPES[name].block:
        if name not in _FALLBACK and _TYPES[name].block > SMALL_BLOCK:
            return None
        name = _FALLBACK.get(name, name)
        name = "F16" if columns % _TYPES[name].block else name
    return _TYPES[name]


def matrix_bytes(matrix: Matrix, kind: TensorType) -> int:
    """Bytes of ``matrix`` in a type of which its rows are whole blocks."""
    count = 1
    for length in matrix.shape:
        count *= length
    return count // kind.block * kind.size


def _chosen(matrix: Matrix, plan: Plan, mix: str) -> str:
    role, base = matrix.role, BASES[mix]
    if role is Role.OUTPUT or (plan.tied and role is Role.EMBEDDING):
        return _output(matrix, plan, mix)
    if mix == "MXFP4_MOE":
        experts = len(matrix.shape) > 2 and matrix.shape[2] > 1
        forward = role in (Role.UP, Role.GATE, Role.DOWN)
        own = plan.architecture != "bailingmoe3" or forward
        return "MXFP4" if experts and own else "Q8_0"
    if role is Role.EMBEDDING:
        return _EMBEDDINGS.get(mix, base)
    if mix in _LOW:
        return _low(matrix, plan, mix)
    if role in VALUES:
        return _value(matrix, plan, mix)
    if role in (Role.KEY, Role.QUERY):
        if role is Role.KEY and plan.experts == 8:
            return "Q8_0"
        return {"IQ3_XS": "IQ3_XXS", "IQ3_XXS": "IQ2_S"}.get(mix, base)
    if role is Role.DOWN:
        return _down(matrix, plan, mix)
    if role is Role.ATTENTION_OUTPUT:
        return _attention_output(plan, mix)
    if role in (Role.UP, Role.GATE) and mix == "IQ3_XS":
        layer = _layer(matrix, plan)
        return "IQ3_XXS" if plan.blocks // 8 <= layer < 7 * plan.blocks // 8 else base
    return base


def _output(matrix: Matrix, plan: Plan, mix: str) -> str:
    base = BASES[mix]
    odd = plan.architecture == "falcon" or matrix.shape[0] % _TYPES[base].block != 0
    if mix == "MXFP4_MOE" or odd or base == "Q8_0":
        return "Q8_0"
    return "Q5_K" if mix in _LOW or mix == "IQ3_XXS" else "Q6_K"


def _low(matrix: Matrix, plan: Plan, mix: str) -> str:
    role, base = matrix.role, BASES[mix]
    better = "IQ3_S" if mix in _IQ2_WIDE else "Q2_K"
    if role in VALUES:
        return "Q4_K" if plan.grouped >= 4 or plan.experts >= 4 else better
    if role is Role.KEY and plan.experts == 8:
        return "Q4_K"
    if role is Role.DOWN and matrix.index < plan.blocks // 8:
        return better
    if role is Role.ATTENTION_OUTPUT:
        if plan.experts == 8:
            return "Q5_K"
        if mix in ("IQ1_S", "IQ1_M"):
            return "IQ2_XXS"
        return "IQ3_S" if mix in _IQ2_WIDE else base
    return base


def _more(layer: int, layers: int) -> bool:
    """The blocks that get more bits: the first and the last eighth, and every third between."""
    eighth = layers // 8
    return layer < eighth or layer >= 7 * layers // 8 or (layer - eighth) % 3 == 2


def _value(matrix: Matrix, plan: Plan, mix: str) -> str:
    if plan.experts == 8:
        return "Q8_0"
    name = _value_by_mix(matrix, plan, mix)
    return "Q5_K" if plan.large and name in ("Q3_K", "Q4_K") else name


def _value_by_mix(matrix: Matrix, plan: Plan, mix: str) -> str:
    base, grouped = BASES[mix], plan.grouped >= 4
    if mix == "Q2_K":
        return "Q4_K" if grouped else "Q3_K"
    if mix == "IQ3_XXS":
        return "Q4_K" if grouped else base if plan.imatrix else "IQ3_S"
    if mix in ("Q2_K_S", "IQ3_XS", "IQ3_S"):
        return "Q4_K" if grouped else base
    if mix in ("IQ4_NL", "IQ4_XS"):
        return "Q5_K" if grouped else base
    if mix in ("Q4_K_M", "Q5_K_M"):
        return "Q6_K" if _more(matrix.index, plan.values) else base
    if mix == "Q3_K_M":
        return "Q5_K" if matrix.index < 2 else "Q4_K"
    if mix == "Q4_K_S":
        return "Q5_K" if matrix.index < 4 else base
    return {"IQ3_M": "Q4_K", "Q3_K_L": "Q5_K"}.get(mix, base)


def _layer(matrix: Matrix, plan: Plan) -> int:
    """The block by the name where there are experts, else by counting."""
    return matrix.block or 0 if plan.experts > 1 else matrix.index


def _down(matrix: Matrix, plan: Plan, mix: str) -> str:
    base, layer, layers = BASES[mix], _layer(matrix, plan), plan.blocks
    falcon, early = plan.architecture == "falcon", layer < layers // 8
    more = _more(layer, layers)
    if mix == "Q2_K":
        return "Q3_K"
    if mix == "Q2_K_S":
        return "Q4_K" if early else base
    if mix == "IQ3_XXS" and not plan.imatrix:
        return "Q4_K" if early else "Q3_K"
    if mix == "Q3_K_M":
        return "Q5_K" if layer < layers // 16 else "Q4_K" if not falcon or more else "Q3_K"
    if mix == "IQ3_M":
        return "Q4_K" if early or (plan.experts == 8 and more) else base
    if mix == "Q3_K_L":
        return "Q4_K" if falcon else "Q5_K"
    if mix == "Q4_K_M" and falcon:
        return "Q6_K" if layer < layers // 16 else "Q5_K" if more else base
    if mix in ("Q4_K_M", "Q5_K_M"):
        return "Q6_K" if more else base
    if mix in ("IQ4_NL", "IQ4_XS"):
        return "Q5_K" if early and not plan.imatrix else base
    if mix == "Q4_K_S":
        return "Q5_K" if early and not falcon else base
    if mix in ("Q4_0", "Q5_0") and plan.imatrix and early:
        return {"Q4_0": "Q4_1", "Q5_0": "Q5_1"}[mix]
    return base


_WITH_EIGHT_EXPERTS = frozenset(
    {"Q2_K", "IQ3_XS", "IQ3_XXS", "Q3_K_S", "Q3_K_M", "IQ4_NL"}
    | {"Q4_K_S", "Q4_K_M", "IQ3_S", "IQ3_M", "IQ4_XS"}
)
"""Mixes whose attention output has five bits in a model of eight experts."""


def _attention_output(plan: Plan, mix: str) -> str:
    base = BASES[mix]
    if plan.architecture == "falcon":
        return "Q4_K" if mix == "Q3_K_L" else base
    if plan.experts == 8:
        return "Q5_K" if mix in _WITH_EIGHT_EXPERTS else base
    others = {"Q2_K": "Q3_K", "IQ3_XXS": "IQ3_S", "Q3_K_M": "Q4_K"}
    return {**others, "Q3_K_L": "Q5_K", "IQ3_M": "Q4_K"}.get(mix, base)
