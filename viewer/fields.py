"""What the bytes of a header mean: a place of the document split into the fields written there.

Nothing is parsed here. The document says where each key and each tensor entry lies; inside one
only the lengths are taken from the bytes, and never beyond the place.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

SIZES = {
    "uint8": 1, "int8": 1, "bool": 1, "uint16": 2, "int16": 2, "uint32": 4, "int32": 4,
    "float32": 4, "uint64": 8, "int64": 8, "float64": 8,
}  # fmt: skip
"""Bytes of a scalar value by the name of its type."""

TYPE_CODE = 4
"""Bytes of a type's number, of a version and of a count of dimensions (``uint32``)."""

DATA_OFFSET = 8
"""Bytes of a tensor's place in the data (``uint64`` in every version)."""

Read = Callable[[int, int], bytes]
"""Up to ``length`` bytes from ``offset``; none where nothing is kept."""


@dataclass(frozen=True, slots=True)
class Field:
    """One field: what it is, its bytes, and its value in words ('' where the bytes say it)."""

    name: str
    offset: int
    length: int
    value: str = ""


class Meaning:
    """The fields of one file of a report."""

    def __init__(self, document: dict[str, Any], file: str, read: Read) -> None:
        form = document["format"]
        self._form = form
        self._order = form["byte_order"] or "little"
        self._wide = 4 if form["version"] == 1 else 8
        self._read = read
        first = document["files"][0]["name"]
        self._entries = document["metadata"] if file == first else []
        self._tensors = [one for one in document["tensors"] if one.get("file", first) == file]

    def fields(self, piece: dict[str, Any], at: int) -> list[Field]:
        """The fields of ``piece``; of the tensor table those of the entry that holds ``at``."""
        if self._form["name"] == "gguf":
            if piece["what"] == "header":
                return self._header(piece)
            if piece["what"] == "key":
                return self._key(piece)
            if piece["what"] == "tensor table":
                return self._tensor(piece, at)
        return [_whole(piece)]

    def _header(self, piece: dict[str, Any]) -> list[Field]:
        form, wide = self._form, self._wide
        rows = [
            ("magic", 4, "GGUF"),
            ("version", TYPE_CODE, _words(form["version"])),
            ("number of tensors", wide, _words(self._number(8, wide))),
            ("number of keys", wide, _words(self._number(8 + wide, wide))),
        ]
        return _laid(rows, 0, piece["length"])

    def _key(self, piece: dict[str, Any]) -> list[Field]:
        offset, end, wide = piece["offset"], piece["offset"] + piece["length"], self._wide
        length = self._number(offset, wide)
        entry = next((one for one in self._entries if one["offset"] == offset), None)
        if length is None or offset + wide + length + TYPE_CODE > end:
            return [_whole(piece)]
        type_name = entry["type"] if entry else ""
        rows = [
            ("length of the name", wide, f"{length:,}"),
            ("name", length, piece["name"]),
            ("type", TYPE_CODE, "array" if type_name.endswith("[]") else type_name),
        ]
        start = offset + wide + length + TYPE_CODE
        rows += self._value(start, end - start, type_name, entry["value"] if entry else None)
        return _laid(rows, offset, piece["length"])

    def _value(
        self, start: int, length: int, type_name: str, value: Any
    ) -> list[tuple[str, int, str]]:
        wide = self._wide
        if type_name == "string" and length >= wide:
            count = _words(self._number(start, wide))
            return [("length of the text", wide, count), ("text", length - wide, _text(value))]
        if type_name.endswith("[]") and length >= TYPE_CODE + wide:
            return [
                ("type of the elements", TYPE_CODE, type_name.removesuffix("[]")),
                ("number of elements", wide, f"{value['count']:,}"),
                ("elements", length - TYPE_CODE - wide, ""),
            ]
        return [("value", length, _text(value))]

    def _tensor(self, piece: dict[str, Any], at: int) -> list[Field]:
        for tensor in self._tensors:
            place = tensor["place"]
            if place["offset"] <= at < place["offset"] + place["length"]:
                return self._tensor_fields(tensor, place)
        return [_whole(piece)]

    def _tensor_fields(self, tensor: dict[str, Any], place: dict[str, int]) -> list[Field]:
        wide, shape = self._wide, tensor["shape"]
        fixed = wide + TYPE_CODE + wide * len(shape) + TYPE_CODE + DATA_OFFSET
        length = place["length"] - fixed
        rows = [
            ("length of the name", wide, f"{length:,}"),
            ("name", length, tensor["name"]),
            ("number of dimensions", TYPE_CODE, str(len(shape))),
            *((f"dimension {n}", wide, f"{size:,}") for n, size in enumerate(shape, 1)),
            ("type", TYPE_CODE, tensor["type"]),
            ("place in the data", DATA_OFFSET, f"{tensor['offset']:,}"),
        ]
        return _laid(rows, place["offset"], place["length"])

    def _number(self, offset: int, size: int) -> int | None:
        raw = self._read(offset, size)
        if len(raw) < size:
            return None
        return int.from_bytes(raw, "big" if self._order == "big" else "little")


def _whole(piece: dict[str, Any]) -> Field:
    return Field(piece["what"], piece["offset"], piece["length"], piece["name"])


def _laid(rows: list[tuple[str, int, str]], offset: int, length: int) -> list[Field]:
    """The rows one after another from ``offset``; what would lie beyond the place is left out."""
    fields, end = [], offset + length
    for name, size, value in rows:
        if size <= 0 or offset + size > end:
            continue
        fields.append(Field(name, offset, size, value))
        offset += size
    return fields


def _words(number: int | None) -> str:
    return "" if number is None else f"{number:,}"


def _text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, dict):
        return str(value.get("text", ""))
    return str(value).lower() if isinstance(value, bool) else str(value)


def field_at(fields: list[Field], at: int) -> Field | None:
    """The field that holds byte ``at``."""
    return next((one for one in fields if one.offset <= at < one.offset + one.length), None)
