"""Statistics of a tensor from a sample of its weights, by the dequantisers of the ``gguf`` package.

Dequantising everything would take many times longer than reading it. A sample of 16,384 weights,
taken evenly over the tensor, gives the mean and the deviation to about one in a hundred; the least
and the largest weight are those of the sample.
"""

from collections.abc import Iterable
from functools import cache
from importlib import import_module
from typing import Any

import numpy as np

from ggufhub.formats.model import Sample, TensorData
from ggufhub.formats.tensor_types import TensorType
from ggufhub.formats.values import ByteOrder

ELEMENTS = 16_384
"""Weights in the sample of one tensor."""

MOST_TENSORS = 8_192
"""Tensors of one file that are sampled; at a millisecond each that is 8 s. Large real models of
experts hold about 2,000."""

_PLAIN = {
    "F16": "f2",
    "F32": "f4",
    "F64": "f8",
    "I8": "i1",
    "I16": "i2",
    "I32": "i4",
    "I64": "i8",
}
"""Types that numpy reads by itself."""

EXTRA_MISSING = (
    'statistics of quantised tensors need the extra statistics (pip install "ggufhub[statistics]")'
)


@cache
def dequantisers() -> Any:
    """``gguf.quants``, or None where the package is not installed."""
    try:
        return import_module("gguf.quants")
    except ImportError:
        return None


def unsampled(data: Iterable[TensorData]) -> list[str]:
    """What to tell of tensors without a sample that would have one were the extra installed."""
    lacking = any(one.sample is None and one.blocks for one in data)
    return [EXTRA_MISSING] if lacking and dequantisers() is None else []


class Sampler:
    """Takes the sample while the blocks of one tensor of ``total`` blocks pass in order."""

    def __init__(self, kind: TensorType, order: ByteOrder, total: int) -> None:
        self._kind = kind
        self._order = order
        # An odd step meets every column of a matrix, whose width is even.
        self._step = max(total * kind.block // ELEMENTS, 1) | 1
        self._taken: list[np.ndarray] = []

    def see(self, first: int, blocks: np.ndarray) -> None:
        """Take from blocks (rows of bytes), the first of which has the index ``first``."""
        taken = blocks[-first % self._step :: self._step]
        if len(taken):
            self._taken.append(taken.copy())

    def sample(self) -> Sample | None:
        """None where nothing finite was seen, or the type cannot be dequantised here."""
        values = self._values(np.concatenate(self._taken)) if self._taken else None
        if values is None:
            return None
        values = values[np.isfinite(values)].astype(np.float64)
        if not len(values):
            return None
        with np.errstate(over="ignore", invalid="ignore"):  # sums of the largest doubles
            mean, deviation = float(values.mean()), float(values.std())
        return Sample(
            elements=len(values),
            mean=mean,
            deviation=deviation,
            least=float(values.min()),
            most=float(values.max()),
            zeros=len(values) - int(np.count_nonzero(values)),
        )

    def _values(self, blocks: np.ndarray) -> np.ndarray | None:
        name = self._kind.name
        if name in _PLAIN:
            return blocks.reshape(-1).view(f"{self._order.prefix}{_PLAIN[name]}")
        if name == "BF16":
            return (blocks.reshape(-1).view(f"{self._order.prefix}u2").astype("u4") << 16).view(
                "f4"
            )
        quants = dequantisers()
        if quants is None or self._order is not ByteOrder.LITTLE:
            return None  # the package reads quantised blocks in little-endian order only
        # As one row: the package takes rows by sixteens, each with as many calls of numpy.
        row = blocks.reshape(1, -1)
        try:
            with np.errstate(all="ignore"):
                found = quants.dequantize(row, quants.GGMLQuantizationType[name])
        except (KeyError, NotImplementedError):
            # gguf has no such type (KeyError) or no dequantiser for it, as for Q8_K: the tensor is
            # checked all the same, and shown without a sample.
            return None
        return np.asarray(found).reshape(-1)
