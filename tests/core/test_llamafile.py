"""The model inside a llamafile: found by range, read in place, and never believed."""

import io
import struct
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

from ggufhub.errors import SourceError
from ggufhub.report.build import inspect
from ggufhub.report.document import Report
from ggufhub.rules.legacy_samples import PROGRAM, llamafile
from ggufhub.sources.slice import SliceSource
from ggufhub.sources.upload import UploadSource
from tests.builders import small_model, vocabulary
from tests.core.httpkit import SMALL, open_url
from tests.core.rangeserver import RangeServer
from tests.core.reading import report, source_of

MODEL = small_model().build()
WHOLE = llamafile(MODEL)
DENSE = llamafile(MODEL, alignment=32)
"""Without the padding, which is longer than all that matters and is in the directory, too."""


def inspected(data: bytes) -> Report:
    return report({"a.llamafile": data})


def problem(data: bytes) -> str:
    """What STR046 says about a file that must be unreadable."""
    document = inspected(data).document
    assert document["verdict"] == "unreadable"
    assert document["error"]["code"] == "executable"
    return next(f["message"] for f in document["findings"] if f["rule"] == "STR046")


def changed(data: bytes, signature: bytes, at: int, code: str, value: int) -> bytes:
    """``data`` with one field of its last record with ``signature`` replaced."""
    copy = bytearray(data)
    struct.pack_into(f"<{code}", copy, data.rindex(signature) + at, value)
    return bytes(copy)


def test_the_model_is_read_in_place() -> None:
    document = inspected(WHOLE).document
    assert document["kind"] == "model"
    assert document["files"][0]["name"] == "a.llamafile!/model.gguf"
    assert document["files"][0]["size"] == len(MODEL)
    alone = report(MODEL).document
    for part in ("verdict", "metadata", "tensors", "layout", "format"):
        assert document[part] == alone[part]
    finding = next(f for f in document["findings"] if f["rule"] == "STR045")
    assert finding["severity"] == "info"
    assert f"at byte {WHOLE.index(MODEL):,}" in finding["message"]
    assert finding["file"] == "a.llamafile!/model.gguf"


def test_a_model_off_its_alignment_is_a_warning() -> None:
    data = llamafile(MODEL, name="weights/odd.gguf", alignment=1)
    assert data.index(MODEL) % 32
    document = inspected(data).document
    finding = next(f for f in document["findings"] if f["rule"] == "STR045")
    assert finding["severity"] == "warning"
    assert document["files"][0]["name"] == "a.llamafile!/weights/odd.gguf"


def test_the_largest_of_several_models_is_read() -> None:
    whole = io.BytesIO(PROGRAM)
    whole.seek(0, io.SEEK_END)
    with zipfile.ZipFile(whole, "a") as archive:
        archive.writestr("small.gguf", MODEL)
        archive.writestr("large.GGUF", vocabulary().build())
    document = inspected(whole.getvalue()).document
    assert document["files"][0]["name"] == "a.llamafile!/large.GGUF"
    assert document["kind"] == "vocab"
    assert "1 more models" in next(
        f["message"] for f in document["findings"] if f["rule"] == "STR045"
    )


def test_a_comment_and_bytes_put_before_the_archive_do_no_harm() -> None:
    whole = io.BytesIO()
    with zipfile.ZipFile(whole, "w") as archive:
        archive.writestr("model.gguf", MODEL)
        archive.comment = b"PK\x05\x06 is no end" * 100
    document = inspected(PROGRAM + whole.getvalue()).document
    assert document["kind"] == "model"
    assert document["files"][0]["size"] == len(MODEL)


def test_a_zip64_archive(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = io.BytesIO(PROGRAM)
    whole.seek(0, io.SEEK_END)
    monkeypatch.setattr(zipfile, "ZIP64_LIMIT", 100)  # writes 64-bit numbers for everything
    with zipfile.ZipFile(whole, "a") as archive:
        archive.writestr("model.gguf", MODEL)
    data = whole.getvalue()
    assert b"PK\x06\x06" in data
    assert inspected(data).document["kind"] == "model"
    lying = changed(data, b"PK\x06\x07", 8, "Q", 1 << 62)
    assert "ZIP64" in problem(lying)
    assert problem(changed(data, b"PK\x06\x06", 40, "Q", 1 << 60))
    assert "announces" in problem(changed(data, b"PK\x06\x06", 32, "Q", 1 << 40))


@pytest.mark.parametrize("start", [b"\x7fELF" + bytes(100), b"MZ" + bytes(100), PROGRAM])
def test_a_program_without_an_archive_stays_a_program(start: bytes) -> None:
    document = inspected(start).document
    assert document["error"]["code"] == "executable"
    assert {f["rule"] for f in document["findings"]} == {"STR002"}


def test_an_archive_without_a_model_is_a_program() -> None:
    whole = io.BytesIO(PROGRAM)
    whole.seek(0, io.SEEK_END)
    with zipfile.ZipFile(whole, "a") as archive:
        archive.writestr("readme.txt", "hello")
    document = inspected(whole.getvalue()).document
    assert {f["rule"] for f in document["findings"]} == {"STR002"}


def test_plain_archives_are_archives() -> None:
    whole = io.BytesIO()
    with zipfile.ZipFile(whole, "w") as archive:
        archive.writestr("model.gguf", MODEL)
    assert inspected(whole.getvalue()).document["error"]["code"] == "zip"


DIRECTORY, LOCAL, END = b"PK\x01\x02", b"PK\x03\x04", b"PK\x05\x06"


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (llamafile(MODEL, stored=False), "compressed"),
        (changed(WHOLE, DIRECTORY, 8, "H", 1), "encrypted"),
        (changed(WHOLE, DIRECTORY, 20, "I", 5), "two sizes"),
        (changed(WHOLE, DIRECTORY, 42, "I", 1 << 31), "behind the directory"),
        (changed(WHOLE, DIRECTORY, 42, "I", 0), "not what the directory points at"),
        (changed(WHOLE, LOCAL, 8, "H", 8), "not what the directory points at"),
        (changed(WHOLE, LOCAL, 28, "H", 0xFFFF), "reaches into the directory"),
        (changed(WHOLE, LOCAL, 28, "H", 7), "does not begin with GGUF"),
        (changed(WHOLE, END, 10, "H", 500), "ends before its file"),
        (changed(WHOLE, END, 12, "I", 1 << 30), "does not fit"),
        (changed(WHOLE, END, 16, "I", 1 << 30), "does not fit"),
    ],
)
def test_lies_are_findings(data: bytes, words: str) -> None:
    assert words in problem(data)


def test_members_that_overlap_are_refused() -> None:
    whole = bytearray(WHOLE)
    first = WHOLE.index(DIRECTORY)  # .args, which is moved into the model
    struct.pack_into("<I", whole, first + 42, WHOLE.index(MODEL) + 8)
    assert "overlaps" in problem(bytes(whole))


def test_cut_anywhere_it_ends_in_a_report() -> None:
    for length in range(len(PROGRAM), len(DENSE)):
        document = inspected(DENSE[:length]).document
        assert document["verdict"] == "unreadable"


def test_every_damaged_byte_of_the_archive_ends_in_a_report() -> None:
    for at in range(DENSE.index(MODEL) + len(MODEL), len(DENSE)):
        damaged = bytearray(DENSE)
        damaged[at] ^= 0xFF
        document = inspected(bytes(damaged)).document
        assert document["verdict"] == "unreadable" or document["format"]["name"] == "gguf"


def test_over_http_only_the_ends_are_read() -> None:
    body = llamafile(vocabulary(500).build() + bytes(10 * 1024 * 1024))
    limits = replace(SMALL, largest_read=1 << 20)
    with (
        RangeServer({"a.llamafile": body}) as server,
        open_url(server.url("a.llamafile"), limits) as source,
    ):
        document = inspect(source, limits=limits).document
        assert document["kind"] == "vocab"
        assert document["reads"]["requests"] == source.reads.requests < 10
        assert server.bytes_sent < len(body) / 4
        hop = document["files"][0]["hops"][0]
        assert (hop["host"], hop["status"]) == ("127.0.0.1", 206)


def test_a_header_only_upload_of_a_program_is_a_program(tmp_path: Path) -> None:
    path = tmp_path / "upload"
    path.write_bytes(WHOLE[:4096])
    with UploadSource(path, "a.llamafile", len(WHOLE) + (1 << 30)) as source:
        document = inspect(source).document
    assert document["error"]["code"] == "executable"


def test_a_slice_is_a_file_of_its_own() -> None:
    outer = source_of(b"0123456789")
    part = SliceSource(outer, 2, 5, "part")
    assert (part.identity.size, part.identity.name) == (5, "part")
    assert part.read(0, 100) == b"23456"
    assert part.read(3, 1) == b"5"
    assert part.read(5, 1) == part.read(99, 1) == b""
    assert part.reads is outer.reads
    with pytest.raises(SourceError):
        part.sibling("other")
    part.close()
    assert outer.read(0, 1) == b"0"
