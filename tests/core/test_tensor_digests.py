"""Digests of tensors: the reference tool's manifests byte for byte, and comparison with them."""

import hashlib
from pathlib import Path

import pytest

from ggufhub.formats.load import load_model
from ggufhub.integrity.full_read import read_whole
from ggufhub.integrity.tensor_digests import PRINTED, UUID5, manifest_lines
from ggufhub.limits import FULL, Limits
from ggufhub.sources.file import FileSource
from tests.builders import Gguf
from tests.core.reading import report, rules_hit, source_of
from tests.corpus import SHARED, needs_corpus

CORPUS = SHARED / "corpus"


def printed(path: Path, name: str, chunk: int) -> str:
    """What llama-gguf-hash --all --uuid prints for ``path``, given as ``name``."""
    with FileSource(path) as source:
        model = load_model(source, Limits())
        model.first.manifest = {("", algorithm): "" for algorithm in (*PRINTED, UUID5)}
        read_whole(model, source, lambda done, total: None, chunk)
    file = model.first
    tensors = [(one.tensor.name, one.digests) for one in file.data]
    return "".join(f"{line}\n" for line in manifest_lines(name, tensors, file.tensor_digests))


@needs_corpus
@pytest.mark.parametrize("chunk", [1000, 8 << 20])
@pytest.mark.parametrize("model", ["tiny-Q4_K_M", "tiny-Q8_0"])
def test_the_manifests_of_the_reference_tool_byte_for_byte(model: str, chunk: int) -> None:
    made = (CORPUS / "manifests" / f"{model}.manifest").read_text()
    assert printed(CORPUS / "quant" / f"{model}.gguf", f"quant/{model}.gguf", chunk) == made


@needs_corpus
def test_a_manifest_beside_the_model_is_compared() -> None:
    data = (CORPUS / "quant" / "tiny-Q8_0.gguf").read_bytes()
    made = (CORPUS / "manifests" / "tiny-Q8_0.manifest").read_text()
    files = {"tiny-Q8_0.gguf": data, "tiny-Q8_0.gguf.manifest": made.encode()}
    good = report(files, depth=FULL)
    assert "STR051" not in rules_hit(good)
    (file,) = good.document["files"]
    assert file["tensor_digests"][UUID5] == "d0187c79-d931-545c-9b0d-d6be0cc7c266"
    files["tiny-Q8_0.gguf"] = data[:-40] + bytes([data[-40] ^ 1]) + data[-39:]
    found = [f for f in report(files, depth=FULL).document["findings"] if f["rule"] == "STR051"]
    assert len(found) == 3 + 4, "one tensor by three algorithms, and all as one by four"
    assert {f["place"].get("tensor") for f in found} == {None, "blk.1.ffn_up.weight"}
    assert all(f["severity"] == "error" and f["expected"] != f["actual"] for f in found)


def test_nothing_is_compared_with_a_header_alone() -> None:
    line = f"xxh64     {'0' * 16}  m.gguf:a\n".encode()
    files = {"m.gguf": model_of(b"ab").build(), "m.gguf.manifest": line}
    assert "STR051" not in rules_hit(report(files))
    assert "STR051" in rules_hit(report(files, depth=FULL))


def test_a_manifest_with_a_tensor_that_is_not_there() -> None:
    line = f"sha1      {'0' * 40}  elsewhere/m.gguf:gone\n".encode()
    document = report({"m.gguf": model_of(b"a").build(), "m.manifest": line}, depth=FULL).document
    (found,) = [f for f in document["findings"] if f["rule"] == "STR051"]
    assert "gone" in found["message"]


def model_of(letters: bytes) -> Gguf:
    """A tensor of 32 equal bytes for each letter, named by it."""
    model = Gguf(data=b"".join(bytes([letter]) * 32 for letter in letters))
    model.key("general.architecture", "llama")
    for letter in letters:
        model.tensor(chr(letter), (8,))
    return model


def test_tensors_that_lie_in_another_order_have_no_digest_as_one() -> None:
    model = Gguf(data=b"b" * 32 + b"a" * 32).key("general.architecture", "llama")
    model.tensor("a", (8,), offset=32).tensor("b", (8,), offset=0)
    source = source_of(model.build())
    read = load_model(source, Limits())
    read.first.manifest = {("", "sha256"): "0" * 64}
    read_whole(read, source, lambda done, total: None)
    by_name = {one.tensor.name: one.digests["sha256"] for one in read.first.data}
    assert by_name == {name: hashlib.sha256(name.encode() * 32).hexdigest() for name in "ab"}
    assert read.first.tensor_digests == {}


@pytest.mark.parametrize("algorithm", ["md5", "sha1", "sha224", "sha384", "sha512", "blake2b"])
def test_digests_that_are_asked_for_are_computed(algorithm: str) -> None:
    data = model_of(b"ab").build()
    value = hashlib.new(algorithm, data).hexdigest()
    sums = f"{algorithm.upper()} (m.gguf) = {value}\n".encode()
    document = report({"m.gguf": data, "checksums.txt": sums}, depth=FULL).document
    computed = {d["algorithm"]: d["value"] for d in document["files"][0]["digests"]}
    assert computed[algorithm] == value
    assert not {"STR035", "STR050"} & {f["rule"] for f in document["findings"]}
    wrong = f"{algorithm.upper()} (m.gguf) = {'0' * len(value)}\n".encode()
    assert "STR035" in rules_hit(report({"m.gguf": data, "checksums.txt": wrong}, depth=FULL))


def test_an_unknown_algorithm_is_told_and_never_compared() -> None:
    sums = b"BLAKE3 (m.gguf) = " + b"ab" * 32
    document = report({"m.gguf": model_of(b"a").build(), "SHA256SUMS": sums}, depth=FULL).document
    (found,) = [f for f in document["findings"] if f["rule"] == "STR050"]
    assert found["severity"] == "info" and "BLAKE3" in found["message"]
    assert "STR035" not in {f["rule"] for f in document["findings"]}
