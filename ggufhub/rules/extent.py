"""Structure: where tensor data lies, and whether all of it is there."""

from collections.abc import Iterator

from ggufhub.formats.header import Span
from ggufhub.formats.model import ModelFile
from ggufhub.limits import MIB
from ggufhub.rules.registry import ALL_FORMATS, Hit, Need, Severity, Truth, file_rule
from ggufhub.rules.samples import small_model

TOLERATED_TRAILING = 1 * MIB
"""More than this after the last tensor is no padding of any kind."""

_FOLLOWERS = (
    (b"GGUF", "a second GGUF file"),
    (b"PK\x03\x04", "a ZIP archive"),
    (b"PK\x05\x06", "the end of a ZIP archive"),
    (b"\x7fELF", "a program"),
    (b"MZ", "a program"),
    (b"\x1f\x8b", "gzip data"),
)
"""What is known to follow a model, by its first bytes."""


@file_rule(
    "STR031",
    "Tensor data not where it must be",
    Severity.ERROR,
    Truth.INVALID,
    needs=(Need.TENSORS,),
    help="The reference loader wants the data of each tensor to begin exactly where the one "
    "before it ends, rounded up to the alignment, in the order of the table. The specification "
    "asks for aligned offsets only. A gap can hide data, an overlap makes two tensors one.",
    fix="Write the file again with a current tool.",
    failing=lambda: small_model().tensor("extra.weight", (8,), offset=4096).build(),
    passing=lambda: small_model().build(),
)
def wrong_offset(file: ModelFile) -> Iterator[Hit]:
    header = file.header
    assert header is not None and header.alignment is not None
    expected = 0
    for tensor in header.tensors:
        size = tensor.bytes
        if tensor.offset != expected:
            kind = _displacement(tensor.offset, expected, header.alignment)
            yield Hit.at_tensor(
                tensor,
                f"The data of {tensor.name} begins at offset {tensor.offset:,}, {kind}.",
                expected=f"{expected:,}",
                actual=f"{tensor.offset:,}",
            )
        if size is None:
            return  # the size of an unknown type is unknown, and so is every place after it
        expected = tensor.offset + size + -size % header.alignment


def _displacement(offset: int, expected: int, alignment: int) -> str:
    if offset % alignment:
        return f"which is not a multiple of {alignment}"
    if offset > expected:
        return f"{offset - expected:,} bytes after the data before it"
    return "inside or before the data of an earlier tensor"


@file_rule(
    "STR032",
    "Tensor data ends beyond the end of the file",
    Severity.ERROR,
    Truth.INVALID,
    needs=(Need.TENSORS, Need.SIZE),
    formats=ALL_FORMATS,
    help="The table promises data that the file does not hold. Nearly always the download "
    "stopped early. Loaders that do not compare with the size of the file read memory that does "
    "not belong to it.",
    fix="Fetch the file again and compare its SHA-256 with the published one.",
    failing=lambda: small_model().build()[:-200],
    passing=lambda: small_model().build(),
)
def data_missing(file: ModelFile) -> Iterator[Hit]:
    header, size = file.header, file.size
    assert header is not None and header.data_offset is not None and size is not None
    if header.tensors and header.data_offset > size:
        yield Hit(
            "The file ends before its data section begins.",
            Span(size, 0),
            expected=f"data from byte {header.data_offset:,}",
            actual=f"{size:,} bytes in the file",
        )
        return
    beyond = []
    for tensor in header.tensors:
        data = tensor.bytes
        if data is not None and header.data_offset + tensor.offset + data > size:
            beyond.append((tensor, header.data_offset + tensor.offset + data))
    if not beyond:
        return
    tensor, end = beyond[0]
    missing = max(end for _, end in beyond) - size
    others = f", and {len(beyond) - 1:,} more tensors too" if len(beyond) > 1 else ""
    yield Hit.at_tensor(
        tensor,
        f"The data of {tensor.name} ends beyond the end of the file{others}: "
        f"{missing:,} bytes are missing.",
        expected=f"{end:,} bytes at least",
        actual=f"{size:,} bytes in the file",
    )


@file_rule(
    "STR033",
    "Bytes after the last tensor",
    Severity.INFO,
    Truth.PORTABILITY,
    needs=(Need.TENSORS, Need.SIZE),
    help="Loaders ignore what follows the last tensor. Some programs take it for a second model, "
    "and it can hide anything.",
    fix="Cut the file after its last tensor, unless you know what follows.",
    failing=lambda: small_model().build() + b"GGUF" + bytes(60),
    passing=lambda: small_model().build(),
)
def trailing_bytes(file: ModelFile) -> Iterator[Hit]:
    end, size = file.data_end, file.size
    if end is None or size is None or size <= end:
        return
    extra = size - end
    what = _follower(file.trailing)
    suspicious = what is not None or extra > TOLERATED_TRAILING
    yield Hit(
        f"{extra:,} bytes follow the last tensor" + (f": {what}." if what else "."),
        Span(end, extra),
        expected=f"the end of the file at byte {end:,}",
        actual=f"{size:,} bytes in the file",
        severity=Severity.WARNING if suspicious else Severity.INFO,
    )


def _follower(head: bytes | None) -> str | None:
    if not head:
        return None
    return next((what for magic, what in _FOLLOWERS if head.startswith(magic)), None)


@file_rule(
    "STR037",
    "Padding that is not zero",
    Severity.INFO,
    Truth.SPEC,
    needs=(Need.TENSORS,),
    help="The bytes between the tensor table and the data are padding and zero by the "
    "specification. No loader looks at them, so they can carry something unseen.",
    fix="Write the file again with a current tool.",
    failing=lambda: _padded(b"x"),
    passing=lambda: _padded(b"\0"),
    runtimes=("spec",),
)
def dirty_padding(file: ModelFile) -> Iterator[Hit]:
    header = file.header
    assert header is not None and header.tables_end is not None
    for position, byte in enumerate(header.padding):
        if byte:
            yield Hit(
                "The padding before the tensor data holds something else than zeros.",
                Span(header.tables_end + position, len(header.padding) - position),
                expected="zero bytes",
                actual=f"0x{byte:02x} at byte {header.tables_end + position:,}",
            )
            return


def _padded(fill: bytes) -> bytes:
    sample = small_model()
    sample.pad_with = fill
    return sample.build()


@file_rule(
    "STR038",
    "Final padding missing",
    Severity.INFO,
    Truth.PORTABILITY,
    needs=(Need.TENSORS, Need.SIZE),
    help="The data of the last tensor is complete, but the padding after it is not. The model "
    "loader of llama.cpp accepts that; readers that load the whole data section refuse it.",
    fix="Nothing, unless another program refuses the file: then write it again.",
    failing=lambda: small_model().tensor("x", (1,)).build()[:-28],
    passing=lambda: small_model().build(),
)
def final_padding_missing(file: ModelFile) -> Iterator[Hit]:
    header, end, size = file.header, file.data_end, file.size
    assert header is not None and header.data_offset is not None
    if end is None or size is None or size >= end or not header.tensors:
        return
    last = max(t.offset + (t.bytes or 0) for t in header.tensors) + header.data_offset
    if last <= size:
        yield Hit(
            f"The file ends {end - size:,} bytes before the padding of its last tensor does.",
            Span(size, 0),
            expected=f"{end:,} bytes",
            actual=f"{size:,} bytes",
        )
