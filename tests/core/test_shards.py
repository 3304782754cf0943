"""Split models: from any shard the whole set, and what the reference says of broken sets."""

import os
import resource
from dataclasses import replace
from pathlib import Path

import pytest

from ggufhub.errors import BytesMissing
from ggufhub.formats.load import load_model
from ggufhub.limits import Limits
from ggufhub.report.build import inspect
from ggufhub.rules.split import good_set
from ggufhub.sources.base import Identity
from ggufhub.sources.file import FileSource
from ggufhub.sources.upload import Stored, UploadSource
from tests.builders import Gguf, ValueType
from tests.core.reading import MemorySource
from tests.corpus import SHARED, needs_corpus
from tests.shards import three_shards

SETS = SHARED / "corpus" / "split_bad"


def document_of(path: Path) -> dict:
    with FileSource(path) as source:
        return inspect(source, arrays=False).document


def errors(document: dict) -> set[str]:
    """Errors of structure and of the set; the samples are no complete models."""
    found = {f["rule"] for f in document["findings"] if f["severity"] == "error"}
    return {rule for rule in found if rule[:3] in ("STR", "SPL")}


@pytest.mark.parametrize("opened", [0, 1])
def test_any_shard_leads_to_the_whole_model(opened: int) -> None:
    files = good_set()
    document = inspect(MemorySource(list(files)[opened], files)).document
    assert [file["name"] for file in document["files"]] == list(files)
    assert document["name"] == list(files)[opened]
    assert (document["kind"], len(document["tensors"])) == ("model", 2)
    assert document["summary"]["architecture"] == "llama"
    assert errors(document) == set()


def test_duplicate_tensors_across_shards_are_found() -> None:
    files = good_set()
    first, second = files
    files[second] = files[first].replace(b"split.no\2\0\0\0\0\0", b"split.no\2\0\0\0\1\0")
    assert "STR022" in errors(inspect(MemorySource(first, files)).document)


def set_verdicts() -> list[tuple[str, bool]]:
    table = SETS / "set_verdicts.tsv"
    if not table.exists():
        return []
    rows = [line.split("\t") for line in table.read_text().splitlines()]
    return [(row[0], row[2] == "ok") for row in rows]


@needs_corpus
@pytest.mark.parametrize(("name", "loads"), set_verdicts())
def test_agrees_with_the_reference_on_broken_sets(name: str, loads: bool) -> None:
    first = sorted((SETS / name).glob("*.gguf"))[0]
    assert (errors(document_of(first)) == set()) is loads


@needs_corpus
@pytest.mark.parametrize("folder", ["split", "split_nofirst", "split_py"])
def test_whole_sets_have_no_error(folder: str) -> None:
    for path in sorted((SHARED / "corpus" / folder).glob("*.gguf")):
        assert errors(document_of(path)) == set(), path


def upload_of(files: dict[str, bytes], directory: Path, **sizes: int) -> UploadSource:
    """The first of ``files``, stored as uploads are: under names of their own, others beside it."""
    stored = {}
    for number, (name, data) in enumerate(files.items()):
        path = directory / f"{number}.part"
        path.write_bytes(data)
        stored[name] = Stored(path, sizes.get(name, len(data)))
    name, first = next(iter(stored.items()))
    return UploadSource(first.path, name, first.size, stored)


def test_uploaded_shards_are_found_among_the_uploads(tmp_path: Path) -> None:
    files = three_shards()
    with upload_of(files, tmp_path) as source:
        document = inspect(source).document
    assert [file["name"] for file in document["files"]] == list(files)
    assert len(document["tensors"]) == 3
    assert document["reads"]["bytes"] >= sum(map(len, files.values()))
    assert errors(document) == set()


def test_a_shard_that_was_not_uploaded_is_not_called_missing(tmp_path: Path) -> None:
    files = three_shards()
    absent = list(files)[1]
    del files[absent]
    with upload_of(files, tmp_path) as source:
        document = inspect(source).document
    assert [file["name"] for file in document["files"]] == list(files)
    assert errors(document) == set()
    reasons = {entry["rule"]: entry["reason"] for entry in document["not_evaluated"]}
    assert f"{absent} was not uploaded" in reasons["SPL005"]


def test_a_shard_whose_bytes_were_deleted_is_not_called_missing(tmp_path: Path) -> None:
    with upload_of(three_shards(), tmp_path) as source:
        (tmp_path / "2.part").unlink()
        document = inspect(source).document
    assert len(document["files"]) == 2
    assert "SPL003" not in errors(document)


def test_the_shard_that_needs_bytes_is_named(tmp_path: Path) -> None:
    files = three_shards()
    second = list(files)[1]
    size = len(files[second])
    files[second] = files[second][:40]
    source = upload_of(files, tmp_path, **{second: size})
    with source, pytest.raises(BytesMissing) as caught:
        inspect(source)
    assert (caught.value.name, caught.value.offset) == (second, 40)


def shards_of_a_large_model(count: int) -> dict[str, bytes]:
    files = {}
    for number in range(count):
        shard = Gguf().key("general.architecture", "llama")
        shard.key("split.no", number, ValueType.UINT16).key("split.count", count, ValueType.UINT16)
        shard.key("split.tensors.count", count, ValueType.INT32).tensor(f"blk.{number}.x")
        files[f"m-{number + 1:05}-of-{count:05}.gguf"] = shard.build()
    return files


class HugeFile(MemorySource):
    """Says that it has 40 GB, as a shard of a large model does."""

    @property
    def identity(self) -> Identity:
        return replace(super().identity, size=40 * 10**9)

    def sibling(self, name: str) -> "HugeFile":
        return HugeFile(name, self.files)


def test_windows_of_many_large_shards_fit_into_a_worker() -> None:
    """Each reserves memory for the longest header; a worker may have a gigabyte of data."""
    pid = os.fork()
    if pid == 0:
        resource.setrlimit(resource.RLIMIT_DATA, (1024**3, 1024**3))
        files = shards_of_a_large_model(40)
        model = load_model(HugeFile(next(iter(files)), files), Limits())
        os._exit(0 if len(model.files) == 40 and not model.missing else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0


def test_headers_of_all_shards_share_a_budget() -> None:
    files = shards_of_a_large_model(40)
    limits = Limits(header_bytes=5_000, first_read=4_096)
    model = load_model(HugeFile(next(iter(files)), files), limits)
    assert 4 < len(model.files) < 40
    assert {error.code for error in model.missing.values()} == {"limit"}
