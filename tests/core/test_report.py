"""The document: contract, layout, verdicts, sources that fail."""

from pathlib import Path

import pytest

from ggufhub.errors import BytesMissing, SourceError
from ggufhub.report.build import inspect, unreadable
from ggufhub.sources.file import FileSource
from ggufhub.sources.http import HttpSource
from ggufhub.sources.upload import UploadSource
from tests.builders import Gguf, small_model, vocabulary
from tests.core import rangeserver
from tests.core.rangeserver import LOOPBACK, RangeServer
from tests.core.reading import report


def test_layout_covers_the_file_without_holes() -> None:
    data = small_model().build() + b"tail"
    places = report(data).document["layout"]
    position = 0
    for place in places:
        assert place["offset"] == position, place
        position += place["length"]
    assert position == len(data)
    assert [place["what"] for place in places][:4] == ["header", "key", "key", "tensor table"]


def test_layout_shows_gaps_overlaps_and_what_is_missing() -> None:
    gap = Gguf().tensor("a").tensor("b", offset=4096)
    assert "gap" in {place["what"] for place in report(gap.build()).document["layout"]}
    overlap = Gguf().tensor("a", (64,)).tensor("b", (64,), offset=32)
    assert "overlap" in {place["what"] for place in report(overlap.build()).document["layout"]}
    missing = report(small_model().build()[:-100]).document["layout"][-1]
    assert missing["what"] == "missing"


def test_summary_counts_exactly() -> None:
    sample = Gguf().key("general.architecture", "llama").key("llama.context_length", 4096)
    sample.key("general.file_type", 2).tensor("a", (64, 2), 2).tensor("b", (32,))
    summary = report(sample.build()).document["summary"]
    assert summary["parameters"] == 160
    assert summary["bits_per_weight"] == round(8 * (72 + 128) / 160, 3)
    assert (summary["quant"], summary["context_length"]) == ("Q4_0", 4096)


def test_hostile_names_are_shown_safely() -> None:
    sample = Gguf().key(b"a\0b\xff", b"\xff\0").tensor(b"t\0\xfe")
    document = report(sample.build()).document
    assert document["metadata"][0]["key"] == "a\\x00b\\xff"
    assert document["tensors"][0]["name"] == "t\\x00\\xfe"


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"", "empty"),
        (b"<!doctype html><title>x", "html"),
        (b'{"error":"Invalid username or password."}', "json"),
        (b'[[{"error": "cut', "json"),
        (b"[tool.ruff]\nline-length = 100\n", "unknown"),
        (b"[[file]]\npath = 'a'\n", "unknown"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n", "lfs_pointer"),
        (b"\x1f\x8b\x08\0", "gzip"),
        (b"PK\x03\x04aaaa", "zip"),
        (b"PK\x03\x04" + bytes(26) + b"archive/data.pkl", "pytorch"),
        (b"\x80\x02}q\0.", "pickle"),
        ((40).to_bytes(8, "little") + b'{"__metadata__":{}}', "safetensors"),
        (b'{"schemaVersion":2,"layers":[]}', "ollama_manifest"),
        (bytes(100), "zeros"),
        (b"FUGG" + bytes(40), "swapped_magic"),
        (b"random bytes, no model", "unknown"),
    ],
)
def test_what_is_no_model_is_named(data: bytes, code: str) -> None:
    document = report(data).document
    assert document["verdict"] == "unreadable"
    assert document["error"]["code"] == code
    assert "STR002" in {finding["rule"] for finding in document["findings"]}


def test_a_part_of_a_file_cut_by_bytes_is_named() -> None:
    document = report({"model.gguf.part1of2": small_model().build()}).document
    assert document["error"]["code"] == "byte_part"


def test_a_source_that_fails_gives_a_report_that_says_so() -> None:
    document = unreadable("http://example.org/m.gguf", SourceError("dns", "No such host.")).document
    assert document["verdict"] == "unreadable"
    assert document["error"] == {"code": "dns", "message": "No such host."}
    assert document["not_evaluated"][0]["reason"] == "the source could not be read: No such host."


def test_a_header_only_upload_says_which_bytes_it_needs(tmp_path: Path) -> None:
    data = vocabulary(40_000).build()
    path = tmp_path / "upload"
    size = len(data) + 10**12
    path.write_bytes(data[:100_000])
    with UploadSource(path, "big.gguf", size) as source, pytest.raises(BytesMissing) as caught:
        inspect(source)
    assert caught.value.offset == 100_000
    path.write_bytes(data[: caught.value.offset + caught.value.length])
    with UploadSource(path, "big.gguf", size) as source:
        document = inspect(source).document
    assert document["format"]["kv_count"] == 8
    assert document["files"][0]["size"] == size


def test_a_file_that_changes_is_read_anew_once(tmp_path: Path) -> None:
    path = tmp_path / "m.gguf"
    path.write_bytes(vocabulary(200_000).build())
    source = FileSource(path)
    path.write_bytes(small_model().build())
    document = inspect(source).document
    assert document["error"] is None
    assert document["files"][0]["size"] == len(small_model().build())


def test_a_file_that_keeps_changing_is_given_up() -> None:
    def flipping(handler: rangeserver.Handler, data: bytes) -> None:
        handler.serve(data, ETag=f'"{len(handler.server.owner.requests)}"')

    data = vocabulary(200_000).build()
    with RangeServer({"m.gguf": data}, {"m.gguf": flipping}) as server:
        with HttpSource(server.url("m.gguf"), policy=LOOPBACK) as source:
            document = inspect(source).document
        assert document["error"]["code"] == "changed"
        assert len(server.requests) == 4


def test_a_file_that_changed_once_is_read_whole() -> None:
    behaviour = rangeserver.sequence(
        rangeserver.good, lambda handler, data: handler.serve(data, ETag='"two"')
    )
    data = vocabulary(200_000).build()
    with (
        RangeServer({"m.gguf": data}, {"m.gguf": behaviour}) as server,
        HttpSource(server.url("m.gguf"), policy=LOOPBACK) as source,
    ):
        document = inspect(source).document
    assert document["error"] is None
    assert document["summary"]["vocabulary"] == 200_000
    assert document["files"][0]["etag"] == '"two"'


def test_progress_is_told() -> None:
    seen: list[int] = []
    from tests.core.reading import source_of

    source = source_of(vocabulary(200_000).build())
    inspect(source, progress=lambda stage, reads: seen.append(reads.bytes))
    assert seen == sorted(seen)
    assert len(seen) > 1
