"""Errors about architectures, hyper-parameters and tensors are errors for the reference loader."""

from pathlib import Path

import pytest

from ggufhub.formats.values import ValueType
from ggufhub.rules.hyperparameters import GENERAL_TYPES
from ggufhub.rules.model_samples import llama
from ggufhub.rules.registry import Rule, Severity, Truth, catalogue
from tests.core.reading import report, rules_hit
from tests.corpus import needs_loader
from tests.loader import load, load_weights

AREAS = ("ARC", "HYP", "TEN")

ERRORS = [
    pytest.param(rule, id=rule.id)
    for rule in catalogue()
    if rule.id.startswith(AREAS) and rule.severity is Severity.ERROR
]

LOADING = [
    pytest.param(rule, id=rule.id)
    for rule in catalogue()
    if rule.id.startswith(AREAS) and rule.severity is not Severity.ERROR
]

SAMPLES_OF_OTHERS = {"ARC002", "HYP014", "HYP015", "TEN007"}
"""Rules whose samples are a llama under another architecture's name, which does not load."""


def verdict(sample: bytes | dict[str, bytes], directory: Path) -> tuple[bool, str]:
    assert isinstance(sample, bytes)
    path = directory / "sample.gguf"
    path.write_bytes(sample)
    loaded = load(path)
    return loaded.ok, loaded.said


@needs_loader
@pytest.mark.parametrize("rule", ERRORS)
def test_the_loader_refuses_what_breaks_the_rule(rule: Rule, tmp_path: Path) -> None:
    ok, said = verdict(rule.failing(), tmp_path)
    assert not ok
    assert said


@needs_loader
@pytest.mark.parametrize("rule", ERRORS)
def test_the_loader_takes_what_keeps_it(rule: Rule, tmp_path: Path) -> None:
    ok, said = verdict(rule.passing(), tmp_path)
    assert ok, said


@needs_loader
@pytest.mark.parametrize("rule", LOADING)
def test_the_loader_takes_what_only_deserves_a_warning(rule: Rule, tmp_path: Path) -> None:
    if rule.id in SAMPLES_OF_OTHERS:
        assert rule.truth in (Truth.ADVICE, Truth.PORTABILITY)
        return
    ok, said = verdict(rule.failing(), tmp_path)
    assert ok, said


@needs_loader
@pytest.mark.parametrize("name", GENERAL_TYPES)
def test_keys_of_every_model_have_one_type(name: str, tmp_path: Path) -> None:
    wrong = (ValueType.UINT8, 1)
    sample = llama({name: wrong})
    path = tmp_path / "sample.gguf"
    path.write_bytes(sample)
    loaded = load_weights(path)
    assert not loaded.ok
    assert "wrong type u8" in loaded.said
    assert "HYP003" in rules_hit(report(sample))
