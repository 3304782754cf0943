"""The command: output, exit codes, and that it starts without the web."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from ggufhub.cli import main
from ggufhub.rules.model_samples import llama
from tests.builders import Gguf, small_model


@pytest.fixture
def files(tmp_path: Path) -> Path:
    (tmp_path / "good.gguf").write_bytes(llama())
    (tmp_path / "bad.gguf").write_bytes(llama()[:-200])
    (tmp_path / "page.gguf").write_bytes(b"<html>")
    (tmp_path / "warn.gguf").write_bytes(llama({"bad key": 1}))
    return tmp_path


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["good.gguf"], 0),
        (["bad.gguf"], 1),
        (["page.gguf"], 3),
        (["absent.gguf"], 3),
        (["warn.gguf"], 0),
        (["warn.gguf", "--fail-on", "warning"], 1),
    ],
)
def test_exit_codes(
    files: Path, arguments: list[str], code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(files)
    assert main(["check", *arguments]) == code


def test_usage_errors_exit_with_2(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["check"])
    assert caught.value.code == 2
    (files / "empty").mkdir()
    assert main(["check", str(files / "empty")]) == 2
    assert main(["rules", "XYZ1"]) == 2
    assert "there is no rule XYZ1" in capsys.readouterr().err


def test_check_prints_the_contract(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["check", str(files / "good.gguf"), str(files / "bad.gguf"), "--format", "json"])
    printed = json.loads(capsys.readouterr().out)
    assert (printed["schema"], printed["verdict"]) == ("ggufhub.check/1", "fail")
    good, bad = printed["reports"]
    assert good["verdict"] == "pass"
    assert bad["findings"][0]["rule"] == "STR032"
    assert set(bad["format"]) == {
        "name", "version", "byte_order", "alignment", "kv_count", "tensor_count", "data_offset"
    }  # fmt: skip
    assert "metadata" not in bad


def test_show_adds_the_contents(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", str(files / "good.gguf"), "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed["metadata"][0] == {
        "key": "general.architecture",
        "type": "string",
        "value": "llama",
        "offset": 24,
        "length": 45,
    }
    assert printed["tensors"][0]["shape"] == [32, 16]


def test_text_tells_places_and_fixes(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["check", str(files / "bad.gguf")])
    text = capsys.readouterr().out
    assert "STR032" in text
    assert "tensor blk.1.ffn_down.weight" in text
    assert "fix: Fetch the file again" in text
    assert "\x1b" not in text


def test_control_characters_never_reach_the_terminal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "m.gguf"
    path.write_bytes(Gguf().key("general.name", "\x1b[31m\u202egpj").tensor("\x1b]0;x\x07").build())
    for arguments in (["show"], ["show", "--tensors"], ["check"]):
        main([*arguments, str(path)])
    text = capsys.readouterr().out
    assert "\\u{1B}[31m\\u{202E}gpj" in text
    assert "\x1b" not in text
    assert "\u202e" not in text


def test_directories_expand_and_shards_are_one_model(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for number in (1, 2):
        shard = small_model() if number == 1 else Gguf().tensor("b")
        (tmp_path / f"m-0000{number}-of-00002.gguf").write_bytes(shard.build())
    (tmp_path / "other.gguf").write_bytes(small_model().build())
    main(["check", str(tmp_path), "--format", "json"])
    assert len(json.loads(capsys.readouterr().out)["reports"]) == 2


def test_output_goes_to_a_file(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = files / "report.json"
    main(["check", str(files / "good.gguf"), "--format", "json", "--output", str(out)])
    assert capsys.readouterr().out == ""
    assert json.loads(out.read_text())["schema"] == "ggufhub.check/1"


def test_a_url_that_is_refused_is_unreadable(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "http://127.0.0.1:9/m.gguf"]) == 3
    assert "127.0.0.1" in capsys.readouterr().out


@pytest.mark.parametrize("module", ["django", "celery", "redis", "rest_framework", "numpy"])
def test_a_small_check_loads_nothing_heavy(files: Path, module: str) -> None:
    code = (
        "import sys; from ggufhub.cli import main; "
        f"code = main(['check', {str(files / 'good.gguf')!r}]); "
        f"sys.exit(9 if {module!r} in sys.modules else code)"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True).returncode == 0
