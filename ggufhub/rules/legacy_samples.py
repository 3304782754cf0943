"""Small files of the formats before GGUF, of other programs and of llamafiles, made in memory.

Like the GGUF builder these write what they are told, right or wrong.
"""

import struct
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Self

from ggufhub.formats.legacy.tensor_types import GGJT_3, Era

if TYPE_CHECKING:
    import zipfile

PROGRAM = b"MZqFpD" + bytes(250)
"""The first bytes of a program that runs on several systems."""


@dataclass(slots=True)
class Stream:
    """Numbers, strings and tensors one after the other; ``alignment`` is that of tensor data."""

    alignment: int = 1
    era: Era = GGJT_3
    _body: bytearray = field(default_factory=bytearray)

    def raw(self, body: bytes) -> Self:
        self._body += body
        return self

    def words(self, *numbers: int) -> Self:
        return self.raw(struct.pack(f"<{len(numbers)}I", *numbers))

    def floats(self, *numbers: float) -> Self:
        return self.raw(struct.pack(f"<{len(numbers)}f", *numbers))

    def text(self, text: str) -> Self:
        return self.words(len(text.encode())).raw(text.encode())

    def tokens(self, count: int, *, scored: bool = False) -> Self:
        for number in range(count):
            self.text(f"t{number}" if number else "")
            if scored:
                self.floats(-number)
        return self

    def tensor(
        self, name: str, shape: tuple[int, ...] = (32, 2), kind: int = 1, *, size: int | None = None
    ) -> Self:
        """A tensor and its data, of which ``size`` bytes are written if given."""
        self.words(len(shape), len(name), kind, *shape).raw(name.encode())
        self.raw(bytes(-len(self._body) % self.alignment))
        if size is None:
            size = self.era.bytes_of(self.era.type_of(kind), shape) or 0
        return self.raw(b"\x11" * size)

    def build(self) -> bytes:
        return bytes(self._body)


def llama(
    magic: bytes = b"tjgg", version: int | None = 3, *, ftype: int = 1, era: Era = GGJT_3
) -> Stream:
    """A LLaMA file up to its vocabulary of eight tokens."""
    stream = Stream(32 if magic == b"tjgg" else 1, era).raw(magic)
    if version is not None:
        stream.words(version)
    stream.words(8, 32, 256, 4, 1, 8, ftype)
    return stream.tokens(8, scored=version is not None)


def small_llama(
    magic: bytes = b"tjgg",
    version: int | None = 3,
    *,
    ftype: int = 1,
    kind: int = 1,
    era: Era = GGJT_3,
) -> Stream:
    """A sound LLaMA file with three tensors, the first of type ``kind``."""
    stream = llama(magic, version, ftype=ftype, era=era)
    stream.tensor("tok_embeddings.weight", (32, 8), kind).tensor("norm.weight", (32,), 0)
    return stream.tensor("layers.0.ffn_norm.weight", (32,), 0)


def gpt_2(count: int = 8) -> Stream:
    """A GPT-2 file of eight tokens that says it has ``count``."""
    stream = Stream().raw(b"lmgg").words(count, 64, 32, 4, 1, 1, 8).tokens(8)
    return stream.tensor("model/wte", (32, 8)).tensor("model/ln_f/g", (32,), 0)


def adapter() -> Stream:
    """A LoRA adapter in GGLA."""
    stream = Stream(32).raw(b"algg").words(1, 8, 16)
    stream.tensor("layers.0.attention.wq.weight.loraA", (8, 32), 0)
    return stream.tensor("layers.0.attention.wq.weight.loraB", (8, 32), 0)


def imatrix_dat(entries: int = 2, *, trailer: bool = True) -> bytes:
    """An importance matrix of the old form."""
    stream = Stream().words(entries)
    for number in range(entries):
        stream.text(f"blk.{number}.attn_q.weight").words(10, 4).floats(1, 2, 3, 4)
    return (stream.words(10).text("wiki.txt") if trailer else stream).build()


def llamafile(
    model: bytes, *, name: str = "model.gguf", stored: bool = True, alignment: int = 4096
) -> bytes:
    """A program with ``model`` in a ZIP archive behind it, its data aligned."""
    import io
    import zipfile

    whole = io.BytesIO(PROGRAM)
    whole.seek(0, io.SEEK_END)
    with zipfile.ZipFile(whole, "a") as archive:
        archive.writestr(_entry(".args", b"", zipfile.ZIP_STORED), b"-m\nmodel.gguf\n")
        method = zipfile.ZIP_STORED if stored else zipfile.ZIP_DEFLATED
        start = whole.tell() + 30 + len(name) + 4  # local header, name, head of the extra field
        padding = struct.pack("<2H", 0xFFFF, -start % alignment) + bytes(-start % alignment)
        archive.writestr(_entry(name, padding, method), model)
    return whole.getvalue()


def _entry(name: str, extra: bytes, method: int) -> "zipfile.ZipInfo":
    import zipfile

    entry = zipfile.ZipInfo(name)
    entry.extra = extra
    entry.compress_type = method
    return entry
