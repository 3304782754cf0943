"""Checksum files, and digests that are compared."""

import base64
import hashlib
from dataclasses import replace
from pathlib import Path

import pytest

from ggufhub.integrity.manifests import Entry, is_manifest, parse_manifest
from ggufhub.report.build import inspect
from ggufhub.report.codec import Json
from ggufhub.rules.split import good_set
from ggufhub.sources.file import FileSource
from tests.builders import small_model
from tests.core.httpkit import SMALL, open_url
from tests.core.rangeserver import RangeServer
from tests.core.reading import MemorySource, report, rules_hit
from tests.corpus import SHARED, needs_corpus

MODEL = small_model().build()
SHA256 = hashlib.sha256(MODEL).hexdigest()
MD5 = hashlib.md5(MODEL, usedforsecurity=False).hexdigest()
WRONG = "ab" * 32

# Checksum files


@pytest.mark.parametrize(
    ("text", "entry"),
    [
        (f"{SHA256}  m.gguf", Entry("m.gguf", "sha256", SHA256)),
        (f"{SHA256.upper()} *m.gguf", Entry("m.gguf", "sha256", SHA256)),
        (f"{SHA256}  ./m 1.gguf", Entry("m 1.gguf", "sha256", SHA256)),
        (f"\\{SHA256}  a\\\\b\\nc", Entry("a\\b\nc", "sha256", SHA256)),
        (f"SHA256 (m.gguf) = {SHA256}", Entry("m.gguf", "sha256", SHA256)),
        (f"SHA256(m (1).gguf)= {SHA256}", Entry("m (1).gguf", "sha256", SHA256)),
        (f"MD5 (m.gguf) = {MD5}", Entry("m.gguf", "md5", MD5)),
        (f"{MD5}  m.gguf", Entry("m.gguf", "md5", MD5)),
        (f"\ufeff{SHA256}  m.gguf\r", Entry("m.gguf", "sha256", SHA256)),
        (f"sha256    {SHA256}  m.gguf", Entry("m.gguf", "sha256", SHA256, True)),
        (
            "xxh64     d0e8dbebd8be10ab  m.gguf:a.b",
            Entry("m.gguf:a.b", "xxh64", "d0e8dbebd8be10ab", True),
        ),
    ],
)
def test_one_line(text: str, entry: Entry) -> None:
    manifest = parse_manifest(text, "SHA256SUMS")
    assert (manifest.entries, manifest.problems) == ([entry], [])


def test_a_bare_digest_is_of_the_file_the_manifest_is_named_after() -> None:
    assert parse_manifest(SHA256, "m.gguf.sha256").about("m.gguf")
    assert parse_manifest(SHA256, "SHA256SUMS").entries == []


@pytest.mark.parametrize(
    "line",
    [
        f"{SHA256}  ../m.gguf",
        f"{SHA256}  /etc/m.gguf",
        f"{SHA256}  a\\..\\m.gguf",
        f"{SHA256[:-1]}  m.gguf",
        f"MD5 (m.gguf) = {SHA256}",
        "hello",
        f"{SHA256}  ",
    ],
)
def test_lines_that_are_refused(line: str) -> None:
    manifest = parse_manifest(line, "SHA256SUMS")
    assert manifest.entries == []
    assert len(manifest.problems) == 1


def test_contradictions_comments_and_repetitions() -> None:
    text = f"# made by me\n\n{SHA256}  m\n{SHA256}  m\n{WRONG}  m\n{MD5}  m\n"
    manifest = parse_manifest(text, "SHA256SUMS")
    assert [entry.algorithm for entry in manifest.about("m")] == ["sha256", "md5"]
    assert manifest.problems == ["line 5 gives m a second digest"]


@needs_corpus
def test_what_llama_gguf_hash_prints_is_about_tensors() -> None:
    text = (SHARED / "corpus" / "manifests" / "tiny-Q4_K_M.manifest").read_text()
    manifest = parse_manifest(text, "tiny-Q4_K_M.gguf.manifest")
    assert manifest.problems == []
    assert all(entry.tensors for entry in manifest.entries)
    assert {entry.algorithm for entry in manifest.entries} == {"xxh64", "sha1", "sha256", "uuid"}


def test_which_files_are_manifests() -> None:
    assert is_manifest("SHA256SUMS", "m.gguf")
    assert is_manifest("m.gguf.sha256", "m.gguf")
    assert not is_manifest("n.gguf.sha256", "m.gguf")
    assert not is_manifest("m.gguf", "m.gguf")


# Comparison


def _bases(document: dict[str, Json]) -> list[str]:
    return [digest["basis"] for digest in document["files"][0]["digests"]]


def test_a_manifest_beside_a_file_on_disk(tmp_path: Path) -> None:
    (tmp_path / "m.gguf").write_bytes(MODEL)
    (tmp_path / "SHA256SUMS").write_text(f"{SHA256}  m.gguf\n{WRONG}  other.gguf\n")
    document = inspect(FileSource(tmp_path / "m.gguf")).document
    assert _bases(document) == ["in a manifest", "computed from all bytes"]
    assert "STR035" not in [entry["rule"] for entry in document["not_evaluated"]]
    (tmp_path / "m.gguf").write_bytes(MODEL[:-1] + b"\1")
    assert "STR035" in rules_hit(inspect(FileSource(tmp_path / "m.gguf")))


def test_the_digest_the_user_expects() -> None:
    source = MemorySource("m.gguf", {"m.gguf": MODEL})
    assert "STR035" not in rules_hit(inspect(source, expected={"sha256": SHA256}))
    found = inspect(source, expected={"sha256": WRONG}).document["findings"]
    finding = next(finding for finding in found if finding["rule"] == "STR035")
    assert (finding["expected"], finding["actual"]) == (WRONG, SHA256)


def test_one_digest_alone_is_not_judged() -> None:
    document = report(MODEL).document
    assert _bases(document) == ["computed from all bytes"]
    reasons = {entry["rule"]: entry["reason"] for entry in document["not_evaluated"]}
    assert "no two digests" in reasons["STR035"]


def test_the_manifest_of_a_split_model_covers_every_shard() -> None:
    files = good_set()
    sums = "".join(f"{hashlib.sha256(data).hexdigest()}  {name}\n" for name, data in files.items())
    document = report({**files, "SHA256SUMS": sums.encode()}).document
    assert all(len(file["digests"]) == 2 for file in document["files"])
    assert "STR035" not in {finding["rule"] for finding in document["findings"]}
    second = list(files)[1]
    wrong = sums.replace(hashlib.sha256(files[second]).hexdigest(), WRONG)
    found = report({**files, "SHA256SUMS": wrong.encode()}).document["findings"]
    assert [f["file"] for f in found if f["rule"] == "STR035"] == [second]


def test_digests_declared_by_a_server_are_compared() -> None:
    md5 = base64.b64encode(bytes(16)).decode()
    headers = {"x-goog-hash": f"md5={md5}", "Content-MD5": base64.b64encode(b"1" * 16).decode()}
    behaviour = {"m": lambda handler, data: handler.serve(data, **headers)}
    with RangeServer({"m": MODEL}, behaviour) as server:
        url = server.url("m")
        with open_url(url, replace(SMALL, first_read=1 << 20)) as source:
            assert "STR035" in rules_hit(inspect(source))


@pytest.mark.parametrize("text", [b"\xff\xfe", b"x" * (2 << 20), b""])
def test_a_manifest_that_makes_no_sense_is_left_out(text: bytes) -> None:
    document = report({"m.gguf": MODEL, "m.gguf.sha256": text}).document
    assert _bases(document) == ["computed from all bytes"]
