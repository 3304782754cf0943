"""A bounded run of the fuzzers; `make fuzz` runs long ones."""

import random
from itertools import islice
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ggufhub.formats.values import ByteOrder
from ggufhub.rules.model_samples import llama
from tests.core.reading import report
from tests.corpus import needs_loader
from tests.fuzz.differential import disagreements, loading_disagreements, tally
from tests.fuzz.mutants import VARIANTS, mutants, seed
from tests.fuzz.parts import PARTS, failures

VERDICTS = {"pass", "warn", "fail", "unreadable"}


@pytest.mark.parametrize(("version", "order"), VARIANTS)
def test_mutants_end_in_a_report(version: int, order: ByteOrder) -> None:
    stream = mutants(seed(version, order), order, random.Random(75))
    for data in islice(stream, 600):
        document = report(data).document
        assert document["verdict"] in VERDICTS
        failed = [e for e in document["not_evaluated"] if "failed" in e["reason"]]
        assert failed == []


@settings(max_examples=500)
@given(st.binary(max_size=400))
def test_any_bytes_end_in_a_report(data: bytes) -> None:
    assert report(data).verdict in VERDICTS
    assert report(b"GGUF\3\0\0\0" + data).verdict in VERDICTS


@pytest.mark.parametrize("version", [2, 3])
def test_agrees_with_the_reference_reader(version: int, tmp_path: Path) -> None:
    pytest.importorskip("libggml", reason="the reference C reader has no wheel here")
    stream = mutants(seed(version, ByteOrder.LITTLE), ByteOrder.LITTLE, random.Random(version))
    counts, unexplained = tally(disagreements(list(islice(stream, 1_000)), tmp_path))
    assert unexplained == [], counts


@needs_loader
def test_agrees_with_the_full_loader(tmp_path: Path) -> None:
    stream = mutants(llama(), ByteOrder.LITTLE, random.Random(75))
    assert loading_disagreements(list(islice(stream, 30)), tmp_path) == []


@pytest.mark.parametrize("name", PARTS)
def test_foreign_text_fails_as_expected_or_not_at_all(name: str) -> None:
    assert failures(PARTS[name], random.Random(75), iter(range(400))) == []
