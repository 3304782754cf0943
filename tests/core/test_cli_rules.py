"""`ggufhub rules`, the generated page, and the Python call."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

import ggufhub
from ggufhub.cli import main
from ggufhub.errors import UsageError
from ggufhub.rules.catalogue import catalogue_markdown
from ggufhub.rules.model_samples import llama
from ggufhub.rules.registry import catalogue

DOCS = Path(__file__).parent.parent.parent / "docs"

Captured = pytest.CaptureFixture[str]


def test_the_page_is_current() -> None:
    page = (DOCS / "rules.md").read_text()
    assert page == catalogue_markdown(), "ggufhub rules --format markdown --output docs/rules.md"


def test_the_list(capsys: Captured) -> None:
    assert main(["rules"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == len(catalogue())
    assert lines[0] == "STR001  error    Too short to be a model"


def test_one_rule(capsys: Captured) -> None:
    assert main(["rules", "tok002"]) == 0
    text = capsys.readouterr().out
    assert text.startswith("TOK002 Vocabulary and embedding differ in size (error, invalid)\n")
    assert "Profiles: publish, load\n" in text
    main(["rules", "POL001"])
    assert "Profiles: where the policy asks\n" in capsys.readouterr().out


def test_json(capsys: Captured) -> None:
    main(["rules", "--format", "json"])
    assert [rule["id"] for rule in json.loads(capsys.readouterr().out)] == [
        rule.id for rule in catalogue()
    ]
    main(["rules", "STR001", "--format", "json"])
    assert json.loads(capsys.readouterr().out)["area"] == "Structure"


def test_markdown(capsys: Captured) -> None:
    main(["rules", "STR001", "--format", "markdown"])
    assert capsys.readouterr().out.startswith("### STR001 Too short to be a model\n")


def test_the_python_call(tmp_path: Path) -> None:
    path = tmp_path / "m.gguf"
    path.write_bytes(llama())
    document = ggufhub.inspect(path, profile="load", policy={"require_template": True})
    assert document["schema"] == "ggufhub.report/1"
    assert [finding["rule"] for finding in document["findings"]] == ["POL005"]
    assert ggufhub.inspect(tmp_path / "absent.gguf")["verdict"] == "unreadable"
    assert ggufhub.inspect(path, expect_sha256="0" * 64)["verdict"] == "fail"
    with pytest.raises(UsageError):
        ggufhub.inspect(path, profile="best")
    policy = tmp_path / "policy.toml"
    policy.write_text("max_size = 10")
    assert ggufhub.inspect(path, policy=policy)["verdict"] == "fail"


def test_the_example_of_the_docs_runs(tmp_path: Path) -> None:
    (tmp_path / "model.gguf").write_bytes(llama())
    code = (DOCS / "python.md").read_text().split("```python\n")[1].split("```")[0]
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "info TPL001" in done.stdout


def test_importing_loads_nothing() -> None:
    code = "import sys, ggufhub; print([n for n in sys.modules if n.startswith('ggufhub')])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout == "['ggufhub']\n"
    assert not hasattr(ggufhub, "nothing")
