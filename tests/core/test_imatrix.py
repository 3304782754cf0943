"""Importance matrices of the old form, and what only looks like one; the kinds of the corpus."""

import random
import struct
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ggufhub.limits import Limits
from ggufhub.report.build import inspect
from ggufhub.rules.legacy_samples import Stream, imatrix_dat
from ggufhub.sources.file import FileSource
from ggufhub.sources.pages import PAGE
from tests.core.reading import report, source_of
from tests.corpus import SHARED, needs_corpus


@pytest.mark.parametrize("trailer", [True, False])
def test_entries_become_tensors(trailer: bool) -> None:
    document = report({"imatrix.dat": imatrix_dat(3, trailer=trailer)}).document
    assert (document["kind"], document["verdict"]) == ("imatrix", "pass")
    assert document["error"] is None
    values = {entry["key"]: entry["value"] for entry in document["metadata"]}
    assert values["n_entries"] == 3
    assert values["calls"]["first"] == [10, 10, 10]
    assert values.get("dataset") == ("wiki.txt" if trailer else None)
    assert [tensor["name"] for tensor in document["tensors"]] == [
        f"blk.{number}.attn_q.weight" for number in range(3)
    ]
    assert {(tensor["type"], tensor["bytes"]) for tensor in document["tensors"]} == {("F32", 16)}
    places = document["layout"]
    assert sum(place["length"] for place in places) == document["files"][0]["size"]


def test_values_are_stepped_over() -> None:
    stream = Stream().words(20)
    for number in range(20):
        stream.text(f"blk.{number}.ffn_down.weight").words(5, 1 << 17).raw(bytes(4 << 17))
    source = source_of(stream.build())
    document = inspect(source, limits=Limits(first_read=PAGE)).document
    assert (document["kind"], len(document["tensors"])) == ("imatrix", 20)
    assert source.reads.bytes < 25 * PAGE


@pytest.mark.parametrize("trailer", [True, False])
def test_only_a_parse_to_the_end_counts(trailer: bool) -> None:
    data = imatrix_dat(2, trailer=trailer)
    bare = len(imatrix_dat(2, trailer=False))
    for length in range(len(data)):
        kind = report(data[:length]).document["kind"]
        assert kind == ("imatrix" if length == bare else "unknown"), length
    assert report(data + b"x").document["kind"] == "unknown"


@pytest.mark.parametrize(
    "data",
    [
        struct.pack("<i", -1),
        struct.pack("<i", 1 << 30) + bytes(100),
        struct.pack("<ii", 1, 1 << 30) + bytes(100),
        struct.pack("<ii", 1, 1) + b"a" + struct.pack("<ii", -5, 1) + bytes(4),
        struct.pack("<ii", 1, 1) + b"a" + struct.pack("<ii", 5, 1 << 30),
        struct.pack("<ii", 1, 1) + b"\1" + struct.pack("<ii", 5, 1) + bytes(4),
    ],
)
def test_numbers_out_of_range_are_something_else(data: bytes) -> None:
    document = report(data).document
    assert (document["kind"], document["verdict"]) == ("unknown", "unreadable")


def test_mutants_end_in_a_report() -> None:
    chance, seed = random.Random(4), imatrix_dat(4)
    for _ in range(500):
        data = bytearray(seed)
        data[chance.randrange(len(data))] = chance.randrange(256)
        assert report(bytes(data)).document["kind"] in ("imatrix", "unknown")


@settings(max_examples=200)
@given(st.binary(max_size=200))
def test_any_bytes_end_in_a_report(data: bytes) -> None:
    assert report(b"\2\0\0\0" + data).verdict in ("pass", "warn", "fail", "unreadable")


KINDS = {
    "control-vector.gguf": "control vector",
    "imatrix-legacy.dat": "imatrix",
    "imatrix.gguf": "imatrix",
    "lora-missing-b.gguf": "adapter",
    "lora-type-model.gguf": "adapter",
    "lora.gguf": "adapter",
    "mmproj-tiny-F16.gguf": "mmproj",
    "vocab-only.gguf": "vocab",
}


@needs_corpus
@pytest.mark.parametrize(
    "path", sorted((SHARED / "corpus" / "kinds").glob("*")), ids=lambda path: path.name
)
def test_every_kind_is_recognised(path: Path) -> None:
    with FileSource(path) as source:
        assert inspect(source).document["kind"] == KINDS[path.name]
