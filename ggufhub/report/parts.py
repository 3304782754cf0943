"""Digests of the parts that the quants of one model have in common, to compare models by."""

import hashlib

from ggufhub.formats.header import Array, Key
from ggufhub.formats.model import Model
from ggufhub.formats.values import ByteOrder, ValueType
from ggufhub.report.codec import Json

_TOKENIZER = "tokenizer."
_NOT_TOKENIZER = ("tokenizer.chat_template",)


def part_digests(model: Model) -> dict[str, Json]:
    """SHA-256 in hex of ``tokenizer`` (model, tokens, types, scores, merges: everything but
    scalars and templates), ``template`` (the default one) and ``tensors`` (names and shapes, in
    any order). None for what is absent, was not read whole, or is written in big-endian order:
    equal content has other bytes there.
    """
    header = model.header
    absent = {"tokenizer": None, "template": None, "tensors": None}
    if header is None or header.keys_end is None or header.byte_order is not ByteOrder.LITTLE:
        return absent
    template = header.text("tokenizer.chat_template")
    whole = all(file.header is not None and file.header.complete for file in model.files)
    return {
        "tokenizer": _tokenizer(header.keys),
        "template": None
        if template is None
        else hashlib.sha256(template.encode("utf-8", "surrogateescape")).hexdigest(),
        "tensors": _tensors(model) if whole and not model.missing else None,
    }


def _tokenizer(keys: list[Key]) -> str | None:
    digest, found = hashlib.sha256(), False
    for key in sorted(keys, key=lambda key: key.raw_name):
        stored = key.type is ValueType.STRING or key.array is not None
        if not key.name.startswith(_TOKENIZER) or key.name.startswith(_NOT_TOKENIZER):
            continue
        if stored:
            found = True
            digest.update(key.raw_name)
            digest.update(_content(key))
    return digest.hexdigest() if found else None


def _content(key: Key) -> memoryview | bytes:
    value = key.value
    if isinstance(value, Array):
        return value.encoding.buffer[value.offset : value.end]
    assert isinstance(value, bytes)
    return value


def _tensors(model: Model) -> str | None:
    rows = sorted((tensor.raw_name, tensor.shape) for tensor in model.tensors)
    if not rows:
        return None
    digest = hashlib.sha256()
    for name, shape in rows:
        digest.update(name + b"\0" + repr(shape).encode())
    return digest.hexdigest()
