"""The whole estimate: exact weights, placement, the largest context, what stays unknown."""

import json

import pytest

from ggufhub.estimate.cache import Setting
from ggufhub.estimate.memory import (
    APPROXIMATE,
    EXACT,
    FORMULA,
    UNKNOWN,
    Estimator,
    estimator_from,
    estimator_of,
    memory_document,
)
from ggufhub.formats.load import load_model
from ggufhub.formats.model import Model
from ggufhub.limits import Limits
from ggufhub.rules.model_samples import llama, llama_keys, llama_tensors
from tests.builders import vocabulary
from tests.core.reading import source_of


def model_of(data: bytes) -> Model:
    return load_model(source_of(data), Limits())


def estimator(data: bytes) -> Estimator:
    found = estimator_of(model_of(data))
    assert found is not None
    return found


def test_weights_are_the_exact_bytes_of_the_tensors() -> None:
    model = model_of(llama())
    found = estimator_of(model)
    assert found is not None
    assert found.weights.total == sum(tensor.bytes or 0 for tensor in model.tensors)
    assert not found.weights.tied


def test_tied_embeddings_are_charged_to_the_device_too() -> None:
    weights = estimator(llama(tensors={"output.weight": None})).weights
    assert weights.tied


def test_every_figure_says_what_it_rests_on() -> None:
    row = estimator(llama()).estimate(Setting(128))
    assert (row.weights.basis, row.cache.basis, row.compute.basis) == (EXACT, FORMULA, APPROXIMATE)
    # 2 layers, 2 heads of 8, keys and values of 2 bytes, 256 cells
    assert row.cache.bytes == 2 * 2 * 8 * 2 * 2 * 256


def test_an_unknown_architecture_is_assumed_to_be_ordinary() -> None:
    renamed = {
        name.replace("llama.", "novel.") if name.startswith("llama.") else name: value
        for name, value in llama_keys().items()
    }
    keys = dict.fromkeys(llama_keys()) | renamed | {"general.architecture": "novel"}
    document = memory_document(model_of(llama(keys)))
    assert document is not None
    assert document["assumed"]
    assert document["table"][0]["cache"]["basis"] == APPROXIMATE


def test_a_cache_without_a_formula_gets_no_number() -> None:
    renamed = {name.replace("llama.", "deepseek4."): v for name, v in llama_keys().items()}
    keys = dict.fromkeys(llama_keys()) | renamed | {"general.architecture": "deepseek4"}
    document = memory_document(model_of(llama(keys)))
    assert document is not None
    row = document["table"][0]
    assert (row["cache"], row["total"]) == ({"bytes": None, "basis": UNKNOWN}, None)


def test_the_largest_context_just_fits() -> None:
    found = estimator(llama({"llama.context_length": 65_536}))
    setting = Setting(1)
    limit = found.estimate(Setting(10_240)).total
    assert limit is not None
    assert found.largest_context(limit, setting) == 10_240
    assert found.largest_context(limit - 1, setting) == 10_240 - 256
    assert found.largest_context(1, setting) is None


def test_a_stored_document_estimates_the_same() -> None:
    document = memory_document(model_of(llama()))
    assert document is not None
    again = estimator_from(json.loads(json.dumps(document)))
    setting = Setting(4096, sequences=2)
    assert again.estimate(setting) == estimator(llama()).estimate(setting)


def test_what_is_no_language_model_has_none() -> None:
    assert memory_document(model_of(vocabulary().build())) is None


@pytest.mark.parametrize(
    "keys",
    [
        {"llama.block_count": 1 << 31},
        {"llama.attention.head_count": 0},
        {"llama.attention.head_count_kv": 1 << 31},
        {"llama.embedding_length": (1 << 32) - 1},
        {"llama.context_length": (1 << 32) - 1},
    ],
)
def test_absurd_numbers_never_blow_up(keys: dict) -> None:
    document = memory_document(model_of(llama(keys, dict(llama_tensors()))))
    assert document is None or len(document["table"]) <= 30
