"""The documentation says what the code does."""

import re
import shlex
from pathlib import Path

import pytest

from ggufhub.cli import main
from ggufhub.rules.model_samples import llama

ROOT = Path(__file__).parents[2]

VARIABLE = re.compile(r"GGUFHUB_[A-Z]+(?:_[A-Z]+)*")

FOR_TESTS = {"GGUFHUB_TEST_DB", "GGUFHUB_CORPUS", "GGUFHUB_CHROMIUM"}


def variables(text: str) -> set[str]:
    return {name.removesuffix("_FILE") for name in VARIABLE.findall(text)} - FOR_TESTS


def test_every_variable_is_documented_and_exists() -> None:
    code = [*ROOT.glob("ggufhub/**/*.py"), *ROOT.glob("workers/*.py")]
    used = set().union(*(variables(path.read_text()) for path in code))
    assert variables((ROOT / "docs" / "configuration.md").read_text()) == used


def commands() -> list[str]:
    found = re.findall(r"^\$ (ggufhub [^#\n]+)", (ROOT / "README.md").read_text(), re.MULTILINE)
    return [command.strip() for command in found]


@pytest.mark.parametrize("command", commands())
def test_commands_of_the_readme_work(
    command: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "models").mkdir()
    for place in ("model.gguf", "models/other.gguf"):
        (tmp_path / place).write_bytes(llama())
    monkeypatch.chdir(tmp_path)
    assert main(shlex.split(command)[1:]) == 0
    assert capsys.readouterr().out


def test_the_readme_has_commands_and_links_that_exist() -> None:
    assert len(commands()) >= 5
    text = (ROOT / "README.md").read_text()
    for target in re.findall(r"\]\(((?!http)[^)#]+)", text):
        assert (ROOT / target).exists(), target
