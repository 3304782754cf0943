"""The data of tensors, where every byte was read: numbers that are none, and nothing but zeros."""

import struct
from collections.abc import Iterator

from ggufhub.formats.model import FaultKind, ModelFile, TensorFault
from ggufhub.formats.tensor_types import type_name
from ggufhub.rules.registry import Hit, Need, Severity, Truth, file_rule
from ggufhub.rules.samples import Gguf


def _sample(value: float) -> bytes:
    model = Gguf(data=struct.pack("<32f", *[1.0] * 20, value, *[1.0] * 11))
    return model.key("general.architecture", "llama").tensor("output_norm.weight", (32,)).build()


@file_rule(
    "QNT010",
    "Weights that are no finite numbers",
    Severity.WARNING,
    Truth.ADVICE,
    needs=(Need.TENSORS, Need.DATA),
    help="A weight, or the scale of a block of weights, that is infinite or no number (NaN) "
    "spreads through everything computed from it: the model loads and answers with garbage, or "
    "stops at an assertion. The reference finds such blocks only when it is told to "
    "(--check-tensors), and so does this rule, at depth full. Tensors of nothing but zero bytes "
    "are noted too: a bias may be zero, a weight matrix hardly is.",
    fix="Convert and quantise the model again, with an importance matrix that covers every expert.",
    failing=lambda: _sample(float("nan")),
    passing=lambda: _sample(1.0),
)
def no_numbers(file: ModelFile) -> Iterator[Hit]:
    faults = file.faults or []
    for fault in faults:
        if fault.kind is not FaultKind.ZERO:
            yield Hit(_message(fault), span=fault.span, tensor=fault.tensor.name)
    zero = [fault for fault in faults if fault.kind is FaultKind.ZERO]
    if zero:
        more = "" if len(zero) == 1 else f" So do {len(zero) - 1:,} more tensors."
        yield Hit(
            f"The tensor holds nothing but zero bytes.{more}",
            span=zero[0].span,
            tensor=zero[0].tensor.name,
            severity=Severity.INFO,
            fix="Make sure that the tensor is meant to be zero.",
        )


def _message(fault: TensorFault) -> str:
    name = type_name(fault.tensor.type)
    if fault.kind is FaultKind.REFUSED:
        return f"The reference takes no block of {name} as valid: it is no type to store."
    value = fault.total == fault.tensor.elements
    what, one = ("Values that are", "value") if value else ("Blocks whose scale is", "block")
    return (
        f"{what} NaN or infinite: {fault.blocks:,} of {fault.total:,} ({name}). The first, "
        f"{fault.kind.value}, is in {one} {fault.block:,}, at byte {fault.span.offset:,}."
    )
