"""The quants that lie beside a model: found by a listing, measured by their sizes."""

import re
from pathlib import Path
from typing import Any

import pytest

from ggufhub.audit.siblings import quants_beside
from ggufhub.cli import main
from ggufhub.errors import SourceError
from ggufhub.estimate.cache import Setting
from ggufhub.estimate.fit import Part, Quant, fit_document, fitting_quants
from ggufhub.estimate.placement import Placement
from ggufhub.report.run import inspect_source
from ggufhub.rules.model_samples import llama
from tests.audit.kit import write
from tests.core.fakehub import FakeHub
from tests.core.rangeserver import LOOPBACK, RangeServer

MODEL = llama({"llama.context_length": 8192})
SIZE = len(MODEL)
REPOSITORY = {
    "m-Q8_0.gguf": MODEL,
    "m-Q4_K_M-00001-of-00002.gguf": bytes(1000),
    "m-Q4_K_M-00002-of-00002.gguf": bytes(500),
    "Q2_K/m-Q2_K.gguf": bytes(700),
    "m-BF16-00001-of-00003.gguf": bytes(SIZE),
    "m-F16.gguf": bytes(SIZE + 10_000_000),
    "mmproj-m-F16.gguf": bytes(10),
    "m.imatrix.gguf": bytes(10),
    "m-lora-F16.gguf": bytes(10),
    "other-Q8_0.gguf": bytes(10),
    "README.md": b"# m",
}
QUANTS = [
    ("Q2_K/m-Q2_K.gguf", "Q2_K", 700, 0, False),
    ("m-BF16-00001-of-00003.gguf", "BF16", None, 2, False),
    ("m-F16.gguf", "F16", SIZE + 10_000_000, 0, False),
    ("m-Q4_K_M-00001-of-00002.gguf", "Q4_K_M", 1500, 0, False),
    ("m-Q8_0.gguf", "Q8_0", SIZE, 0, True),
]


def looked_at(source: str) -> dict[str, Any]:
    return inspect_source(source, networks=("127.0.0.0/8",), judge=False).document


def beside(source: str) -> list[Quant]:
    return quants_beside(source, looked_at(source), policy=LOOPBACK)


def shown(capsys: pytest.CaptureFixture[str], source: str, limit: str) -> str:
    command = ["show", source, "--memory", "--context", "256", "--fit", limit]
    assert main([*command, "--allow-network", "127.0.0.0/8"]) == 0
    return capsys.readouterr().out


def test_in_a_folder_shards_are_one_and_side_files_none(tmp_path: Path) -> None:
    write(tmp_path, REPOSITORY)
    found = beside(str(tmp_path / "m-Q8_0.gguf"))
    assert found == [Quant(*quant) for quant in QUANTS]


def test_in_the_folder_of_its_quant(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = {"Q8_0/m-Q8_0.gguf": MODEL, "Q4_0/m-Q4_0.gguf": b"x", "more/m-Q2_K.gguf": b"x"}
    write(tmp_path, files)
    monkeypatch.chdir(tmp_path / "Q8_0")
    assert [quant.path for quant in beside("m-Q8_0.gguf")] == [
        "Q4_0/m-Q4_0.gguf",
        "Q8_0/m-Q8_0.gguf",
    ]


@pytest.mark.parametrize("source", ["hf://org/repo/m-Q8_0.gguf", "org/repo:Q8_0"])
def test_in_a_repository_nothing_else_is_opened(
    source: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with FakeHub(REPOSITORY) as hub:
        monkeypatch.setenv("HF_ENDPOINT", hub.endpoint)
        document = looked_at(source)
        hub.hub.requests.clear()
        found = quants_beside(source, document, policy=LOOPBACK)
        assert found == [Quant(*quant) for quant in QUANTS]
        asked = hub.paths()
    assert len(asked) == 2
    assert not [path for path in asked if "/resolve/" in path]


def test_a_link_has_nothing_beside_it() -> None:
    with RangeServer({"m-Q8_0.gguf": MODEL}) as server:
        url = server.url("m-Q8_0.gguf")
        assert beside(url) == []


def test_a_file_that_is_gone_has_nothing_beside_it(tmp_path: Path) -> None:
    write(tmp_path, {"m-Q8_0.gguf": MODEL, "m-Q4_0.gguf": b"x"})
    source = str(tmp_path / "m-Q8_0.gguf")
    document = looked_at(source)
    (tmp_path / "m-Q8_0.gguf").unlink()
    assert quants_beside(source, document, policy=LOOPBACK) == []
    with pytest.raises(SourceError, match="cannot be listed"):
        quants_beside(str(tmp_path / "gone" / "m-Q8_0.gguf"), document, policy=LOOPBACK)


def test_the_own_file_takes_what_the_estimate_says(tmp_path: Path) -> None:
    source = str(write(tmp_path, REPOSITORY) / "m-Q8_0.gguf")
    document, setting = looked_at(source), Setting(256)
    estimate = fit_document(document, setting, Placement(), limit=1)
    assert estimate is not None
    total = estimate["total"]
    rows = fitting_quants(document, setting, beside(source), limit=total)
    by_quant = {row["quant"]: row for row in rows}
    assert list(by_quant) == ["F16", "Q8_0", "Q4_K_M", "Q2_K", "BF16"]
    assert by_quant["Q8_0"]["total"] == total
    assert by_quant["F16"]["total"] == total + 10_000_000
    fits = {name: row["fits"] for name, row in by_quant.items()}
    assert fits == {"F16": False, "Q8_0": True, "Q4_K_M": True, "Q2_K": True, "BF16": None}
    parts = (Part("mmproj", "p", 1),)
    rows = fitting_quants(document, setting, beside(source), parts, total)
    assert [row["fits"] for row in rows] == [False, False, True, True, None]
    unknown = fitting_quants(document, setting, beside(source), (Part("draft", "d", None),), total)
    assert {row["fits"] for row in unknown} == {None}


def test_the_command_names_the_largest_that_fits(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = str(write(tmp_path, REPOSITORY) / "m-Q8_0.gguf")
    text = shown(capsys, source, "24G")
    assert "Of the 5 quants that lie here the largest that fits is m-F16.gguf." in text
    assert re.search(r"\*Q8_0 +\d\.\d\d GiB +fits +m-Q8_0\.gguf", text)
    assert re.search(r"BF16 +unknown +m-BF16-00001-of-00003\.gguf +2 shards missing", text)
    text = shown(capsys, source, "8M")
    assert "the largest that fits is m-Q8_0.gguf." in text
    assert re.search(r"F16 +\d\.\d\d GiB +too large +m-F16\.gguf", text)
    assert "none is known to fit" in shown(capsys, source, "1K")


def test_the_command_says_nothing_of_a_model_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = str(write(tmp_path, {"m-Q8_0.gguf": MODEL}) / "m-Q8_0.gguf")
    assert "lie here" not in shown(capsys, source, "24G")


def test_a_hub_that_lists_nothing_leaves_the_rest(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with FakeHub(REPOSITORY) as hub:
        monkeypatch.setenv("HF_ENDPOINT", hub.endpoint)
        text = shown(capsys, "hf://org/repo/m-Q8_0.gguf", "24G")
        assert "the largest that fits is m-F16.gguf." in text
        document = looked_at("hf://org/repo/m-Q8_0.gguf")
        monkeypatch.setattr("ggufhub.cli.show._document", lambda *_, **__: document)
        hub.commit = "not a commit"
        command = ["show", "hf://org/repo/m-Q8_0.gguf", "--memory", "--fit", "24G"]
        assert main([*command, "--allow-network", "127.0.0.0/8"]) == 0
    printed = capsys.readouterr()
    assert "It fits into 24.00 GiB." in printed.out
    assert "the quants beside it are unknown: The hub does not say" in printed.err
