"""Structure: is this a GGUF file, of a version that exists, and does its header fit into it?"""

from collections.abc import Iterator

from ggufhub.formats.detect import GGUF
from ggufhub.formats.header import Span, Stop, StopReason
from ggufhub.formats.model import ModelFile
from ggufhub.formats.values import ByteOrder, ValueType
from ggufhub.rules.registry import ALL_FORMATS, Hit, Need, Severity, Truth, file_rule
from ggufhub.rules.samples import Gguf, small_model

HEADER_BYTES = 24
"""Magic, version and two 64-bit counts; version 1 needs 16 (``docs/gguf.md``)."""


def stopped(file: ModelFile, *reasons: StopReason) -> Stop | None:
    stop = None if file.header is None else file.header.stop
    return stop if stop is not None and stop.reason in reasons else None


def hit_of(stop: Stop) -> Hit:
    """The Hit that says what a reader's Stop says."""
    return Hit(
        stop.message,
        stop.span,
        stop.key,
        stop.tensor,
        expected=stop.expected,
        actual=stop.actual,
    )


@file_rule(
    "STR001",
    "Too short to be a model",
    Severity.ERROR,
    Truth.INVALID,
    needs=(Need.HEAD, Need.SIZE),
    help="A GGUF file starts with a magic, a version and two counts: 24 bytes. A shorter file "
    "cannot hold them; most often a download failed before it began.",
    fix="Download the file again.",
    failing=lambda: small_model().build()[:20],
    passing=lambda: small_model().build(),
)
def too_short(file: ModelFile) -> Iterator[Hit]:
    header, size = file.header, file.size
    least = 16 if header is not None and header.version == 1 else HEADER_BYTES
    if size is not None and size < least:
        yield Hit(
            f"The file has {size} bytes; a header alone has {least}.",
            Span(0, size),
            expected=f"at least {least} bytes",
            actual=f"{size} bytes",
        )


@file_rule(
    "STR002",
    "Not a GGUF file",
    Severity.ERROR,
    Truth.INVALID,
    needs=(Need.HEAD,),
    help="The first four bytes of a GGUF file are `GGUF`, in both byte orders. Anything else is "
    "another kind of file saved under a model's name: a web page, a Git LFS pointer, an archive, "
    "one part of a file cut by bytes, or a model format of another program.",
    fix="Get the model file itself.",
    failing=lambda: b"<!doctype html><title>Sign in</title>",
    passing=lambda: small_model().build(),
)
def not_gguf(file: ModelFile) -> Iterator[Hit]:
    if file.form is GGUF or file.form.model:
        return
    yield Hit(
        f"This is {file.form.title}.",
        Span(0, min(4, file.size or 0)),
        expected="the bytes GGUF",
        actual=file.form.title,
        fix=file.form.advice,
    )


@file_rule(
    "STR003",
    "Version that current loaders refuse",
    Severity.ERROR,
    Truth.INVALID,
    needs=(Need.HEAD,),
    formats=ALL_FORMATS,
    help="Versions 2 and 3 of GGUF load. Version 1 of August 2023 had 32-bit counts and was "
    "dropped in November 2023; ggufhub still reads it. GGMF had version 1, GGJT 1 to 3. Other "
    "numbers do not exist.",
    fix="Convert the original model again with a current convert_hf_to_gguf.py.",
    failing=lambda: Gguf(version=4).key("general.architecture", "llama").build(),
    passing=lambda: Gguf(version=2).key("general.architecture", "llama").build(),
)
def refused_version(file: ModelFile) -> Iterator[Hit]:
    stop = stopped(file, StopReason.VERSION)
    if stop is not None:
        yield hit_of(stop)
    elif file.header is not None and (file.header.format, file.header.version) == ("gguf", 1):
        yield Hit(
            "This is version 1, which loaders dropped in November 2023.",
            Span(4, 4),
            expected="2 or 3",
            actual="1",
        )


@file_rule(
    "STR004",
    "Big-endian file",
    Severity.WARNING,
    Truth.PORTABILITY,
    needs=(Need.HEAD,),
    help="Every number in this file is written with its most significant byte first, for hosts "
    "such as s390x. Loaders do not swap bytes: on x86 and ARM the file does not load.",
    fix="Use the little-endian file, or convert this one with gguf_convert_endian.py.",
    failing=lambda: Gguf(order=ByteOrder.BIG).key("general.architecture", "llama").build(),
    passing=lambda: small_model().build(),
)
def big_endian(file: ModelFile) -> Iterator[Hit]:
    header = file.header
    if header is None or header.byte_order is not ByteOrder.BIG:
        return
    if stopped(file, StopReason.VERSION) is None:
        yield Hit(
            "The file is big-endian and loads only on big-endian hosts.",
            Span(4, 4),
            expected="little-endian",
            actual="big-endian",
        )


@file_rule(
    "STR005",
    "Header does not fit into the file",
    Severity.ERROR,
    Truth.INVALID,
    needs=(Need.HEAD,),
    formats=ALL_FORMATS,
    help="The header announces more keys or tensors than the file has room for, or the file ends "
    "inside the key or tensor table. Either the file was cut short or a count is damaged.",
    fix="Download the file again and compare its size and checksum with the published ones.",
    failing=lambda: small_model().build()[:70],
    passing=lambda: small_model().build(),
)
def header_does_not_fit(file: ModelFile) -> Iterator[Hit]:
    stop = stopped(file, StopReason.COUNT, StopReason.END_OF_FILE)
    if stop is not None:
        yield hit_of(stop)


@file_rule(
    "STR006",
    "Length larger than the file",
    Severity.ERROR,
    Truth.INVALID,
    needs=(Need.HEAD,),
    formats=ALL_FORMATS,
    help="A string or array claims more bytes than are left in the file, or more than 2^30 bytes "
    "or elements, the most that the reference loader accepts. Readers that believe it allocate "
    "the memory; such files are used to crash them.",
    fix="Do not use this file; get it again from its publisher.",
    failing=lambda: Gguf().raw_key("general.name", 8, (1 << 60).to_bytes(8, "little")).build(),
    passing=lambda: small_model().build(),
)
def length_too_large(file: ModelFile) -> Iterator[Hit]:
    stop = stopped(file, StopReason.LENGTH)
    if stop is not None:
        yield hit_of(stop)


@file_rule(
    "STR012",
    "Value type that loaders refuse",
    Severity.ERROR,
    Truth.INVALID,
    needs=(Need.HEAD,),
    help="Metadata values have types 0 to 12; a reader cannot step over an unknown type, so "
    "everything after it is lost. Arrays of arrays are valid by the text of the specification, "
    "but the reference loader refuses them.",
    fix="Write the file again with a current tool; flatten arrays of arrays.",
    failing=lambda: Gguf().raw_key("x", 13, bytes(8)).build(),
    passing=lambda: small_model().build(),
)
def refused_value_type(file: ModelFile) -> Iterator[Hit]:
    stop = stopped(file, StopReason.VALUE_TYPE)
    if stop is not None:
        yield hit_of(stop)
    for key in file.keys:
        if key.array is not None and key.array.element_type is ValueType.ARRAY:
            yield Hit.at_key(
                key,
                "The value is an array of arrays: valid by the specification, not loadable.",
                expected="an array of scalars or strings",
                actual="an array of arrays",
            )
