"""Whatever a file holds, the document is plain JSON and nothing is lost on the way."""

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ggufhub.report import codec
from ggufhub.report.contents import pack
from tests.builders import ByteOrder, Gguf, ValueType
from tests.core.reading import read, report
from tests.effort import cpu_seconds


@given(st.binary(max_size=300))
def test_any_bytes_become_json_and_come_back(raw: bytes) -> None:
    safe = codec.safe_bytes(raw)
    text = json.dumps(safe, allow_nan=False)
    assert "\\u0000" not in text
    text.encode()
    if isinstance(safe, str):
        assert safe.encode() == raw
    else:
        import base64

        assert base64.b64decode(safe["b64"]) == raw
        assert safe["why"] in ("utf8", "nul")


@pytest.mark.parametrize(
    ("number", "shown"),
    [(math.nan, "NaN"), (math.inf, "Infinity"), (-math.inf, "-Infinity"), (1.5, 1.5), (7, 7)],
)
def test_numbers_json_cannot_write_get_names(number: float, shown: object) -> None:
    assert codec.safe_number(number) == shown


def test_integers_past_2_53_are_text_as_well() -> None:
    entry = report(Gguf().key("x", 1 << 63, ValueType.UINT64).build()).document["metadata"][0]
    assert (entry["value"], entry["text"]) == (1 << 63, "9223372036854775808")


def test_long_strings_are_cut_for_showing() -> None:
    safe = codec.safe_bytes(b"a" * 200_000)
    assert (len(safe["text"]), safe["bytes"]) == (codec.SHOWN_STRING, 200_000)


@pytest.mark.parametrize("order", list(ByteOrder))
def test_packed_strings_are_paged_and_searched(order: ByteOrder) -> None:
    words: list = [f"word{n}" for n in range(10_000)] + ["", "\u00e9t\u00e9", b"\xff\0"]
    array = read(Gguf(order=order).array("x", ValueType.STRING, words).build()).array("x")
    assert array is not None
    packed = pack(array)
    chunks = packed.chunks.__getitem__
    assert packed.count == 10_003
    assert codec.page(chunks, "string", packed.count, 4_094, 4) == words[4_094:4_098]
    assert codec.page(chunks, "string", packed.count, 10_001, 50)[1]["why"] == "utf8"
    total, hits = codec.search(packed.chunks, "string", "WORD999", 0, 5)
    assert (total, hits) == (11, [(999, "word999"), *((9990 + n, f"word999{n}") for n in range(4))])


PIECES = [b"", b"a", b"A", b"aa", b"Tide", b"tid", b"e", b"\xc3\x89", b"\xc3", b"\0", b"riptide"]


@given(
    st.lists(st.lists(st.sampled_from(PIECES), max_size=3).map(b"".join), min_size=1, max_size=40),
    st.sampled_from(["a", "aa", "aaa", "AAAA", "tide", "tidee", "\u00c9", "e", "", "\0"]),
    st.integers(0, 5),
    st.integers(0, 5),
)
def test_a_search_finds_what_looking_at_each_string_finds(
    words: list[bytes], query: str, start: int, limit: int
) -> None:
    array = read(Gguf().array("x", ValueType.STRING, list(words)).build()).array("x")
    assert array is not None
    wanted = query.encode().lower()
    every = [
        (at, codec.safe_bytes(word)) for at, word in enumerate(words) if wanted in word.lower()
    ]
    found = codec.search(pack(array).chunks, "string", query, start, limit)
    assert found == (len(every), every[start : start + limit])


def test_matches_across_two_strings_cost_nothing() -> None:
    """Each of these strings ends where a match of the query runs on into the next."""
    array = read(Gguf().array("x", ValueType.STRING, ["a" * 30] * 4096).build()).array("x")
    assert array is not None
    with cpu_seconds(0.2):  # 10 ms; 400 ms where each string is tried
        assert codec.search(pack(array).chunks * 16, "string", "a" * 2000, 0, 5) == (0, [])


def test_packed_numbers_keep_their_values_in_both_orders() -> None:
    values = [float(n) for n in range(5_000)]
    digests = set()
    for order in ByteOrder:
        array = read(Gguf(order=order).array("x", ValueType.FLOAT32, values).build()).array("x")
        assert array is not None
        packed = pack(array)
        digests.add(packed.digest)
        page = codec.page(packed.chunks.__getitem__, "float32", packed.count, 4_095, 2)
        assert page == [4_095.0, 4_096.0]
    assert len(digests) == 1


def test_numbers_are_found_as_they_are_written() -> None:
    packed = codec.pack_numbers(np.array([1, 22, 2, 22], "<i4"), "int32")
    assert codec.search(packed.chunks, "int32", "22", 0, 9)[1] == [(1, 22), (3, 22)]


def test_documents_round_trip() -> None:
    document = report(Gguf().key("general.name", b"\0\xff").key("n", math.nan).build()).document
    assert codec.decode_document(codec.encode_document(document)) == document
