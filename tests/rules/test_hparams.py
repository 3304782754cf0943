"""Expressions are exact and safe; hyper-parameters survive whatever a file states."""

from typing import Any

import pytest

from ggufhub.formats.values import ValueType
from ggufhub.rules.expressions import Value, evaluate
from ggufhub.rules.hparams import Fault, LoadedHyperparameters
from ggufhub.rules.model_samples import llama
from ggufhub.rules.subject import Subject
from tests.core.reading import read, report, rules_hit
from tests.effort import cpu_seconds


class Names:
    """A scope with a few names; everything else is unknown."""

    def name(self, name: str) -> Value:
        values: dict[str, Value] = {"n": 7, "zero": 0, "list": [1, 2, None], "text": "a", "f": 0.5}
        return values.get(name)

    def call(self, name: str, arguments: list[Value]) -> Value:
        return len(arguments) if name == "count" else None


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("2 + 3 * 4", 14),
        ("(2 + 3) * 4", 20),
        ("-7 / 2", -3),
        ("7 % 4", 3),
        ("n > 3 ? n : 1", 7),
        ("n == 7 && zero == 0", 1),
        ("!zero", 1),
        ("6 & 4 | 1", 5),
        ("list[1] + 1", 3),
        ("count(1, n, 3)", 3),
        ('text == "a"', 1),
        ("18446744073709551615 * 4", 73786976294838206460),
        ("f * 2", 1.0),
        # Unknown spreads, but not through what is decided.
        ("n + missing", None),
        ("zero && missing", 0),
        ("missing && zero", 0),
        ("missing || n", 1),
        ("missing && n", None),
        ("missing ? 4 : 4", 4),
        ("missing ? 4 : 5", None),
        ("list[2]", None),
        ("list[9]", None),
        ("n / zero", None),
        ("n % zero", None),
        ("text + 1", None),
        ("list * 2", None),
        ("__import__(1)", None),
        ("n.__class__", None),
        ("2 +", None),
        ("?", None),
        ("1 " * 9, None),
        ("(" * 5_000 + "1" + ")" * 5_000, None),
    ],
)
def test_expressions(text: str, value: Value) -> None:
    assert evaluate(text, Names()) == value


def hyper(keys: dict[str, Any] | None = None) -> LoadedHyperparameters:
    return LoadedHyperparameters(read(llama(keys)), "llama", lambda name: False)


def test_values_follow_the_loader() -> None:
    found = hyper({"llama.attention.head_count_kv": [2, 4]})
    assert found.blocks == 2
    assert found.value("hparams.n_embd_k_gqa(i)", 0) == 16
    assert found.value("hparams.n_embd_k_gqa(i)", 1) == 32
    assert found.value("hparams.n_rot()") == 8
    assert found.value("hparams.n_expert") == 0
    assert found.value("vocab.n_tokens()") == 16
    assert found.problems == []


def test_problems_are_what_the_loader_stops_at() -> None:
    found = hyper(
        {
            "llama.embedding_length": None,
            "llama.context_length": (ValueType.INT32, 128),
            "llama.feed_forward_length": [64, 64, 64],
        }
    )
    faults = {problem.name.removeprefix("llama."): problem.fault for problem in found.problems}
    assert faults == {
        "embedding_length": Fault.MISSING,
        "context_length": Fault.TYPE,
        "feed_forward_length": Fault.LENGTH,
    }
    assert found.value("hparams.n_embd") is None


HOSTILE: list[dict[str, Any]] = [
    {"llama.block_count": (1 << 32) - 1},
    {"llama.block_count": 512, "llama.nextn_predict_layers": 512},
    {"llama.nextn_predict_layers": (1 << 32) - 1},
    {"llama.block_count": (ValueType.UINT64, (1 << 64) - 1)},
    {"llama.block_count": (ValueType.INT32, -1)},
    {"llama.block_count": (ValueType.FLOAT64, float("nan"))},
    {"llama.block_count": "two"},
    {"llama.block_count": 0},
    {"llama.attention.head_count": 0},
    {"llama.attention.head_count": (1 << 32) - 1},
    {"llama.attention.head_count": [0, 0]},
    {"llama.attention.head_count": ["a", "b"]},
    {"llama.attention.head_count_kv": 0},
    {"llama.embedding_length": 0},
    {"llama.embedding_length": (1 << 32) - 1, "llama.feed_forward_length": (1 << 32) - 1},
    {"llama.attention.layer_norm_rms_epsilon": float("nan")},
    {"llama.rope.freq_base": float("inf")},
    {"llama.expert_count": (1 << 32) - 1, "llama.expert_used_count": 0},
    {"llama.expert_used_count": [(1 << 31) - 1] * 100_000},
    {"llama.rope.scaling.type": b"\xff" * 1_000},
    {"llama.attention.sliding_window_pattern": [1] * 100_000},
    {"general.architecture": "x" * 100_000},
    {"general.architecture": "\x00"},
]


@pytest.mark.parametrize("keys", HOSTILE)
def test_absurd_values_are_judged_quickly(keys: dict[str, Any]) -> None:
    data = llama(keys)
    with cpu_seconds(3):
        found = report(data)
    assert found.document["verdict"] in ("fail", "warn")
    telling = {f"HYP{number:03}" for number in range(2, 19)} | {
        "ARC001",
        "TEN001",
        "TEN002",
        "TEN005",
    }
    assert rules_hit(found) & telling


@pytest.mark.parametrize("count", [1, 2, 3, 4, 511])
def test_missing_and_surplus_blocks_are_told_once_each(count: int) -> None:
    found = report(llama({"llama.block_count": count})).document["findings"]
    blocks = [f for f in found if f["rule"] == "TEN003"]
    assert len(blocks) == min(abs(count - 2), 50)
    assert not [f for f in found if f["rule"] in ("TEN001", "TEN002")]


def test_subjects_without_a_language_model_have_no_hyper_parameters() -> None:
    subject = Subject([])
    assert subject.kind == "unknown"
    assert subject.names == frozenset()
