"""Split models: from any shard the whole set, and what the reference says of broken sets."""

from pathlib import Path

import pytest

from ggufhub.report.build import inspect
from ggufhub.rules.split import good_set
from ggufhub.sources.file import FileSource
from tests.core.reading import MemorySource
from tests.corpus import SHARED, needs_corpus

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
