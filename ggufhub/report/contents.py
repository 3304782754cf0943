"""The contents of a model as document parts: metadata, tensors, layout."""

from collections.abc import Iterable
from math import isfinite

from ggufhub.formats.header import Array, Header, Key, StopReason, Tensor
from ggufhub.formats.model import Model, ModelFile, TensorData
from ggufhub.formats.naming import block_and_role
from ggufhub.formats.tensor_types import type_name
from ggufhub.formats.values import ValueType
from ggufhub.report.codec import (
    EXACT_INTEGER,
    Json,
    PackedArray,
    Shown,
    pack_numbers,
    pack_strings,
    safe_name,
    safe_text,
    safe_words,
)
from ggufhub.sources.base import Layer

INLINE_ELEMENTS = 64
"""Arrays up to this long are in the document whole; longer ones are packed and paged."""

FIRST_ELEMENTS = 8
"""Elements of a long array that the document itself shows, and of any array once the budget of
shown values is used up."""


def layers(known: Iterable[Layer]) -> list[dict[str, Json]]:
    """What is shipped beside the model: template, system prompt, parameters, licence."""
    return [
        {
            "kind": safe_text(layer.kind),
            "media_type": safe_text(layer.media_type),
            "digest": layer.digest,
            "size": layer.size,
            "text": None if layer.text is None else safe_text(layer.text),
        }
        for layer in known
    ]


def metadata(header: Header) -> list[dict[str, Json]]:
    """Every key, in file order, with its place; values within the budget of ``Shown``."""
    shown = Shown()
    return [_entry(key, shown) for key in header.keys]


def _entry(key: Key, shown: Shown) -> dict[str, Json]:
    entry: dict[str, Json] = {
        "key": safe_name(key.name),
        "type": key.type_label,
        "value": _value(key, shown),
        "offset": key.offset,
        "length": key.end - key.offset,
    }
    value = entry["value"]
    if isinstance(value, int) and not -EXACT_INTEGER <= value <= EXACT_INTEGER:
        entry["text"] = str(value)
    return entry


def _value(key: Key, shown: Shown) -> Json:
    if key.array is not None:
        return _array(key.array, shown)
    value = key.value
    assert not isinstance(value, Array)
    if key.type is ValueType.BOOL and value in (0, 1):
        return bool(value)
    return shown.value(value)


def _array(array: Array, shown: Shown) -> dict[str, Json]:
    whole = array.count <= INLINE_ELEMENTS and not shown.spent
    first = array.part(0, array.count if whole else FIRST_ELEMENTS)
    return {"count": array.count, "first": [_element(item, shown) for item in first]}


def _element(item: int | float | bytes | Array, shown: Shown) -> Json:
    return _array(item, shown) if isinstance(item, Array) else shown.value(item)


def packed_arrays(header: Header) -> dict[str, PackedArray]:
    """The long arrays of a header by (safe) key, compressed in chunks."""
    packed = {}
    for key in header.keys:
        array = key.array
        if array is None or array.count <= INLINE_ELEMENTS:
            continue
        if array.element_type is not ValueType.ARRAY:
            packed[safe_name(key.name)] = pack(array)
    return packed


def pack(array: Array) -> PackedArray:
    """One flat array, packed."""
    if array.element_type is not ValueType.STRING:
        return pack_numbers(array.numbers(), array.element_type.label)
    import numpy as np

    encoding = array.encoding
    starts = np.asarray(array.starts)
    return pack_strings(encoding.buffer, starts, f"{encoding.order.prefix}u{encoding.prefix}")


def tensors(model: Model) -> list[dict[str, Json]]:
    """Every tensor of every shard, in file order."""
    several = len(model.files) > 1
    rows = []
    for file in model.files:
        seen = {id(one.tensor): one for one in file.data}
        for tensor in file.tensors:
            row = _tensor(tensor)
            if id(tensor) in seen:
                row["data"] = _data(seen[id(tensor)])
            if several:
                row["file"] = safe_name(file.name)
            rows.append(row)
    return rows


def _data(one: TensorData) -> dict[str, Json]:
    """What was seen of the bytes of a tensor; numbers are cut to six digits."""
    sample = one.sample
    return {
        "digests": one.digests,
        "blocks": one.blocks,
        "zero_blocks": one.zero_blocks,
        "scales": None if one.scales is None else [_short(value) for value in one.scales],
        "rows": one.rows,
        "constant_rows": one.constant_rows,
        "sample": None
        if sample is None
        else {
            "elements": sample.elements,
            "mean": _short(sample.mean),
            "deviation": _short(sample.deviation),
            "least": _short(sample.least),
            "most": _short(sample.most),
            "zeros": sample.zeros,
        },
    }


def _short(value: float) -> float | None:
    """Six digits; None where the number is beyond what a double holds."""
    return float(f"{value:.6g}") if isfinite(value) else None


def signature(file: ModelFile) -> dict[str, Json] | None:
    """What the signature beside the file says; lists of names are cut to what is worth reading."""
    known = file.signature
    if known is None:
        return None
    return {
        "name": safe_name(known.name),
        "standing": safe_words(known.standing),
        "problems": [safe_words(problem) for problem in known.problems],
        "unsigned": [safe_name(name) for name in known.unsigned[:INLINE_ELEMENTS]],
        "absent": [safe_name(name) for name in known.absent[:INLINE_ELEMENTS]],
        "pieces": known.pieces,
    }


def _tensor(tensor: Tensor) -> dict[str, Json]:
    name = safe_name(tensor.name)
    block, role = block_and_role(name)
    return {
        "name": name,
        "shape": list(tensor.shape),
        "type": type_name(tensor.type),
        "offset": tensor.offset,
        "bytes": tensor.bytes,
        "elements": tensor.elements,
        "block": block,
        "role": role,
        "place": {"offset": tensor.span.offset, "length": tensor.span.length},
    }


def layout(file: ModelFile) -> list[dict[str, Json]]:
    """What lies where in one file, in order and without holes as far as it is known."""
    header = file.header
    if header is None:
        return []
    places = _Places()
    if header.format != "gguf":
        _stream_places(file, header, places)
        return places.rows
    first_key = header.keys[0].offset if header.keys else None
    places.add("header", "", 0, first_key or header.keys_end or _read_to(header))
    for key in header.keys:
        places.add("key", key.name, key.offset, key.end)
    if header.tables_end is not None and header.keys_end is not None:
        places.add("tensor table", "", header.keys_end, header.tables_end)
    _data_places(file, header, places)
    return places.rows


def _read_to(header: Header) -> int:
    return header.stop.span.offset if header.stop is not None else min(header.size or 24, 24)


def _data_places(file: ModelFile, header: Header, places: "_Places") -> None:
    if header.data_offset is None or header.tables_end is None:
        return
    places.add("padding", "", header.tables_end, header.data_offset)
    base = header.data_offset
    position = base
    for tensor in sorted(header.tensors, key=lambda tensor: tensor.offset):
        start = base + tensor.offset
        end = start + (tensor.bytes or 0)
        if start > position:
            short = start - position < (header.alignment or 1)
            places.add("padding" if short else "gap", "", position, start)
        what = "overlap" if start < position else "tensor"
        places.add(what, tensor.name, start, end)
        position = max(position, end)
    padded, size = file.data_end, file.size
    if size is None:
        return
    if padded is not None and header.tensors:
        places.add("padding", "", position, min(padded, size))
        position = max(position, min(padded, size))
    places.add("trailing", "", position, size)
    places.add("missing", "", size, position)


def _stream_places(file: ModelFile, header: Header, places: "_Places") -> None:
    """Places of the formats before GGUF, where every tensor's header lies before its data."""
    parts = [("key", key.name, key.offset, key.end) for key in header.keys]
    for tensor in header.tensors:
        parts.append(("tensor table", tensor.name, tensor.span.offset, tensor.span.end))
        end = tensor.offset + (tensor.bytes or 0)
        parts.append(("tensor", tensor.name, tensor.offset, end))
    position = 0
    for what, name, start, end in sorted(parts, key=lambda part: part[2:]):
        if start >= position:  # numbers between strings or names have been covered with them
            places.add("padding" if position else "header", "", position, start)
            places.add(what, name, start, end)
            position = end
    if not parts:
        position = _read_to(header)
        places.add("header", "", 0, position)
    size, stop = file.size, header.stop
    if size is not None and (stop is None or stop.reason is StopReason.TRAILING):
        places.add("trailing", "", position, size)
        places.add("missing", "", size, position)


class _Places:
    """Collects rows; empty and backward ranges are dropped."""

    def __init__(self) -> None:
        self.rows: list[dict[str, Json]] = []

    def add(self, what: str, name: str, start: int, end: int) -> None:
        if end > start:
            row = {"what": what, "name": safe_name(name), "offset": start, "length": end - start}
            self.rows.append(row)
