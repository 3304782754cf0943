"""The size this model would have in every usual quant, and what that quant is good for.

Everything is computed from a report, so a stored one can be asked too.
"""

from dataclasses import asdict, dataclass
from typing import Any

from ggufhub.estimate.hyperparameters import Hyperparameters
from ggufhub.estimate.mixes import (
    BASES,
    UNPREDICTED,
    Plan,
    matrices_of,
    matrix_bytes,
    mixed_type,
    role_of,
)
from ggufhub.estimate.mixes import VALUES as VALUE_ROLES

ALIGNMENT = 32
"""The quantiser pads every tensor to it (``GGUF_DEFAULT_ALIGNMENT``)."""

MOST_TENSORS = 16_384
"""Of one model whose sizes are told: that takes 3 s. Large real models hold about 2,000."""

LARGE_LAYERS = {"llama": 80, "qwen2": 80, "olmo": 80, "deci": 80, "jais2": 68}
"""Blocks by which the loader knows a model of 70 billion (``LLM_TYPE_70B`` in ``src/models``)."""

NEED_IMATRIX = frozenset({"IQ1_S", "IQ1_M", "IQ2_XXS", "IQ2_XS", "IQ2_S", "IQ2_M", "IQ3_XXS"})
"""Mixes that llama-quantize refuses to make without an importance matrix (``Q2_K_S`` as well)."""

TERNARY = "for models that were trained in three values; any other is ruined by it"

NOTES = {
    "F32": "the full precision of training; nothing is gained by running it",
    "BF16": "the precision most models were published in: the source to quantise from",
    "F16": "half precision: as good as the original for almost every model",
    "Q8_0": "cannot be told from the original; for archives, and where memory is plenty",
    "Q6_K": "very close to the original: the best that is still worth its memory",
    "Q5_K_M": "hardly any loss; where Q6_K does not fit",
    "Q5_K_S": "a little smaller and worse than Q5_K_M",
    "Q5_1": "the older way to five bits; Q5_K_M is better at this size",
    "Q5_0": "the older way to five bits; Q5_K_S is better at this size",
    "Q4_K_M": "the usual choice: small loss, about a third of half precision",
    "Q4_K_S": "a little smaller and worse than Q4_K_M",
    "IQ4_XS": "about as good as Q4_K_S and smaller; slower on some processors",
    "IQ4_NL": "like IQ4_XS, for matrices whose rows are not whole blocks of 256",
    "Q4_1": "the older way to four bits; Q4_K_M is better at this size",
    "Q4_0": "the older way to four bits: quick on many processors, worse than Q4_K_S",
    "MXFP4_MOE": "four bits for the experts, eight for the rest; for models trained that way",
    "Q3_K_L": "noticeable loss; where four bits do not fit",
    "Q3_K_M": "noticeable loss; where four bits do not fit",
    "Q3_K_S": "much loss: IQ3_M or IQ3_S are better at this size",
    "IQ3_M": "noticeable loss; better than Q3_K_M at a smaller size",
    "IQ3_S": "noticeable loss; better than Q3_K_S at the same size",
    "IQ3_XS": "much loss; a little smaller than IQ3_S",
    "IQ3_XXS": "much loss; the smallest that is of use for most models",
    "Q2_K": "very much loss; a smaller model in four bits is nearly always better",
    "Q2_K_S": "very much loss; a smaller model in four bits is nearly always better",
    "IQ2_M": "very much loss; bearable for very large models only",
    "IQ2_S": "very much loss; bearable for very large models only",
    "IQ2_XS": "very much loss; bearable for very large models only",
    "IQ2_XXS": "very much loss; bearable for very large models only",
    "IQ1_M": "for experiments: most models answer with nonsense",
    "IQ1_S": "for experiments: most models answer with nonsense",
    "TQ2_0": TERNARY,
    "TQ1_0": TERNARY,
    "Q2_0": TERNARY,
    "Q1_0": "for models that were trained in two values; any other is ruined by it",
}
"""What each mix is good for, from the least loss to the most."""


@dataclass(frozen=True, slots=True)
class Size:
    """Predicted bytes of the model's file and of its tensors in one mix, and bits per weight.

    ``imatrix`` tells that an importance matrix is needed; ``own`` that it is the model's own mix.
    """

    mix: str
    bytes: int
    tensor_bytes: int
    bits_per_weight: float
    imatrix: bool
    own: bool
    note: str


def plan_of(document: dict[str, Any]) -> Plan | None:
    """The model of a report as the quantiser sees it; None where that cannot be told."""
    memory, tensors = document.get("memory"), document["tensors"]
    if memory is None or not 0 < len(tensors) <= MOST_TENSORS:
        return None
    if memory["architecture"] in UNPREDICTED or any(row["bytes"] is None for row in tensors):
        return None
    hyper = Hyperparameters(memory["architecture"], memory["hyperparameters"])
    rows = [(row["name"], tuple(row["shape"]), row["bytes"]) for row in tensors]
    matrices, kept = matrices_of(rows)
    heads, shared = hyper.heads[0], hyper.kv_heads[0]
    large = LARGE_LAYERS.get(hyper.architecture) == hyper.layers and heads != shared
    return Plan(
        architecture=hyper.architecture,
        matrices=tuple(matrices),
        kept=tuple(kept),
        blocks=hyper.layers,
        experts=hyper.number("expert_count"),
        grouped=heads // shared if shared else 0,
        values=sum(role_of(name) in VALUE_ROLES for name, _, _ in rows),
        tied=not any(name == "output.weight" for name, _, _ in rows),
        large=large,
        imatrix=any(key["key"].startswith("quantize.imatrix.") for key in document["metadata"]),
    )


def tensor_sizes(plan: Plan, mix: str) -> list[int] | None:
    """Predicted bytes of every tensor in ``mix``, those that keep their type first; None where
    the quantiser cannot make it of this model."""
    found = list(plan.kept)
    for matrix in plan.matrices:
        kind = mixed_type(matrix, plan, mix)
        if kind is None:
            return None
        found.append(matrix_bytes(matrix, kind))
    return found


def sizes(document: dict[str, Any]) -> list[Size]:
    """The size of this model in every mix, from the least loss to the most; none where that
    cannot be told. The header is taken to stay as long as it is."""
    plan = plan_of(document)
    if plan is None:
        return []
    elements = sum(row["elements"] for row in document["tensors"])
    header = document["format"]["data_offset"] or 0
    experts = any(len(one.shape) > 2 and one.shape[2] > 1 for one in plan.matrices)
    found = []
    for mix, note in NOTES.items():
        if mix == "MXFP4_MOE" and not experts:
            continue
        each = tensor_sizes(plan, mix)
        if each is None:
            continue
        total = sum(each)
        found.append(
            Size(
                mix=mix,
                bytes=header + sum(size + -size % ALIGNMENT for size in each),
                tensor_bytes=total,
                bits_per_weight=round(8 * total / max(elements, 1), 3),
                imatrix=mix in NEED_IMATRIX or mix == "Q2_K_S",
                own=mix == document["summary"]["quant"],
                note=note,
            )
        )
    return found


def sizes_document(document: dict[str, Any]) -> list[dict[str, Any]]:
    """``sizes`` as plain data."""
    return [asdict(size) for size in sizes(document)]


def real_and_predicted(document: dict[str, Any]) -> tuple[int, int] | None:
    """Bytes of the tensors, and those predicted for the mix the model says it is in; None where
    there is no such prediction."""
    plan, mix = plan_of(document), document["summary"]["quant"]
    each = None if plan is None or mix not in BASES else tensor_sizes(plan, mix)
    if each is None:
        return None
    return sum(row["bytes"] for row in document["tensors"]), sum(each)
