"""Agreement with the reference reader, file by file."""

from pathlib import Path

import pytest

from ggufhub.report.build import inspect
from ggufhub.sources.file import FileSource
from tests.corpus import SHARED, Verdict, needs_corpus, verdicts

pytestmark = needs_corpus

WRAPPED = "an overflow in the reference makes 576 PB look like 4 bytes (format notes, section 12)"
DISAGREEMENTS = {"d_nbytes_wrap_q4_k.gguf": WRAPPED}
"""Files on which the reference itself misbehaves, and why we are right."""


def _document(path: Path) -> dict:
    with FileSource(path) as source:
        return inspect(source, arrays=False).document


def _rows() -> list[Verdict]:
    return list(verdicts("handcrafted", "edge", "struct", "alltypes", "model", "quant", "kinds"))


@pytest.mark.parametrize("row", _rows(), ids=lambda row: row.path.name)
def test_agrees_with_the_reference(row: Verdict) -> None:
    document = _document(row.path)
    structural = [
        finding
        for finding in document["findings"]
        if finding["severity"] == "error" and finding["rule"].startswith("STR")
    ]
    if row.path.name in DISAGREEMENTS:
        assert bool(structural) == row.accepted, DISAGREEMENTS[row.path.name]
        return
    assert bool(structural) != row.accepted, document["findings"]
    if row.row["verdict"] == "ok":
        form = document["format"]
        for column, field in (
            ("version", "version"),
            ("n_kv", "kv_count"),
            ("n_tensors", "tensor_count"),
            ("alignment", "alignment"),
            ("data_offset", "data_offset"),
        ):
            assert str(form[field]) == row.row[column], column


@pytest.mark.parametrize("path", sorted((SHARED / "models").glob("*.gguf")), ids=lambda p: p.name)
def test_real_vocabularies_have_no_structural_finding(path: Path) -> None:
    document = _document(path)
    assert document["kind"] == "vocab"
    assert [f for f in document["findings"] if f["rule"].startswith("STR")] == []
