"""`ggufhub audit` as a keeper of models and a nightly build use it."""

import io
import json
from pathlib import Path

import pytest

from ggufhub.audit.render import AUDIT_FORMAT_NAMES
from ggufhub.audit.render.formats import AUDIT_FORMATS
from ggufhub.cli import main
from ggufhub.rules.model_samples import llama
from tests.audit.kit import write
from tests.core.rangeserver import RangeServer

MODEL = llama()


def test_a_sound_folder_is_clean(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["audit", str(write(tmp_path, {"one.gguf": MODEL}))]) == 0
    assert "1 model in 1 file: 1 pass" in capsys.readouterr().out


def test_exit_codes_tell_broken_from_unreadable(tmp_path: Path) -> None:
    write(tmp_path, {"a/one.gguf": b"GGUF", "b/two.gguf": b"<html>"})
    assert main(["audit", str(tmp_path / "a"), "--jobs", "1"]) == 1
    assert main(["audit", str(tmp_path / "a"), "--fail-on", "never"]) == 0
    assert main(["audit", str(tmp_path / "b"), "--jobs", "1"]) == 3
    assert main(["audit", str(tmp_path / "absent")]) == 3


def test_a_finding_about_the_repository_fails_too(tmp_path: Path) -> None:
    write(tmp_path, {"m-00001-of-00002.gguf": MODEL})
    assert main(["audit", str(tmp_path), "--profile", "audit"]) == 1


def test_nightly_only_regressions_fail(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    models, state = tmp_path / "models", str(tmp_path / "night.state")
    write(models, {"old.gguf": b"GGUF", "one.gguf": MODEL})
    nightly = ["audit", str(models), "--state", state, "--fail-on", "regression"]
    assert main(nightly) == 0
    assert main(nightly) == 0
    assert "Nothing changed since the last audit." in capsys.readouterr().out
    write(models, {"one.gguf": b"GGUF"})
    assert main(nightly) == 1
    assert "1 worse than last time: one.gguf" in capsys.readouterr().out
    assert main(nightly) == 0


def test_several_formats_from_one_audit(tmp_path: Path) -> None:
    write(tmp_path / "models", {"one.gguf": MODEL})
    out = tmp_path / "audit.json"
    also = [f"--also={name}={tmp_path / name}" for name in ("csv", "html", "junit", "sarif")]
    main(["audit", str(tmp_path / "models"), "--format", "json", "--output", str(out), *also])
    assert json.loads(out.read_text())["totals"]["models"] == 1
    assert (tmp_path / "csv").read_text().startswith("path,family,role,verdict")
    assert (tmp_path / "html").read_text().startswith("<!doctype html>")


def test_a_list_on_stdin(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with RangeServer({"one.gguf": MODEL}) as server:
        monkeypatch.setattr("sys.stdin", io.StringIO(server.url("one.gguf") + "\n"))
        assert main(["audit", "-", "--allow-network", "127.0.0.0/8"]) == 0
    assert "a list of links" not in capsys.readouterr().err


@pytest.mark.parametrize(
    "wrong",
    [
        ["--jobs", "0"],
        ["--profile", "absent"],
        ["--fail-on", "regression"],
        ["--policy", "/nowhere.toml"],
    ],
)
def test_wrong_use_is_told(tmp_path: Path, wrong: list[str]) -> None:
    assert main(["audit", str(tmp_path), *wrong]) == 2


@pytest.mark.parametrize("wrong", [["--min-size", "big"], ["--also", "csv"], ["--also", "x=y"]])
def test_wrong_arguments_are_told(tmp_path: Path, wrong: list[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["audit", str(tmp_path), *wrong])
    assert caught.value.code == 2


def test_the_names_of_the_formats_are_those_of_the_formats() -> None:
    assert tuple(AUDIT_FORMATS) == AUDIT_FORMAT_NAMES
