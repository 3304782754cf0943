"""Safe values and packed arrays: the only way anything from a file gets into a document.

Databases, JSON and terminals each break on something that bytes can hold: NUL, lone surrogates,
NaN, numbers past 2^53. Here such values get a form that survives all of them.
"""

import base64
import hashlib
import json
import math
import re
import struct
import zlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from ggufhub.limits import KIB, MIB

if TYPE_CHECKING:
    import numpy as np

EXACT_INTEGER = (1 << 53) - 1
"""Largest integer that a browser's numbers hold exactly (``Number.MAX_SAFE_INTEGER``)."""

CHUNK = 4096
"""Elements in a chunk: a page of 100 takes 1 to 9 ms, a search through 262,144 about 40 ms."""

SHOWN_STRING = 64 * KIB
"""Bytes of one value kept for showing; the raw bytes of longer ones stay in the file."""

SHOWN_TOTAL = 8 * MIB
"""Characters of all values together; the metadata of the largest real models shows 60 KB."""

SHOWN_AFTER = 64
"""Bytes of each value shown once ``SHOWN_TOTAL`` is used up."""

VALUE_COST = 64
"""What a value counts for beside its characters: about what Python keeps for a short string."""

SHOWN_NAME = 256
"""Characters of a name; the longest that loaders take has 63 bytes."""

SHOWN_WORDS = 1024
"""Characters of a message or of what was expected or found: they quote the file."""

MATCHED_AT_ONCE = 4
"""Bytes of a search that are compared in all strings of a chunk at once: one letter of UTF-8."""

_UNSAFE = re.compile("[\0\ud800-\udfff]")

Json = Any
"""A value the json module writes: the document is read by key, so a precise type adds nothing."""


def safe_text(text: str) -> str:
    """Readable text that any store takes: NUL and undecodable bytes appear as ``\\x00``."""
    if text.isascii() and "\0" not in text:
        return text
    return _UNSAFE.sub(_escape, text)


def _escape(match: re.Match[str]) -> str:
    code = ord(match[0])
    return f"\\x{code - 0xDC00 if 0xDC80 <= code <= 0xDCFF else code:02x}"


def safe_name(text: str) -> str:
    """A name out of a file, safe and no longer than anyone would read."""
    return _clipped(text, SHOWN_NAME)


def safe_words(text: str) -> str:
    """Words that may quote a file, safe and no longer than anyone would read."""
    return _clipped(text, SHOWN_WORDS)


def _clipped(text: str, most: int) -> str:
    shown = safe_text(text[: most + 1])
    return shown if len(shown) <= most else f"{shown[:most]}…"


def safe_bytes(raw: bytes, most: int = SHOWN_STRING) -> Json:
    """A string value: text where it is UTF-8 without NUL, else its bytes in base64 and why.

    Of one longer than ``most`` bytes the start and the length.
    """
    if len(raw) > most:
        head = raw[:most].decode("utf-8", "ignore")
        return {"text": safe_text(head), "bytes": len(raw), "why": "long"}
    try:
        text = raw.decode()
    except UnicodeDecodeError:
        return _opaque(raw, "utf8")
    return _opaque(raw, "nul") if "\0" in text else text


def _opaque(raw: bytes, why: str) -> dict[str, str]:
    text = safe_text(raw.decode("utf-8", "surrogateescape"))
    return {"b64": base64.b64encode(raw).decode(), "why": why, "text": text}


def safe_number(number: int | float) -> Json:
    """A number JSON can write: the names NaN, Infinity and -Infinity for what it cannot."""
    if isinstance(number, int) or math.isfinite(number):
        return number
    return "NaN" if math.isnan(number) else ("Infinity" if number > 0 else "-Infinity")


class Shown:
    """Values on their way into one document. Together they cost at most about ``SHOWN_TOTAL``;
    after that each string is cut to ``SHOWN_AFTER`` bytes."""

    def __init__(self) -> None:
        self._left = SHOWN_TOTAL

    @property
    def spent(self) -> bool:
        """Whether the budget is used up."""
        return self._left <= 0

    def value(self, value: int | float | bytes) -> Json:
        """A number or string, safe to write."""
        self._left -= VALUE_COST
        if not isinstance(value, bytes):
            return safe_number(value)
        shown = safe_bytes(value, SHOWN_AFTER if self.spent else SHOWN_STRING)
        if isinstance(shown, str):
            self._left -= len(shown)
        else:
            self._left -= len(shown["text"]) + len(shown.get("b64", ""))
        return shown


def encode_document(document: dict[str, Json]) -> bytes:
    """The document as compressed JSON. ``ValueError`` for a float that is not finite."""
    text = json.dumps(document, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return zlib.compress(text.encode(), 1)


def document_json(data: bytes) -> bytes:
    """The JSON text of an encoded document."""
    return zlib.decompress(data)


def decode_document(data: bytes) -> dict[str, Json]:
    document: dict[str, Json] = json.loads(document_json(data))
    return document


@dataclass(frozen=True, slots=True)
class PackedArray:
    """A large array in compressed chunks of ``CHUNK`` elements.

    ``digest`` is the SHA-256 over type, count and elements: equal arrays are stored once.
    """

    digest: str
    element_type: str
    count: int
    chunks: list[bytes]


def pack_strings(buffer: memoryview, starts: "np.ndarray", length_type: str) -> PackedArray:
    """Pack the strings of ``buffer`` whose lengths, numpy numbers of ``length_type``, are at
    ``starts``, in rising order and with anything between one string and the next length.

    A chunk is the count, the lengths as u32 and the bytes of all strings joined.
    """
    import numpy as np

    digest = hashlib.sha256(b"string")
    chunks = []
    view = np.frombuffer(buffer, np.uint8)
    prefix = np.dtype(length_type).itemsize
    words = np.ndarray((max(len(view) - prefix + 1, 0),), length_type, buffer, 0, (1,))
    for first in range(0, len(starts), CHUNK):
        at = starts[first : first + CHUNK].astype(np.int64)
        size = words[at].astype(np.int64)
        inside = _inside(at, size, prefix)
        region = view[at[0] : at[0] + len(inside)]
        body = size.astype("<u4").tobytes() + region[inside].tobytes()
        digest.update(body)
        chunks.append(zlib.compress(struct.pack("<I", len(at)) + body, 1))
    return PackedArray(digest.hexdigest(), "string", len(starts), chunks)


def _inside(at: "np.ndarray", size: "np.ndarray", prefix: int) -> "np.ndarray":
    """A mask from the first length to the end of the last string: True inside the strings."""
    import numpy as np

    runs = np.empty((len(at), 2), np.int64)  # bytes between strings, bytes of a string, …
    runs[0, 0] = prefix
    runs[1:, 0] = at[1:] - at[:-1] - size[:-1]
    runs[:, 1] = size
    return np.repeat(np.tile(np.array([False, True]), len(at)), runs.ravel())


def pack_numbers(values: "np.ndarray", element_type: str) -> PackedArray:
    """Pack numbers, little-endian. A chunk is the count and the numbers."""
    little = values.astype(values.dtype.newbyteorder("<"), copy=False)
    digest = hashlib.sha256(element_type.encode())
    chunks = []
    for first in range(0, len(little), CHUNK):
        body = little[first : first + CHUNK].tobytes()
        digest.update(body)
        head = struct.pack("<I", len(body) // little.itemsize)
        chunks.append(zlib.compress(head + body, 1))
    return PackedArray(digest.hexdigest(), element_type, len(little), chunks)


_NUMBERS = {
    "uint8": "B",
    "int8": "b",
    "uint16": "H",
    "int16": "h",
    "uint32": "I",
    "int32": "i",
    "float32": "f",
    "bool": "B",
    "uint64": "Q",
    "int64": "q",
    "float64": "d",
}


def read_chunk(data: bytes, element_type: str, places: Sequence[int] | None = None) -> list[Json]:
    """The elements of one chunk, safe to write as JSON: those at ``places``, or all."""
    raw = zlib.decompress(data)
    return _elements(raw, element_type, range(_count(raw)) if places is None else places)


def _count(raw: bytes) -> int:
    (count,) = struct.unpack_from("<I", raw)
    return int(count)


def _elements(raw: bytes, element_type: str, places: Sequence[int]) -> list[Json]:
    if element_type != "string":
        numbers = _numbers(raw, element_type)
        return [safe_number(numbers[place]) for place in places]
    bounds = _bounds(raw)
    return [safe_bytes(raw[bounds[place] : bounds[place + 1]]) for place in places]


def _numbers(raw: bytes, element_type: str) -> tuple[int | float, ...]:
    return struct.unpack_from(f"<{_count(raw)}{_NUMBERS[element_type]}", raw, 4)


def _bounds(raw: bytes) -> list[int]:
    """Where the strings of a chunk begin, and where the last one ends."""
    count = _count(raw)
    lengths = struct.unpack_from(f"<{count}I", raw, 4)
    return list(accumulate(lengths, initial=4 + 4 * count))


Chunks = Callable[[int], bytes]
"""Gives the stored bytes of chunk number N."""


def page(chunks: Chunks, element_type: str, count: int, start: int, limit: int) -> list[Json]:
    """Elements ``start`` to ``start + limit``, reading only the chunks that hold them."""
    stop = min(start + limit, count)
    items: list[Json] = []
    position = start
    while position < stop:
        number, first = divmod(position, CHUNK)
        places = range(first, min(first + stop - position, CHUNK))
        items += read_chunk(chunks(number), element_type, places)
        position += len(places)
    return items


def search(
    chunks: Iterable[bytes], element_type: str, query: str, start: int, limit: int
) -> tuple[int, list[tuple[int, Json]]]:
    """How many elements contain ``query`` (any case), and hits ``start`` to ``start + limit``.

    Numbers match where they are written like the query. ``chunks`` are all of the array, in order.
    """
    wanted = _wanted(query)
    total = 0
    hits: list[tuple[int, Json]] = []
    for number, data in enumerate(chunks):
        raw = zlib.decompress(data)
        if element_type == "string":
            found = _matching_strings(raw, wanted)
        else:
            numbers = map(safe_number, _numbers(raw, element_type))
            found = [place for place, value in enumerate(numbers) if str(value) == query]
        first = max(start - total, 0)
        shown = found[first : first + limit - len(hits)]
        if shown:
            at = (number * CHUNK + place for place in shown)
            hits += zip(at, _elements(raw, element_type, shown), strict=True)
        total += len(found)
    return total, hits


def search_shown(
    items: list[Json], query: str, start: int, limit: int
) -> tuple[int, list[tuple[int, Json]]]:
    """The same as ``search``, in elements that the document itself shows."""
    wanted = _wanted(query)
    hits = [(index, item) for index, item in enumerate(items) if _holds(item, query, wanted)]
    return len(hits), hits[start : start + limit]


def _holds(item: Json, query: str, wanted: bytes) -> bool:
    if isinstance(item, dict):  # undecodable, long, or an array inside the array
        raw = base64.b64decode(item["b64"]) if "b64" in item else item.get("text", "").encode()
        return wanted in raw.lower()
    return wanted in item.encode().lower() if isinstance(item, str) else str(item) == query


def _wanted(query: str) -> bytes:
    return query.encode("utf-8", "surrogatepass").lower()


def _matching_strings(raw: bytes, wanted: bytes) -> Sequence[int]:
    """Places of the strings of one chunk that contain ``wanted``.

    Lower-casing bytes touches ASCII only, which keeps every position. Of a long ``wanted`` the
    first bytes choose the strings to look into: each further one would be a pass over the chunk.
    """
    count = _count(raw)
    if not wanted:
        return range(count)
    text, head = raw.lower(), 4 + 4 * count
    if text.find(wanted, head) < 0:
        return ()
    import numpy as np

    joined = np.frombuffer(text, np.uint8, offset=head)
    ends = np.frombuffer(raw, "<u4", count, 4).cumsum()
    places = _holding(joined, ends, wanted[:MATCHED_AT_ONCE])
    if len(wanted) <= MATCHED_AT_ONCE:
        return places
    bounds = [head, *(ends + head).tolist()]
    return [p for p in places if text.find(wanted, bounds[p], bounds[p + 1]) >= 0]


def _holding(joined: "np.ndarray", ends: "np.ndarray", wanted: bytes) -> list[int]:
    """Places of the strings, ending at ``ends`` in ``joined``, that contain ``wanted``."""
    import numpy as np

    begins = max(len(joined) - len(wanted) + 1, 0)
    matches = joined[:begins] == wanted[0]
    for place, byte in enumerate(wanted[1:], 1):
        matches &= joined[place : place + begins] == byte
    at = np.flatnonzero(matches)
    owners = np.searchsorted(ends, at, "right")
    # A match that runs on into the next string counts for neither.
    inside = at + len(wanted) <= ends[owners]
    found = np.zeros(len(ends), bool)
    found[owners[inside]] = True
    places: list[int] = np.flatnonzero(found).tolist()
    return places
