"""Parameters, bits per weight and the mix of tensor types: exact sums over the tensor table."""

from collections.abc import Iterable
from dataclasses import dataclass

from ggufhub.formats.header import Tensor
from ggufhub.formats.tensor_types import type_name


@dataclass(slots=True)
class TypeShare:
    """How much of a model one tensor type holds."""

    type: str
    tensors: int = 0
    bytes: int = 0
    elements: int = 0


def type_mix(tensors: Iterable[Tensor]) -> list[TypeShare]:
    """Shares by type, the largest in bytes first. Tensors of unknown size count 0 bytes."""
    shares: dict[int, TypeShare] = {}
    for tensor in tensors:
        share = shares.get(tensor.type)
        if share is None:
            share = shares[tensor.type] = TypeShare(type_name(tensor.type))
        share.tensors += 1
        share.bytes += tensor.bytes or 0
        share.elements += tensor.elements
    return sorted(shares.values(), key=lambda share: -share.bytes)


def parameters(shares: list[TypeShare]) -> int | None:
    """Elements of all tensors; None where there are none."""
    return sum(share.elements for share in shares) or None


def bits_per_weight(shares: list[TypeShare]) -> float | None:
    """Mean bits of one element, rounded to 3 decimals; None for an empty model."""
    elements = sum(share.elements for share in shares)
    return round(8 * sum(share.bytes for share in shares) / elements, 3) if elements else None
