"""The data of tensors, where every byte was read: numbers that are none, zeros, and repetition."""

import struct
from collections import defaultdict
from collections.abc import Iterator

from ggufhub.formats.model import FaultKind, ModelFile, TensorData, TensorFault
from ggufhub.formats.tensor_types import type_name
from ggufhub.limits import MIB
from ggufhub.rules.registry import Hit, Need, Severity, Truth, file_rule, model_rule
from ggufhub.rules.samples import Gguf
from ggufhub.rules.subject import Subject


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


HOLLOW = 4
"""One part in so many that is zero makes a matrix worth a look. Real quantised matrices have less
than one block in a thousand whose scale is zero."""

_PADDED = ("token_embd", "per_layer_token_embd", "position_embd", "token_types", "output.")
"""Tables with a row for each token or place: rows of padding are zero, or all alike."""


@file_rule(
    "QNT011",
    "Matrix that is zero in large part",
    Severity.INFO,
    Truth.ADVICE,
    needs=(Need.TENSORS, Need.DATA),
    help="A quarter of a weight matrix or more is zero, or a quarter of its rows hold one value "
    "again and again. That is how pruned models look, experts that were never used, and tensors "
    "of which only a part was written. Embeddings and outputs are left out: their rows for tokens "
    "that do not exist are often zero; so are tensors of one dimension. In quantised types a block "
    "is zero whose scale is.",
    fix="Make sure that the zeros are meant, and quantise again from the original weights if not.",
    failing=lambda: _matrix([0.0] * 512 + [float(n) for n in range(512)]),
    passing=lambda: _matrix([float(n) for n in range(1024)]),
)
def hollow(file: ModelFile) -> Iterator[Hit]:
    found = [one for one in file.data if _weighs(one) and max(_shares(one)) * HOLLOW >= 1]
    if not found:
        return
    first = found[0]
    blocks, rows = _shares(first)
    name = type_name(first.tensor.type)
    what = "values" if first.blocks == first.tensor.elements else f"{name} blocks"
    more = "" if len(found) == 1 else f" {len(found) - 1:,} more matrices are like that."
    yield Hit.at_tensor(
        first.tensor,
        f"{100 * blocks:.0f} % of the {what} are zero, and {100 * rows:.0f} % of the rows hold "
        f"one value.{more}",
    )


def _weighs(one: TensorData) -> bool:
    """Whether it is a matrix of weights, and not zero as a whole, which another rule tells."""
    matrix = len(one.tensor.shape) >= 2 and not one.tensor.name.startswith(_PADDED)
    return matrix and one.blocks > 0 and one.zero_blocks != one.blocks


def _shares(one: TensorData) -> tuple[float, float]:
    """Of the blocks that are zero, and of the rows that hold one value."""
    return (one.zero_blocks or 0) / one.blocks, (one.constant_rows or 0) / max(one.rows, 1)


def _matrix(values: list[float]) -> bytes:
    model = Gguf(data=struct.pack(f"<{len(values)}f", *values))
    model.key("general.architecture", "llama").tensor("blk.0.ffn_up.weight", (64, 16))
    return model.build()


LARGE = 1 * MIB
"""Bytes from which a tensor that is there twice is worth knowing."""


@model_rule(
    "QNT012",
    "Tensors that hold the same data",
    Severity.INFO,
    Truth.ADVICE,
    needs=(Need.TENSORS, Need.DATA),
    help="Two large tensors are equal in every byte (told by their XXH64, which is made against "
    "chance and not against intent). Merged models repeat whole blocks that way; an output that "
    "equals the embedding need not be stored, because programs then use the embedding for both. "
    "Otherwise a tensor was written in the place of another one. Tensors below 1 MiB are left out.",
    fix="Make sure that the repetition is meant.",
    failing=lambda: _twins(0.5),
    passing=lambda: _twins(0.25),
)
def repeated(model: Subject) -> Iterator[Hit]:
    alike: dict[tuple[str, int, tuple[int, ...]], list[TensorData]] = defaultdict(list)
    for file in model.files:
        for one in file.data:
            tensor = one.tensor
            if (tensor.bytes or 0) >= LARGE and one.zero_blocks != one.blocks:
                alike[one.digests["xxh64"], tensor.type, tensor.shape].append(one)
    twins = [group for group in alike.values() if len(group) > 1]
    if not twins:
        return
    count = sum(len(group) - 1 for group in twins)
    wasted = sum((len(group) - 1) * (group[0].tensor.bytes or 0) for group in twins)
    first, second = twins[0][:2]
    yield Hit.at_tensor(
        second.tensor,
        f"{second.tensor.name} holds the same data as {first.tensor.name}. In all {count:,} "
        f"tensors repeat another one, {wasted:,} bytes.",
        actual=first.digests["xxh64"],
    )


def _twins(second: float) -> bytes:
    """Two matrices of 1 MiB, filled with a half and with ``second``."""
    data = b"".join(struct.pack("<f", value) * (LARGE // 4) for value in (0.5, second))
    model = Gguf(data=data).key("general.architecture", "llama")
    for name in ("blk.0.ffn_up.weight", "blk.1.ffn_up.weight"):
        model.tensor(name, (512, LARGE // 4 // 512))
    return model.build()
