"""Structure: names, shapes and types in the tensor table."""

from collections.abc import Iterator

from ggufhub.formats.header import StopReason, Tensor
from ggufhub.formats.model import Model, ModelFile
from ggufhub.formats.tensor_types import FORK_TYPES, TENSOR_TYPES, TYPE_COUNT, type_name
from ggufhub.rules.container import hit_of
from ggufhub.rules.registry import Hit, Need, Severity, Truth, file_rule, model_rule
from ggufhub.rules.samples import Gguf

LONGEST_NAME = 63
"""``GGML_MAX_NAME`` is 64 and includes the final NUL (``ggml/include/ggml.h``)."""

MOST_DIMENSIONS = 4
"""``GGML_MAX_DIMS``."""

INT64_MAX = (1 << 63) - 1
SIZE_MAX = (1 << 64) - 1


@file_rule(
    "STR020",
    "Tensor name too long",
    Severity.ERROR,
    Truth.INVALID,
    needs=(Need.HEAD,),
    help="The reference loader keeps names in 64 bytes with a final NUL, so 63 are left. The "
    "specification says 64; a name of exactly 64 bytes does not load.",
    fix="Rename the tensor.",
    failing=lambda: Gguf().tensor("x" * 64).build(),
    passing=lambda: Gguf().tensor("x" * 63).build(),
)
def long_name(file: ModelFile) -> Iterator[Hit]:
    for tensor in file.tensors:
        length = len(tensor.raw_name)
        if length > LONGEST_NAME:
            yield Hit.at_tensor(
                tensor,
                f"The tensor name has {length:,} bytes.",
                expected=f"at most {LONGEST_NAME}",
                actual=f"{length:,}",
            )


@file_rule(
    "STR021",
    "Too many dimensions",
    Severity.ERROR,
    Truth.INVALID,
    needs=(Need.HEAD,),
    help="A tensor has 0 to 4 dimensions. Old readers wrote past their arrays on more.",
    fix="Reshape the tensor to 4 dimensions or fewer.",
    failing=lambda: Gguf().tensor("a", (2, 2, 2, 2, 2)).build(),
    passing=lambda: Gguf().tensor("a", (2, 2, 2, 2)).build(),
)
def many_dimensions(file: ModelFile) -> Iterator[Hit]:
    stop = None if file.header is None else file.header.stop
    if stop is not None and stop.reason is StopReason.DIMENSIONS:
        yield hit_of(stop)
    for tensor in file.tensors:
        count = len(tensor.shape)
        if count > MOST_DIMENSIONS:
            yield Hit.at_tensor(
                tensor, f"The tensor has {count} dimensions.", expected="0 to 4", actual=str(count)
            )


@model_rule(
    "STR022",
    "Duplicate tensor name",
    Severity.ERROR,
    Truth.INVALID,
    needs=(Need.HEAD,),
    help="Two tensors of the same name, in one file or in two shards of a model. Loaders refuse "
    "it; readers that do not may use either.",
    fix="Remove one of the two and write the file again.",
    failing=lambda: Gguf().tensor("a").tensor("a").build(),
    passing=lambda: Gguf().tensor("a").tensor("b").build(),
)
def duplicate_name(model: Model) -> Iterator[Hit]:
    first: dict[bytes, Tensor] = {}
    for tensor in model.tensors:
        # The model loader cuts names at the first NUL before it compares them.
        earlier = first.setdefault(tensor.raw_name.split(b"\0")[0], tensor)
        if earlier is not tensor:
            yield Hit.at_tensor(
                tensor,
                f"The tensor {tensor.name} exists twice; the other is at byte "
                f"{earlier.span.offset:,} of the tensor table.",
                expected="each name once",
            )


@file_rule(
    "STR023",
    "Tensor type that loaders refuse",
    Severity.ERROR,
    Truth.INVALID,
    needs=(Need.HEAD,),
    help="Types 0 to 42 are defined; 4, 5, 31 to 33 and 36 to 38 were removed. Forks such as "
    "ik_llama.cpp and BitNet give numbers of their own to types that only they read.",
    fix="Use the program that made the file, or a file quantised to a common type.",
    failing=lambda: Gguf().tensor("a", (32,), 31, size=32).build(),
    passing=lambda: Gguf().tensor("a", (32,), 2).build(),
)
def refused_type(file: ModelFile) -> Iterator[Hit]:
    for tensor in file.tensors:
        known = TENSOR_TYPES.get(tensor.type)
        if known is not None and not known.removed:
            continue
        name, expected = type_name(tensor.type), f"a type from 0 to {TYPE_COUNT - 1}"
        fork = FORK_TYPES.get(tensor.type)
        if known is not None:
            message = f"The type {known.name} was removed; use {known.removed}."
            if fork is not None:
                message += f" {fork[1]} uses the same number for {fork[0]}."
        elif fork is not None:
            message = f"The type {fork[0]} exists only in {fork[1]}."
        else:
            message = f"The tensor type {tensor.type:,} does not exist."
        yield Hit.at_tensor(tensor, message, expected=expected, actual=f"{tensor.type} ({name})")


@file_rule(
    "STR024",
    "Dimension out of range",
    Severity.ERROR,
    Truth.INVALID,
    needs=(Need.HEAD,),
    help="A dimension is stored in 64 bits and read as signed, so values from 2^63 on are "
    "negative and refused. A dimension of zero makes an empty tensor, which current loaders "
    "accept and older ones divide by.",
    fix="Write the tensor with its true shape, or leave an empty one out.",
    failing=lambda: Gguf().tensor("a", (1 << 63,), size=32).build(),
    passing=lambda: Gguf().tensor("a", (8,)).build(),
)
def bad_dimension(file: ModelFile) -> Iterator[Hit]:
    for tensor in file.tensors:
        for dimension in tensor.shape:
            if dimension > INT64_MAX:
                yield Hit.at_tensor(
                    tensor,
                    f"A dimension is {dimension:,}.",
                    expected="at most 2^63 - 1",
                    actual=f"{dimension:,}",
                )
            elif dimension == 0:
                yield Hit.at_tensor(
                    tensor,
                    "A dimension is zero: the tensor is empty.",
                    expected="1 or more",
                    actual="0",
                    severity=Severity.WARNING,
                )


@file_rule(
    "STR025",
    "Row is not whole blocks",
    Severity.ERROR,
    Truth.INVALID,
    needs=(Need.HEAD,),
    help="Quantised types store elements in blocks of 32 to 256, and every row (the first "
    "dimension) must be a whole number of them. Quantisers fall back to another type where it is "
    "not; a file that claims otherwise is damaged or made by a broken tool.",
    fix="Quantise again; rows of this length need a type with smaller blocks.",
    failing=lambda: Gguf().tensor("a", (32,), 12, size=144).build(),
    passing=lambda: Gguf().tensor("a", (256,), 12).build(),
)
def broken_row(file: ModelFile) -> Iterator[Hit]:
    for tensor in file.tensors:
        known = TENSOR_TYPES.get(tensor.type)
        row = tensor.shape[0] if tensor.shape else 1
        if known is not None and known.block and row % known.block:
            yield Hit.at_tensor(
                tensor,
                f"Rows of {row:,} elements are not whole blocks of {known.name}.",
                expected=f"a multiple of {known.block}",
                actual=f"{row:,}",
            )


@file_rule(
    "STR026",
    "Size beyond 64 bits",
    Severity.ERROR,
    Truth.INVALID,
    needs=(Need.HEAD,),
    help="The element count or the bytes of a tensor, or of all together, do not fit into 64 "
    "bits. In programs that compute with 64-bit numbers the size wraps to a small one, and data "
    "is written outside the memory for it; several published attacks work this way.",
    fix="Do not use this file.",
    failing=lambda: Gguf().tensor("a", (1 << 40, 1 << 40), size=32).build(),
    passing=lambda: Gguf().tensor("a", (8,)).build(),
)
def overflow(file: ModelFile) -> Iterator[Hit]:
    alignment = (file.header.alignment if file.header else None) or 1
    total = 0
    for tensor in file.tensors:
        elements = 1
        for dimension in tensor.shape:
            elements *= max(dimension, 1)  # a zero hides an overflow from some readers only
        size = tensor.bytes or 0
        total += size + -size % alignment
        if elements > INT64_MAX:
            yield Hit.at_tensor(
                tensor,
                "The number of elements does not fit into 63 bits.",
                expected="at most 2^63 - 1",
                actual=f"{elements:,}",
            )
        elif max(size + alignment - 1, total) > SIZE_MAX:
            yield Hit.at_tensor(
                tensor,
                "The bytes of the tensors up to this one do not fit into 64 bits.",
                expected="at most 2^64 - 1",
                actual=f"{total:,}",
            )
            return
