"""Gguf: a builder of small files for the samples of rules and for tests.

It writes what it is told, right or wrong: counts, offsets, lengths and names can all lie.
"""

import struct
from dataclasses import dataclass, field
from typing import Self

from ggufhub.formats.header import DEFAULT_ALIGNMENT
from ggufhub.formats.tensor_types import tensor_bytes
from ggufhub.formats.values import STRUCT_CODE, ByteOrder, ValueType

Plain = int | float | bool | str | bytes


@dataclass(slots=True)
class _Entry:
    name: bytes
    type: int
    payload: bytes


@dataclass(slots=True)
class _Row:
    name: bytes
    shape: tuple[int, ...]
    type: int
    offset: int | None
    size: int


@dataclass(slots=True)
class Gguf:
    """Collects keys and tensors; ``build()`` writes them.

    ``kv_count`` and ``tensor_count`` replace the true counts; ``trailing`` follows the data;
    ``data`` replaces the zero bytes of all tensors; ``pad_with`` fills the padding.
    """

    version: int = 3
    order: ByteOrder = ByteOrder.LITTLE
    alignment: int = DEFAULT_ALIGNMENT
    kv_count: int | None = None
    tensor_count: int | None = None
    data: bytes | None = None
    pad_with: bytes = b"\0"
    _entries: list[_Entry] = field(default_factory=list)
    _rows: list[_Row] = field(default_factory=list)

    def key(self, name: str | bytes, value: Plain, kind: ValueType | None = None) -> Self:
        """A scalar or string; the type is guessed from the value where it is not given."""
        kind = _guess(value) if kind is None else kind
        self._entries.append(_Entry(_bytes(name), kind, self._scalar(kind, value)))
        return self

    def raw_key(self, name: str | bytes, kind: int, payload: bytes) -> Self:
        """A value of any type id with exactly these bytes."""
        self._entries.append(_Entry(_bytes(name), kind, payload))
        return self

    def array(self, name: str, kind: ValueType, values: list[Plain]) -> Self:
        """An array of scalars or strings."""
        body = b"".join(self._scalar(kind, value) for value in values)
        payload = self._pack("I", kind) + self._count(len(values)) + body
        self._entries.append(_Entry(_bytes(name), ValueType.ARRAY, payload))
        return self

    def tensor(
        self,
        name: str | bytes,
        shape: tuple[int, ...] = (8,),
        kind: int = 0,
        *,
        offset: int | None = None,
        size: int | None = None,
    ) -> Self:
        """A tensor; ``offset`` and the ``size`` of its data follow from the others if not given."""
        if size is None:
            elements = 1
            for dimension in shape:
                elements *= dimension
            size = tensor_bytes(kind, elements, shape[0] if shape else 1) or 0
        self._rows.append(_Row(_bytes(name), shape, kind, offset, size))
        return self

    def build(self) -> bytes:
        """The file."""
        head = self._header()
        if not self._rows:
            return head
        head += self._padding(len(head))
        return head + self._data()

    def _header(self) -> bytes:
        kv_count = len(self._entries) if self.kv_count is None else self.kv_count
        tensor_count = len(self._rows) if self.tensor_count is None else self.tensor_count
        parts = [b"GGUF", self._pack("I", self.version)]
        parts += [self._count(tensor_count), self._count(kv_count)]
        for entry in self._entries:
            parts += [self._text(entry.name), self._pack("I", entry.type), entry.payload]
        expected = 0
        for row in self._rows:
            parts += [self._text(row.name), self._pack("I", len(row.shape))]
            parts += [self._count(dimension) for dimension in row.shape]
            offset = expected if row.offset is None else row.offset
            parts += [self._pack("I", row.type), self._pack("Q", offset)]
            expected = offset + row.size + -row.size % self.alignment
        return b"".join(parts)

    def _data(self) -> bytes:
        if self.data is not None:
            return self.data
        body = b""
        for row in self._rows:
            offset = len(body) if row.offset is None else row.offset
            body = body.ljust(offset, b"\0") + bytes(row.size)
            body += self._padding(len(body))
        return body

    def _padding(self, length: int) -> bytes:
        return self.pad_with * (-length % self.alignment)

    def _pack(self, code: str, value: int | float) -> bytes:
        return struct.pack(self.order.prefix + code, value)

    def _count(self, value: int) -> bytes:
        return self._pack("I" if self.version == 1 else "Q", value)

    def _text(self, raw: bytes) -> bytes:
        return self._count(len(raw)) + raw

    def _scalar(self, kind: ValueType, value: Plain) -> bytes:
        if kind is ValueType.STRING:
            assert isinstance(value, str | bytes)
            return self._text(_bytes(value))
        assert not isinstance(value, str | bytes)
        return self._pack(STRUCT_CODE[kind], value)


def _bytes(text: str | bytes) -> bytes:
    return text.encode("utf-8", "surrogateescape") if isinstance(text, str) else text


def _guess(value: Plain) -> ValueType:
    if isinstance(value, bool):
        return ValueType.BOOL
    if isinstance(value, int):
        return ValueType.UINT32
    return ValueType.FLOAT32 if isinstance(value, float) else ValueType.STRING


def small_model() -> Gguf:
    """Two keys and two tensors: the smallest file that breaks no structural rule."""
    return (
        Gguf()
        .key("general.architecture", "llama")
        .key("general.name", "Sample")
        .tensor("token_embd.weight", (32, 4))
        .tensor("output_norm.weight", (32,))
    )
