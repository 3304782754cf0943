"""A release: 25 quants of one model, two of them broken, through every door a pipeline has."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from ggufhub.cli import main
from ggufhub.rules.model_samples import llama
from tests.core.test_renders import SARIF, check_junit
from tests.live import LiveWorker

ROOT = Path(__file__).parent.parent.parent
RECIPES = ROOT / "docs" / "ci"

CUT, SWAPPED = "model-07.gguf", "model-19.gguf"
"""One is cut short; the other has a vocabulary that does not fit its embedding."""


@pytest.fixture
def release(tmp_path: Path) -> Path:
    """A folder of 25 models."""
    folder = tmp_path / "release"
    folder.mkdir()
    for number in range(25):
        data = llama({"general.name": f"Model {number}"})
        (folder / f"model-{number:02}.gguf").write_bytes(data)
    (folder / CUT).write_bytes((folder / CUT).read_bytes()[:-300])
    (folder / SWAPPED).write_bytes(llama(tensors={"token_embd.weight": ((32, 20), 0)}))
    return folder


def failing(documents: list[dict[str, Any]]) -> dict[str, set[str]]:
    """The error rules by name of the model."""
    found: dict[str, set[str]] = {}
    for document in documents:
        rules = {f["rule"] for f in document["findings"] if f["severity"] == "error"}
        if rules:
            found[document["name"]] = rules
    return found


def test_by_the_command(release: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", str(release), "--profile", "load", "--format", "json"]) == 1
    document = json.loads(capsys.readouterr().out)
    broken = failing(document["reports"])
    assert (document["verdict"], len(document["reports"])) == ("fail", 25)
    assert set(broken) == {CUT, SWAPPED}
    assert "STR032" in broken[CUT]
    assert "TOK002" in broken[SWAPPED]


def test_by_the_server(
    release: Path,
    live_server: Any,
    live_worker: LiveWorker,
    capsys: pytest.CaptureFixture[str],
) -> None:
    check = ["check", str(release), "--profile", "load", "--format", "json"]
    main(check)
    here = failing(json.loads(capsys.readouterr().out)["reports"])
    assert main([*check, "--server", live_server.url]) == 1
    assert failing(json.loads(capsys.readouterr().out)["reports"]) == here


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """A clean environment in which `ggufhub` is this one."""
    folder = tmp_path / "bin"
    folder.mkdir()
    command = folder / "ggufhub"
    command.write_text(f'#!/bin/sh\nexec {sys.executable} -m ggufhub.cli "$@"\n')
    command.chmod(0o755)
    kept = {name: os.environ[name] for name in ("HOME", "LANG") if name in os.environ}
    return {**kept, "PATH": f"{folder}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT)}


def shell(
    script: str, cwd: Path, environment: dict[str, str]
) -> "subprocess.CompletedProcess[str]":
    command = ["bash", "-e", "-c", script]
    return subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True)


def test_the_github_action(release: Path, tmp_path: Path, environment: dict[str, str]) -> None:
    action = yaml.safe_load((RECIPES / "action.yml").read_text())
    step = action["runs"]["steps"][1]
    inputs = {name: entry["default"] for name, entry in action["inputs"].items()}
    inputs["paths"] = "release"
    for name, value in step["env"].items():
        named = re.fullmatch(r"\$\{\{ inputs\.([\w-]+) \}\}", value)
        environment[name] = value if named is None else inputs[named[1]]
    summary = tmp_path / "summary.md"
    environment |= {"GITHUB_STEP_SUMMARY": str(summary), "GITHUB_ACTION_PATH": str(RECIPES)}
    done = shell(step["run"], tmp_path, environment)
    assert done.returncode == 1
    assert f"::error file=release/{CUT},title=STR032 " in done.stdout
    assert done.stdout.endswith("25 models: 23 pass, 0 warn, 2 fail, 0 unreadable\n")
    assert summary.read_text().startswith("### 25 models: 23 pass")
    log = json.loads((tmp_path / "ggufhub.sarif").read_text())
    SARIF.validate(log)
    places = {r["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
              for r in log["runs"][0]["results"] if r["level"] == "error"}  # fmt: skip
    assert places == {f"release/{CUT}", f"release/{SWAPPED}"}


def test_the_gitlab_script(release: Path, tmp_path: Path, environment: dict[str, str]) -> None:
    shutil.move(release, tmp_path / "models")
    (tmp_path / "policy.toml").write_text('required_keys = ["general.name"]\n')
    page = (RECIPES / "gitlab.md").read_text()
    job = yaml.safe_load(page.split("```yaml\n")[1].split("```")[0])["check-models"]
    lines = [line for line in job["script"] if not line.startswith("pip ")]
    done = shell("\n".join(lines), tmp_path, environment)
    assert done.returncode == 1
    root = check_junit((tmp_path / job["artifacts"]["reports"]["junit"]).read_text())
    assert len(root) == 25
    assert {suite.attrib["name"] for suite in root if suite.attrib["failures"] != "0"} == {
        f"models/{CUT}", f"models/{SWAPPED}"
    }  # fmt: skip
    script = page.split("```sh\n")[1].split("```")[0]
    (tmp_path / "docs").symlink_to(ROOT / "docs")
    assert shell(script, tmp_path, environment).returncode == 1


def test_the_pre_commit_hook(release: Path, environment: dict[str, str]) -> None:
    (hook,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
    names = [path.name for path in release.iterdir() if re.search(hook["files"], path.name)]
    assert len(names) == 25
    done = shell(f"{hook['entry']} {' '.join(sorted(names))}", release, environment)
    assert done.returncode == 1
    good = [name for name in names if name not in (CUT, SWAPPED)]
    assert shell(f"{hook['entry']} {' '.join(good)}", release, environment).returncode == 0


def test_the_curl_recipes(
    live_server: Any, live_worker: LiveWorker, tmp_path: Path, environment: dict[str, str]
) -> None:
    (tmp_path / "model.gguf").write_bytes(llama())
    blocks = re.findall(r"```sh\n(.*?)```", (RECIPES / "curl.md").read_text(), re.DOTALL)
    link, whole, header, exports = blocks
    environment |= {"SERVER": live_server.url, "LINK": "https://nowhere.invalid/m.gguf"}
    answers = []
    for block in (link, whole, header):
        done = shell(block, tmp_path, environment)
        assert done.returncode == 0, done.stderr
        answers.append(json.loads(done.stdout))
    assert answers[0]["state"] in ("done", "failed")  # there is no such host
    assert [answer["report"]["verdict"] for answer in answers[1:]] == ["pass", "pass"]
    ids = {"ID": answers[1]["id"], "OTHER": answers[2]["id"]}
    done = shell(exports, tmp_path, {**environment, **ids})
    assert done.returncode == 0, done.stderr
    assert "gguf: pass" in (tmp_path / "badge.svg").read_text()
    assert "No differences" in done.stdout
