"""The cache estimate, byte for byte, against allocations that llama.cpp printed."""

import json

import pytest

from ggufhub.errors import UsageError
from ggufhub.estimate.cache import Setting, cache_bytes, cells_of
from ggufhub.estimate.hyperparameters import Hyperparameters
from ggufhub.estimate.layers import layers_of
from ggufhub.formats.header import Header
from ggufhub.rules.model_samples import llama
from tests.core.reading import read
from tests.corpus import SHARED, needs_corpus

MEMORY = SHARED / "data" / "memory"

TYPES = {1: "F16", 8: "Q8_0"}


def rows() -> list[tuple[str, tuple[int, ...], int]]:
    found = []
    for name in ("oracle.json", "oracle2.json"):
        path = MEMORY / name
        for key, answer in (json.loads(path.read_text()) if path.exists() else {}).items():
            model, _, setting = key.partition("|")
            found.append(
                (
                    model,
                    tuple(json.loads(setting.replace("(", "[").replace(")", "]"))),
                    answer["context"],
                )
            )
    return found


def setting_of(numbers: tuple[int, ...]) -> Setting:
    context, key, value, sequences, unified, flash, full, micro = numbers
    return Setting(
        context,
        TYPES[key],
        TYPES[value],
        sequences,
        bool(unified),
        flash != 0,
        bool(full),
        micro,
    )


def header_of(model: str) -> Header:
    return read((MEMORY / "kv" / f"{model}.gguf").read_bytes())


@needs_corpus
@pytest.mark.parametrize(("model", "numbers", "expected"), rows())
def test_equals_the_reference(model: str, numbers: tuple[int, ...], expected: int) -> None:
    hyper = Hyperparameters.of(header_of(model))
    assert hyper is not None
    layers = layers_of(hyper)
    assert layers is not None
    assert layers.known
    assert cache_bytes(hyper, layers, setting_of(numbers)).total == expected


@needs_corpus
def test_all_rows_were_compared() -> None:
    assert len(rows()) == 276


@pytest.mark.parametrize(
    ("setting", "cells"),
    [
        (Setting(100), 256),
        (Setting(10_000, sequences=3, unified=False), 3_584),
        (Setting(131_072), 131_072),
    ],
)
def test_cells_are_padded(setting: Setting, cells: int) -> None:
    assert cells_of(setting, 0)[0] == cells


@pytest.mark.parametrize(("micro", "cells"), [(256, 1280), (512, 1536), (1024, 2048), (2048, 3072)])
def test_a_window_grows_with_the_micro_batch(micro: int, cells: int) -> None:
    assert cells_of(Setting(131_072, micro_batch=micro), 1024)[1] == cells


@pytest.mark.parametrize(
    "setting",
    [
        Setting(0),
        Setting(4096, key_type="Q4_K"),
        Setting(4096, value_type="Q8_0", flash_attention=False),
        Setting(4096, sequences=0),
    ],
)
def test_what_the_program_would_refuse_is_refused(setting: Setting) -> None:
    hyper = Hyperparameters.of(read(llama()))
    assert hyper is not None
    layers = layers_of(hyper)
    assert layers is not None
    with pytest.raises(UsageError):
        cache_bytes(hyper, layers, setting)


@pytest.mark.parametrize("count", [0, 513, 1 << 31])
def test_absurd_layer_counts_have_no_estimate(count: int) -> None:
    assert Hyperparameters.of(read(llama({"llama.block_count": count}))) is None
