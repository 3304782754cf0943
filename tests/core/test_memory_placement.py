"""Where a model lies, what is loaded beside it, and what fits."""

from pathlib import Path
from typing import Any

import pytest

from ggufhub.cli import main
from ggufhub.errors import UsageError
from ggufhub.estimate.cache import Setting, cache_bytes
from ggufhub.estimate.fit import amount, fit_document, part_of
from ggufhub.estimate.memory import Estimator, estimator_from
from ggufhub.estimate.placement import (
    EVERYTHING,
    PROCESSOR,
    Placement,
    layer_places,
    most_offloaded,
    place,
)
from ggufhub.report.render.memory import fit_text
from ggufhub.rules.model_samples import llama, llama_keys
from tests.core.reading import report

GIB = 1 << 30


def document(data: bytes | None = None) -> dict[str, Any]:
    return report(llama() if data is None else data).document


def estimator(data: bytes | None = None) -> Estimator:
    return estimator_from(document(data)["memory"])


@pytest.mark.parametrize(
    ("offloaded", "split", "places"),
    [
        (0, (1.0,), [0, 0, 0, 0, 0]),
        (1, (1.0,), [0, 0, 0, 0, 1]),  # the output counts as the last layer
        (2, (1.0,), [0, 0, 0, 1, 1]),
        (5, (1.0,), [1, 1, 1, 1, 1]),
        (EVERYTHING, (1.0,), [1, 1, 1, 1, 1]),
        (5, (3.0, 2.0), [1, 1, 1, 2, 2]),
        (5, (1.0, 0.0), [1, 1, 1, 1, 1]),
        (4, (0.0, 1.0, 1.0), [0, 2, 2, 3, 3]),
    ],
)
def test_layers_go_to_devices_from_the_last_one_backwards(
    offloaded: int, split: tuple[float, ...], places: list[int]
) -> None:
    assert layer_places(4, Placement(offloaded, split)) == places


@pytest.mark.parametrize("offloaded", [0, 1, 2, EVERYTHING])
def test_nothing_is_lost_on_the_way(offloaded: int) -> None:
    found, setting = estimator(), Setting(1024)
    shares = place(found, setting, Placement(offloaded, (1.0, 1.0)))
    assert shares is not None and found.layers is not None
    assert sum(share.weights for share in shares) == found.weights.total
    assert sum(share.cache + share.states for share in shares) == (
        cache_bytes(found.hyper, found.layers, setting).total
    )
    assert sum(share.layers for share in shares) == 2
    assert all((share.compute > 0) == (share.total > share.weights) for share in shares[1:])


def test_a_tied_output_is_there_twice() -> None:
    found = estimator(llama(tensors={"output.weight": None}))
    shares = place(found, Setting(256), Placement())
    assert shares is not None and found.weights.tied
    assert sum(share.weights for share in shares) == found.weights.total + found.weights.input
    processor = place(found, Setting(256), Placement(0))
    assert processor is not None and processor[PROCESSOR].weights == found.weights.total


@pytest.mark.parametrize(
    "placement",
    [Placement(-1), Placement(1, ()), Placement(1, (0.0,)), Placement(1, (1.0,) * 17)],
)
def test_placements_that_make_no_sense(placement: Placement) -> None:
    with pytest.raises(UsageError):
        place(estimator(), Setting(256), placement)


def test_as_many_layers_as_fit() -> None:
    found, setting = estimator(), Setting(256)
    assert most_offloaded(found, setting, (GIB,)) == Placement(3, (float(GIB),))
    nothing = most_offloaded(found, setting, (1,))
    assert nothing == Placement(0, (1.0,))
    everything = place(found, setting, Placement())
    assert everything is not None
    less = most_offloaded(found, setting, (everything[1].total - 1,))
    assert less is not None and less.offloaded == 2


def test_a_cache_without_a_formula_has_no_place() -> None:
    renamed = {name.replace("llama.", "deepseek4."): v for name, v in llama_keys().items()}
    keys = dict.fromkeys(llama_keys()) | renamed | {"general.architecture": "deepseek4"}
    data = llama(keys)
    assert place(estimator(data), Setting(256), Placement()) is None
    fit = fit_document(document(data), Setting(256), Placement(), limit=GIB)
    assert fit is not None
    assert fit["places"] is fit["total"] is fit["quants"] is fit["largest_context"] is None
    text = fit_text(fit)
    assert "Whether it fits into 1.00 GiB is unknown." in text and "No context" not in text


@pytest.mark.parametrize(
    ("text", "size"),
    [("24G", 24 * GIB), ("24 GiB", 24 * GIB), ("0.5g", GIB // 2), ("512MB", GIB // 2), ("7", 7)],
)
def test_amounts_of_memory(text: str, size: int) -> None:
    assert amount(text) == size


@pytest.mark.parametrize("text", ["", "G", "-1G", "1e9", "24X", "1.G", "nan"])
def test_amounts_that_are_none(text: str) -> None:
    with pytest.raises(UsageError):
        amount(text)


def test_what_is_loaded_beside_the_model_counts() -> None:
    model, setting = document(), Setting(256)
    alone = fit_document(model, setting, Placement(), limit=GIB)
    parts = tuple(part_of(what, model, setting) for what in ("mmproj", "draft"))
    both = fit_document(model, setting, Placement(), parts, GIB)
    assert alone is not None and both is not None
    weights = sum(row["bytes"] for row in model["tensors"])
    assert both["total"] == 2 * alone["total"] + weights
    quants = {row["mix"]: row for row in both["quants"]}
    assert all(row["fits"] for row in quants.values())
    tight = fit_document(model, setting, Placement(), limit=quants["Q4_0"]["total"])
    assert tight is not None
    fits = {row["mix"]: row["fits"] for row in tight["quants"]}
    assert fits["Q4_0"] and not fits["Q8_0"]


# The command


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "model.gguf"
    path.write_bytes(llama({"llama.context_length": 8192}))
    return path


def shown(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(["show", *arguments]) == 0
    return capsys.readouterr().out


def test_the_command_tells_what_fits(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = str(path)
    text = shown(capsys, model, "--memory", "--context", "4096", "--fit", "24G")
    assert "4,096 tokens of context" in text and "It fits into 24.00 GiB." in text
    assert "Largest context that fits: 8,192." in text
    text = shown(capsys, model, "--memory", "--fit", "1K", "--draft", model, "--kv", "bf16")
    assert "does not fit" in text and "No context fits." in text and "No quant" in text
    assert "draft model.gguf" in text
    text = shown(capsys, model, "--memory", "--offload", "1", "--split", "1,1", "--no-flash")
    assert "device 2" in text and "flash attention off" in text


def test_a_part_that_cannot_be_read_is_not_taken_for_nothing(
    path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    absent = str(path.with_name("absent.gguf"))
    assert main(["show", str(path), "--memory", "--mmproj", absent]) == 2
    assert "absent.gguf cannot be read: There is no file" in capsys.readouterr().err


def test_without_options_it_is_the_table(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "cache type" in shown(capsys, str(path), "--memory")


def test_settings_that_nobody_would_run(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for options in (["--kv", "Q9"], ["--split", "x"], ["--fit", "much"], ["--context", "0"]):
        assert main(["show", str(path), "--memory", *options]) == 2
    assert "24G is one" in capsys.readouterr().err


def test_sizes_in_every_quant(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = shown(capsys, str(path), "--sizes")
    assert "Q4_K_M" in text and "importance matrix" in text and "exactly the size" in text
    (path.parent / "empty.gguf").write_bytes(b"GGUF\3\0\0\0" + bytes(16))
    assert main(["show", str(path.parent / "empty.gguf"), "--sizes"]) == 0
    assert "cannot be predicted" in capsys.readouterr().out


def test_hashes_as_the_reference_tool_prints_them(
    path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = shown(capsys, str(path), "--hashes")
    path.with_name("model.gguf.manifest").write_text(text)
    assert main(["check", str(path), "--depth", "full"]) == 0
    assert "STR051" not in capsys.readouterr().out
    assert text.splitlines()[-1].startswith("uuid      ")
    assert main(["show", str(path) + "x", "--hashes"]) == 3


def test_no_hashes_of_a_part(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """They would be taken for a manifest of the whole."""
    shard, cut, text = (
        path.with_name(name) for name in ("m-00001-of-00002.gguf", "cut.gguf", "text.gguf")
    )
    shard.write_bytes(path.read_bytes())
    cut.write_bytes(path.read_bytes()[:-64])
    text.write_bytes(b"no model at all" * 100)
    for one in (shard, cut, text):
        assert main(["show", str(one), "--hashes"]) == 3
        told = capsys.readouterr()
        assert told.out == "" and told.err.startswith("ggufhub: ")
