"""Small models with one defect each, and what the reference loader said about them."""

import csv
from collections.abc import Iterator
from pathlib import Path

import pytest

from ggufhub.report.build import inspect
from ggufhub.sources.file import FileSource
from tests.corpus import SHARED, needs_corpus

BASELINES = {"S00": "ok", "S00b": "oks"}
"""Cases whose file is not named after them."""

ONLY_HERE = {
    "s05.gguf": "big-endian files load on big-endian hosts: a warning",
    "s42.gguf": "a projector is no model, and a good projector",
}
"""Files that the loader refuses and that hold no error, each with the reason."""

STRICTER = {
    "32_template_bad.gguf": "the model loads; the server that should use its template does not",
}
"""Files that the loader takes and that hold an error, each with the reason."""


def rows(path: Path) -> list[list[str]]:
    if not path.exists():
        return []
    with path.open(encoding="utf-8", newline="") as lines:
        return list(csv.reader(lines, delimiter="\t", quoting=csv.QUOTE_NONE))


def cases() -> Iterator[tuple[Path, bool]]:
    """Each file that was handed over, and whether the loader takes it."""
    folder = SHARED / "corpus" / "synthetic"
    for id, _, answer, *_ in rows(SHARED / "data" / "synthetic_cases.tsv")[1:]:
        path = folder / f"{BASELINES.get(id, id.lower())}.gguf"
        if path.exists():
            yield path, answer == "LOADED"
    folder = SHARED / "corpus" / "sem"
    for name, _, answer, *_ in rows(folder / "load_verdicts.tsv"):
        yield folder / name, answer.startswith("ok")


CASES = [pytest.param(path, takes, id=path.name) for path, takes in cases()]


def errors(path: Path) -> set[str]:
    with FileSource(path) as source:
        findings = inspect(source).document["findings"]
    return {finding["rule"] for finding in findings if finding["severity"] == "error"}


@needs_corpus
@pytest.mark.parametrize(("path", "takes"), CASES)
def test_errors_are_what_the_loader_refuses(path: Path, takes: bool) -> None:
    found = errors(path)
    if path.name in ONLY_HERE:
        assert not takes
        assert not found
    elif path.name in STRICTER:
        assert takes
        assert found
    else:
        assert takes is not bool(found), found


@needs_corpus
def test_there_are_cases_of_both_kinds() -> None:
    answers = [takes for _, takes in cases()]
    assert answers.count(True) > 20
    assert answers.count(False) > 40
