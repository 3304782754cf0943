"""What is told about the data of a tensor: samples, scales, zeros, constant rows, repetition."""

import struct
from typing import Any

import numpy as np
import pytest
from gguf import GGMLQuantizationType, quants

from ggufhub.formats.tensor_types import TENSOR_TYPES
from ggufhub.formats.values import ByteOrder
from ggufhub.integrity import sampling
from ggufhub.integrity.sampling import ELEMENTS, Sampler
from ggufhub.integrity.validity import PIECE, BlockCheck
from ggufhub.limits import FULL, MIB
from ggufhub.rules.model_samples import llama
from tests.builders import Gguf
from tests.core.reading import report

TYPES = {kind.name: kind for kind in TENSOR_TYPES.values()}
NORMAL = np.random.default_rng(7).normal(0.01, 0.05, (64, 1024)).astype(np.float32)


def stored(name: str, values: np.ndarray, order: ByteOrder = ByteOrder.LITTLE) -> bytes:
    """``values`` in the type ``name``."""
    plain = {"F32": "f4", "F16": "f2", "F64": "f8"}
    if name in plain:
        return values.astype(f"{order.prefix}{plain[name]}").tobytes()
    return quants.quantize(values, GGMLQuantizationType[name]).tobytes()


def seen(name: str, data: bytes, columns: int, order: ByteOrder = ByteOrder.LITTLE) -> Any:
    """The check and the sample of a tensor."""
    kind = TYPES[name]
    check = BlockCheck(kind, order, columns)
    sampler = Sampler(kind, order, len(data) // kind.size)
    view = memoryview(data)
    for at in range(0, len(data), 7001):
        check.feed(view[at : at + 7001], sampler.see)
    return check, sampler.sample()


@pytest.mark.parametrize("name", ["F32", "F16", "F64", "BF16", "Q8_0", "Q5_1", "Q4_0", "TQ2_0"])
def test_a_sample_tells_the_mean_and_the_deviation(name: str) -> None:
    values = NORMAL
    check, sample = seen(name, stored(name, values), values.shape[1])
    assert check.valid and sample is not None
    assert ELEMENTS / 2 < sample.elements <= ELEMENTS + 256
    assert sample.mean == pytest.approx(values.mean(), abs=0.004)
    assert sample.deviation == pytest.approx(values.std(), rel=0.25)
    assert sample.least < -0.05 < 0.05 < sample.most


@pytest.mark.parametrize("order", ByteOrder)
@pytest.mark.parametrize("name", ["F32", "F16", "F64"])
def test_a_small_tensor_is_its_own_sample(name: str, order: ByteOrder) -> None:
    values = np.array([[0.0, 0.5, -2.0, 8.0, float("nan"), 0.0]])
    _, sample = seen(name, stored(name, values, order), 6, order)
    assert sample == sampling.Sample(5, 1.3, pytest.approx(3.458323), -2.0, 8.0, 2)


@pytest.mark.filterwarnings("error")
def test_sums_beyond_the_largest_double_are_no_warning() -> None:
    values = np.full(32, 1.7e308)
    _, sample = seen("F64", stored("F64", values), 32)
    assert sample.mean == np.inf and sample.most == 1.7e308


def test_what_cannot_be_dequantised_has_no_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    data = stored("Q8_0", NORMAL)
    assert seen("Q8_0", data, 1024, ByteOrder.BIG)[1] is None
    assert seen("Q1_0", bytes(18 * 100), 1280)[1] is None
    monkeypatch.setattr(sampling, "dequantisers", lambda: None)
    assert seen("Q8_0", data, 1024)[1] is None
    assert seen("F16", stored("F16", NORMAL), 1024)[1] is not None


def test_scales_are_told_exactly() -> None:
    check, _ = seen("Q8_0", stored("Q8_0", NORMAL), 1024)
    scales = np.frombuffer(stored("Q8_0", NORMAL), np.uint8).reshape(-1, 34)[:, :2].copy()
    magnitudes = np.abs(scales.view(np.float16).astype(np.float64))
    assert check.scales == (magnitudes.min(), magnitudes.max())
    assert seen("MXFP4", bytes([127, *[1] * 16]) * 4, 128)[0].scales == (1.0, 1.0)
    assert seen("I32", bytes(40), 10)[0].scales is None
    assert seen("F32", struct.pack("<4f", -3, 1, 2, 0.5), 4)[0].scales == (0.5, 3.0)


def test_zero_blocks_and_rows_of_quantised_types() -> None:
    values = NORMAL.copy()
    values[3] = 0
    values[5, :64] = 0
    check, _ = seen("Q8_0", stored("Q8_0", values), 1024)
    assert (check.zero_blocks, check.constant_rows) == (32 + 2, 1)
    assert not check.zero


def test_constant_rows_of_floats() -> None:
    values = NORMAL.copy()
    values[3], values[7] = 0.25, 0
    values[9] = np.where(np.arange(1024) % 2, 0.5, -0.5)  # of one magnitude, and not constant
    for name in ("F32", "F16"):
        check, _ = seen(name, stored(name, values), 1024)
        assert (check.constant_rows, check.zero_blocks) == (2, 1024)


def test_rows_that_are_too_short_or_too_long_are_not_looked_at() -> None:
    assert not seen("F32", bytes(4 * 8), 8)[0].by_rows
    assert not seen("F32", bytes(4 * PIECE), PIECE)[0].by_rows
    assert not seen("NVFP4", bytes(36 * 8), 512)[0].by_rows


# In a report


def weights(tensors: dict[str, np.ndarray]) -> dict[str, Any]:
    """The report on a model of matrices, read whole; its columns are those of the array."""
    model = Gguf(data=b"".join(values.astype("<f4").tobytes() for values in tensors.values()))
    model.key("general.architecture", "llama")
    for name, values in tensors.items():
        model.tensor(name, values.shape[::-1])
    return report(model.build(), depth=FULL).document


def found(document: dict[str, Any], rule: str) -> list[dict[str, Any]]:
    return [finding for finding in document["findings"] if finding["rule"] == rule]


def test_a_tensor_of_a_report_tells_what_was_seen() -> None:
    document = weights({"blk.0.ffn_up.weight": NORMAL})
    data = document["tensors"][0]["data"]
    assert len(data["digests"]["xxh64"]) == 16
    assert (data["blocks"], data["rows"], data["zero_blocks"]) == (NORMAL.size, 64, 0)
    assert data["constant_rows"] == 0
    assert data["scales"][1] == pytest.approx(np.abs(NORMAL).max(), rel=1e-5)
    assert data["sample"]["mean"] == pytest.approx(0.01, abs=0.002)
    assert "data" not in report(llama()).document["tensors"][0]


def test_hollow_matrices_are_told_and_padding_is_not() -> None:
    hollow = NORMAL.copy()
    hollow[:20] = 0
    bias = np.zeros(64)
    document = weights({"token_embd.weight": hollow, "blk.0.attn_q.bias": bias, "a": NORMAL})
    assert found(document, "QNT011") == []
    document = weights({"blk.0.ffn_up.weight": hollow, "blk.1.ffn_up.weight": hollow})
    (finding,) = found(document, "QNT011")
    assert finding["severity"] == "info"
    assert "31 % of the values" in finding["message"] and "1 more" in finding["message"]
    hollow[15:] = NORMAL[15:]
    assert found(weights({"blk.0.ffn_up.weight": hollow}), "QNT011") == []


def test_repeated_tensors_are_told() -> None:
    large = np.random.default_rng(1).normal(size=(512, MIB // 2048)).astype(np.float32)
    other = large.copy()
    other[0, 0] += 1
    tensors = {"blk.0.ffn_up.weight": large, "blk.1.ffn_up.weight": other}
    assert found(weights(tensors), "QNT012") == []
    (finding,) = found(weights({**tensors, "blk.2.ffn_up.weight": large}), "QNT012")
    assert "1 tensors repeat" in finding["message"]
    assert finding["place"]["tensor"] == "blk.2.ffn_up.weight"
    small = {f"blk.{number}.ffn_norm.weight": np.ones(4096) for number in range(4)}
    zeros = {f"blk.{number}.ffn_gate.weight": large * 0 for number in range(2)}
    assert found(weights({**small, **zeros}), "QNT012") == []


def test_without_the_extra_the_report_says_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    quantised = llama(tensors={"blk.0.ffn_up.weight": ((32, 64), 8)})
    assert report(quantised, depth=FULL).document["notes"] == []
    monkeypatch.setattr(sampling, "dequantisers", lambda: None)
    (note,) = report(quantised, depth=FULL).document["notes"]
    assert "ggufhub[statistics]" in note
    assert report(llama(), depth=FULL).document["notes"] == [], "floats need nothing"
