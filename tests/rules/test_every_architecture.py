"""A model made from nothing but the tables loads in the reference, for every architecture; and
the loader asks for exactly the tensors that the tables name."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from ggufhub.rules.tables import table
from tests.core.reading import report
from tests.corpus import needs_loader
from tests.loader import Loaded, load_weights
from tests.rules.every_architecture import TOLD, Small

NOT_MADE = {
    "hrm_text": "its loops over stacks are beyond the tables: nothing is judged",
    "qwen4exp": "its n-gram embeddings need arrays that fit each other",
}
"""Architectures without a model here, each with the reason."""

NEWER = {"qwen35": {"cls.output.weight", "cls.output.bias"}}
"""Tensors that the installed loader asks for and the tree behind the tables did not."""

MADE = [name for name in table("architectures")["loaded"] if name not in NOT_MADE]


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Small, Loaded]]:
    """Each architecture's model and what the loader said; four at a time."""
    folder: Path = tmp_path_factory.mktemp("architectures")

    def answer(name: str) -> tuple[Small, Loaded]:
        small, path = Small(name), folder / f"{name}.gguf"
        path.write_bytes(small.data)
        loaded = load_weights(path)
        path.unlink()
        return small, loaded

    with ThreadPoolExecutor(4) as pool:
        return dict(zip(MADE, pool.map(answer, MADE), strict=True))


@needs_loader
@pytest.mark.parametrize("name", MADE)
def test_it_loads(answers: dict[str, tuple[Small, Loaded]], name: str) -> None:
    small, loaded = answers[name]
    assert small.problems == []
    assert loaded.ok, loaded.said


@needs_loader
@pytest.mark.parametrize("name", MADE)
def test_the_loader_asks_for_what_the_table_says(
    answers: dict[str, tuple[Small, Loaded]], name: str
) -> None:
    small, loaded = answers[name]
    scales = {tensor for tensor in loaded.asked if tensor.endswith(("scale",))} - small.asked
    asked = loaded.asked - scales - NEWER.get(name, set())
    surprising = asked - small.asked - small.perhaps - set(TOLD.get(name, {}))
    assert surprising == set()
    assert small.asked - loaded.asked == set()


@pytest.mark.parametrize("name", MADE)
def test_no_rule_complains_about_it(name: str) -> None:
    findings = report(Small(name).data).document["findings"]
    ours = [f for f in findings if f["rule"].startswith(("ARC", "HYP", "TEN"))]
    advice = {"HYP011", "HYP014", "HYP017"}  # no base, no pooling: nobody's real model
    wrong = [f for f in ours if f["severity"] != "info" and f["rule"] not in advice]
    assert wrong == []


@needs_loader
@pytest.mark.parametrize("name", ["deepseek2", "step35", "qwen3next", "mimo2", "hy_v3"])
def test_blocks_that_predict_further_tokens_may_be_left_out(name: str, tmp_path: Path) -> None:
    small = Small(name, ahead=1)
    path = tmp_path / "small.gguf"
    path.write_bytes(small.data)
    assert load_weights(path).ok
    found = report(small.data).document["findings"]
    assert not [f for f in found if f["rule"] in ("TEN001", "TEN002", "TEN003", "TEN005")]
    assert b"blk.3." not in small.data
