"""Models that load, and real vocabularies, hold nothing to complain about in these areas."""

from pathlib import Path

import pytest

from ggufhub.report.build import inspect
from ggufhub.sources.file import FileSource
from tests.corpus import SHARED, needs_corpus, verdicts

AREAS = ("ARC", "HYP", "TEN")


def loading() -> list[Path]:
    found = [v.path for v in verdicts() if v.row.get("load") == "ok"]
    whole = [path for path in found if path.parent.name not in ("sem", "14_splitcount_shard2_5")]
    shards = [
        path for folder in ("split", "split_nofirst", "split_py") for path in folder_of(folder)
    ]
    kinds = [path for path in folder_of("kinds") if not path.name.startswith("lora-")]
    return sorted({*whole, *shards, *kinds, *(SHARED / "models").glob("*.gguf")})


def folder_of(name: str) -> list[Path]:
    return sorted((SHARED / "corpus" / name).glob("*.gguf"))


@needs_corpus
@pytest.mark.parametrize("path", [pytest.param(path, id=path.name) for path in loading()])
def test_nothing_but_facts(path: Path) -> None:
    with FileSource(path) as source:
        findings = inspect(source).document["findings"]
    ours = [finding for finding in findings if finding["rule"].startswith(AREAS)]
    assert [finding for finding in ours if finding["severity"] != "info"] == []


@needs_corpus
def test_there_are_many() -> None:
    assert len(loading()) > 60
