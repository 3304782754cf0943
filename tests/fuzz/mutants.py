"""Field-aware mutants: take a valid file and spoil the fields that readers trust.

Blind bit flips rarely get past the magic. Here the reader's own Header tells where each count,
length, type, dimension and offset lies, and those are overwritten with values from the edges.
"""

import random
from collections.abc import Iterator
from typing import NamedTuple

from ggufhub.formats.header import Header
from ggufhub.formats.values import ByteOrder, ValueType
from tests.builders import Gguf
from tests.core.reading import read

VARIANTS = [(version, order) for version in (1, 2, 3) for order in ByteOrder]
"""The six seeds: every version in both byte orders."""

_EDGES = (0, 1, 2, 3, 4, 5, 8, 9, 12, 13, 31, 42, 43, 63, 64, 255, 256, 65_535, 1 << 20)
_WIDE = (1 << 30, (1 << 30) + 1, 1 << 31, (1 << 32) - 1, 1 << 40, 1 << 62, 1 << 63, (1 << 64) - 1)


class Field(NamedTuple):
    """A number in the file: ``width`` bytes at ``offset``."""

    offset: int
    width: int


def seed(version: int, order: ByteOrder) -> bytes:
    """A valid file with every kind of field."""
    sample = Gguf(version=version, order=order, alignment=32)
    sample.key("general.architecture", "llama").key("general.alignment", 32)
    sample.key("llama.context_length", 4096).key("general.quantized", True)
    sample.key("llama.rope.freq_base", 10000.0)
    sample.array("tokens", ValueType.STRING, ["a", "", "bb", "\u00e9"])
    sample.array("numbers", ValueType.INT16, [1, -1, 3])
    sample.tensor("token_embd.weight", (32, 4), 2).tensor("blk.0.ffn.weight", (256,), 12)
    return sample.tensor("output_norm.weight", (8,)).tensor("scalar", ()).build()


def fields(header: Header, size: int) -> list[Field]:
    """Every number the header is read by."""
    width = 4 if header.version == 1 else 8
    found = [Field(0, 4), Field(4, 4), Field(8, width), Field(8 + width, width)]
    for key in header.keys:
        kind_at = key.value_offset - 4
        found += [Field(key.offset, width), Field(kind_at, 4)]
        if key.array is not None:
            found += [Field(key.value_offset, 4), Field(key.value_offset + 4, width)]
            found += [Field(int(at), width) for at in key.array.starts]
        else:
            found.append(Field(key.value_offset, min(width, key.end - key.value_offset)))
    for tensor in header.tensors:
        at = tensor.span.offset
        found.append(Field(at, width))
        at += width + len(tensor.raw_name)
        found.append(Field(at, 4))
        found += [Field(at + 4 + width * n, width) for n in range(len(tensor.shape))]
        end = tensor.span.end
        found += [Field(end - 12, 4), Field(end - 8, 8)]
    return [field for field in found if field.offset + field.width <= size]


def mutants(data: bytes, order: ByteOrder, maker: random.Random) -> Iterator[bytes]:
    """Endless mutants of one file."""
    places = fields(read(data), len(data))
    while True:
        yield mutant(data, places, order, maker)


def mutant(data: bytes, places: list[Field], order: ByteOrder, maker: random.Random) -> bytes:
    """One file with some of the numbers at ``places`` spoilt, perhaps cut or followed by more."""
    made = bytearray(data)
    for _ in range(maker.choice((1, 1, 1, 2, 3))):
        _spoil(made, maker.choice(places), order, maker)
    if maker.random() < 0.15:
        del made[maker.randrange(len(made)) :]
    if maker.random() < 0.1 and made:
        made[maker.randrange(len(made))] = maker.randrange(256)
    if maker.random() < 0.05:
        made += maker.randbytes(maker.randrange(1, 80))
    return bytes(made)


def _spoil(made: bytearray, field: Field, order: ByteOrder, maker: random.Random) -> None:
    old = int.from_bytes(made[field.offset : field.offset + field.width], order.value)
    near = (old + 1, old - 1, old ^ 1 << maker.randrange(8 * field.width), old * 2)
    choices = (_EDGES, _WIDE, near)
    value = maker.choice(maker.choice(choices)) % (1 << 8 * field.width)
    made[field.offset : field.offset + field.width] = value.to_bytes(field.width, order.value)
