"""Structure: names, strings and the alignment among the keys."""

import re
from collections.abc import Iterator

from ggufhub.formats.header import Key, Span
from ggufhub.formats.model import ModelFile
from ggufhub.formats.values import ByteOrder, ValueType, is_utf8
from ggufhub.rules.registry import Hit, Need, Severity, Truth, file_rule
from ggufhub.rules.samples import Gguf, small_model

LONGEST_KEY = 65_535
"""Bytes in a key by ``docs/gguf.md``; the reference loader accepts 2^30."""

KEY_NAME = re.compile(rb"[A-Za-z0-9_.-]+")
"""Wider than the specification (lower_snake_case), which many published files break."""

LARGEST_PORTABLE_ALIGNMENT = 4096
"""One page: writers use 32 or 64, and a proposal for the reference caps the value at 1 MiB."""


@file_rule(
    "STR010",
    "Empty key name",
    Severity.ERROR,
    Truth.INVALID,
    needs=(Need.HEAD,),
    help="A key of zero bytes cannot be looked up; the reference loader refuses it since 2026.",
    fix="Remove the key, for example with gguf_new_metadata.py.",
    failing=lambda: Gguf().key("", 1).build(),
    passing=lambda: small_model().build(),
)
def empty_key(file: ModelFile) -> Iterator[Hit]:
    for key in file.keys:
        if not key.raw_name:
            yield Hit.at_key(key, "A key has an empty name.")


@file_rule(
    "STR011",
    "Duplicate key",
    Severity.ERROR,
    Truth.INVALID,
    needs=(Need.HEAD,),
    help="The reference loader refuses two keys of the same name. Other readers take the first or "
    "the last, so two programs can see two different models in one file.",
    fix="Keep one of the two, for example with gguf_new_metadata.py.",
    failing=lambda: Gguf().key("a", 1).key("a", 2).build(),
    passing=lambda: small_model().build(),
)
def duplicate_key(file: ModelFile) -> Iterator[Hit]:
    first: dict[bytes, Key] = {}
    for key in file.keys:
        earlier = first.setdefault(key.raw_name, key)
        if earlier is not key:
            yield Hit.at_key(
                key,
                f"The key {key.name} was given before, at byte {earlier.offset:,}.",
                expected="each key once",
            )


@file_rule(
    "STR013",
    "Text that readers disagree about",
    Severity.WARNING,
    Truth.SPEC,
    needs=(Need.HEAD,),
    help="Keys and strings are UTF-8 by the specification, keys at most 65,535 bytes of letters, "
    "digits, `_`, `.` and `-`. The reference loader checks none of it; Python readers fail on it.",
    fix="Write the text as UTF-8, and keys in lower_snake_case parts joined by dots.",
    failing=lambda: Gguf().key("general.name", b"caf\xe9").build(),
    passing=lambda: Gguf().key("general.name", "caf\u00e9").build(),
    runtimes=("spec", "gguf-py"),
)
def odd_text(file: ModelFile) -> Iterator[Hit]:
    for key in file.keys:
        name = key.raw_name
        if len(name) > LONGEST_KEY:
            yield Hit.at_key(
                key, f"The key name has {len(name):,} bytes.", expected="at most 65,535"
            )
        elif name and not KEY_NAME.fullmatch(name):
            yield Hit.at_key(key, "The key name has characters beyond letters, digits, _ . and -.")
        value = key.value if key.type is ValueType.STRING else None
        if isinstance(value, bytes) and not is_utf8(value):
            yield Hit.at_key(key, f"The value of {key.name} is not UTF-8.", expected="UTF-8 text")
    for tensor in file.tensors:
        if not is_utf8(tensor.raw_name):
            yield Hit.at_tensor(tensor, "A tensor name is not UTF-8.", expected="UTF-8 text")


@file_rule(
    "STR014",
    "Bool that is neither 0 nor 1",
    Severity.INFO,
    Truth.SPEC,
    needs=(Need.HEAD,),
    help="The specification allows 0 and 1 only. Loaders take every other byte for true.",
    fix="Write 1 for true.",
    failing=lambda: Gguf().raw_key("tokenizer.ggml.add_bos_token", 7, b"\x02").build(),
    passing=lambda: Gguf().key("tokenizer.ggml.add_bos_token", True).build(),
    runtimes=("spec",),
)
def odd_bool(file: ModelFile) -> Iterator[Hit]:
    for key in file.keys:
        if key.type is ValueType.BOOL:
            values = [key.value]
        elif key.array is not None and key.array.element_type is ValueType.BOOL:
            values = list(set(bytes(key.array.numbers())))
        else:
            continue
        wrong = [str(value) for value in values if value not in (0, 1)]
        if wrong:
            message = f"The bool {key.name} is {wrong[0]}."
            yield Hit.at_key(key, message, expected="0 or 1", actual=wrong[0])


@file_rule(
    "STR030",
    "Unusable alignment",
    Severity.ERROR,
    Truth.INVALID,
    needs=(Need.KEYS,),
    help="`general.alignment` says on which multiples tensor data begins. The reference loader "
    "wants a uint32 that is a power of two; the specification a multiple of 8, so 24 is legal "
    "there and still does not load.",
    fix="Write the file again with alignment 32 or 64.",
    failing=lambda: small_model().key("general.alignment", 24).build(),
    passing=lambda: small_model().key("general.alignment", 32).build(),
)
def bad_alignment(file: ModelFile) -> Iterator[Hit]:
    for key in _alignment_keys(file):
        if key.type is not ValueType.UINT32:
            yield Hit.at_key(
                key,
                f"general.alignment is of type {key.type_label}.",
                expected="uint32",
                actual=key.type_label,
            )
            continue
        value = key.value
        assert isinstance(value, int)
        if value == 0 or value & (value - 1):
            yield Hit.at_key(
                key,
                f"general.alignment is {value:,}, which is no power of two.",
                expected="a power of two",
                actual=f"{value:,}",
            )


def _alignment_keys(file: ModelFile) -> list[Key]:
    """All keys the reference would take for the alignment: it compares C strings."""
    return [key for key in file.keys if key.raw_name.split(b"\0")[0] == b"general.alignment"]


@file_rule(
    "STR036",
    "Alignment that other readers refuse",
    Severity.WARNING,
    Truth.PORTABILITY,
    needs=(Need.KEYS,),
    help="Alignments of 1, 2 and 4 load in llama.cpp and break the specification, which wants a "
    "multiple of 8. Values above 4,096 have no use, waste space, and a cap is being discussed.",
    fix="Write the file again with alignment 32 or 64.",
    failing=lambda: Gguf(alignment=4).key("general.alignment", 4).tensor("a").build(),
    passing=lambda: small_model().key("general.alignment", 32).build(),
    runtimes=("spec",),
)
def odd_alignment(file: ModelFile) -> Iterator[Hit]:
    for key in _alignment_keys(file):
        value = key.value
        if key.type is not ValueType.UINT32 or not isinstance(value, int) or value < 1:
            continue
        if value & (value - 1) == 0 and not 8 <= value <= LARGEST_PORTABLE_ALIGNMENT:
            yield Hit.at_key(
                key,
                f"general.alignment is {value:,}.",
                expected="8 to 4,096",
                actual=f"{value:,}",
            )


@file_rule(
    "STR039",
    "NUL inside a name",
    Severity.WARNING,
    Truth.PORTABILITY,
    needs=(Need.HEAD,),
    help="Loaders written in C cut names at the first NUL byte, others do not. Two names that "
    "differ only after it are the same name to some programs and not to others.",
    fix="Do not trust the file: no converter writes such names.",
    failing=lambda: Gguf().key(b"general.name\0x", "a").build(),
    passing=lambda: small_model().build(),
)
def nul_in_name(file: ModelFile) -> Iterator[Hit]:
    for key in file.keys:
        if b"\0" in key.raw_name:
            yield Hit.at_key(key, "A key name contains a NUL byte.")
    for tensor in file.tensors:
        if b"\0" in tensor.raw_name:
            yield Hit.at_tensor(tensor, "A tensor name contains a NUL byte.")


@file_rule(
    "STR040",
    "Big-endian before version 3",
    Severity.INFO,
    Truth.SPEC,
    needs=(Need.HEAD,),
    help="The specification knows big-endian files from version 3 on. Big-endian builds of the "
    "reference loader accept version 2 all the same.",
    fix="Write the file again as version 3.",
    failing=lambda: Gguf(version=2, order=ByteOrder.BIG).key("a", 1).build(),
    passing=lambda: Gguf(version=3, order=ByteOrder.BIG).key("a", 1).build(),
    runtimes=("spec",),
)
def early_big_endian(file: ModelFile) -> Iterator[Hit]:
    header = file.header
    if header is None or header.byte_order is not ByteOrder.BIG or header.version not in (1, 2):
        return
    yield Hit(f"Version {header.version} is little-endian by the specification.", Span(4, 4))
