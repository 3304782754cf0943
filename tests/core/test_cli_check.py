"""`ggufhub check`: what is checked, what counts, and where the results go."""

import hashlib
import io
import json
import os
import pty
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from ggufhub.cli import main
from ggufhub.cli.screen import colours
from ggufhub.rules.model_samples import llama
from tests.core.test_renders import SARIF, check_junit

Captured = pytest.CaptureFixture[str]


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "good.gguf").write_bytes(llama())
    (tmp_path / "warn.gguf").write_bytes(llama({"bad key": 1}))
    (tmp_path / "bad.gguf").write_bytes(llama()[:-200])
    monkeypatch.chdir(tmp_path)
    return tmp_path


def checked(capsys: Captured, *arguments: str) -> list[dict[str, Any]]:
    """The reports of a check."""
    capsys.readouterr()
    main(["check", *arguments, "--format", "json"])
    reports: list[dict[str, Any]] = json.loads(capsys.readouterr().out)["reports"]
    return reports


def sources(capsys: Captured, *arguments: str) -> list[str]:
    return [report["source"] for report in checked(capsys, *arguments)]


@pytest.mark.parametrize(("fail_on", "code"), [("error", 0), ("warning", 1), ("never", 0)])
def test_fail_on(files: Path, fail_on: str, code: int) -> None:
    assert main(["check", "warn.gguf", "--fail-on", fail_on]) == code


def test_never_still_tells_what_was_unreadable(files: Path) -> None:
    assert main(["check", "bad.gguf", "--fail-on", "never"]) == 0
    assert main(["check", "absent.gguf", "--fail-on", "never"]) == 3


def test_profiles_choose(files: Path, capsys: Captured) -> None:
    (report,) = checked(capsys, "good.gguf", "--profile", "load")
    assert (report["profile"], report["findings"]) == ("load", [])
    (report,) = checked(capsys, "good.gguf")
    assert (report["profile"], report["findings"][0]["rule"]) == ("publish", "TPL001")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--profile", "best"], "there is no profile best"),
        (["--policy", "absent.toml"], "the policy absent.toml cannot be read"),
        (["--baseline", "good.gguf"], "the baseline good.gguf is not JSON"),
        (["--baseline", "empty.json"], "does not have the schema ggufhub.baseline/1"),
        (["--expect-sha256", "abc"], "64 hexadecimal digits"),
        (["warn.gguf", "--expect-sha256", "0" * 64], "is about one file"),
        (["--jobs", "0"], "--jobs takes a number from 1"),
        (["--output", "no/such/place"], "cannot write no/such/place"),
        (["--server", "ftp://host"], "--server takes an http or https address"),
        (["no*.gguf"], "no file matches no*.gguf"),
    ],
)
def test_usage(files: Path, capsys: Captured, arguments: list[str], message: str) -> None:
    (files / "empty.json").write_text("{}")
    assert main(["check", "good.gguf", *arguments]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    "arguments", [["--also", "sarif"], ["--also", "pdf=x"], ["--fail-on", "x"]]
)
def test_usage_of_options(files: Path, arguments: list[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["check", "good.gguf", *arguments])
    assert caught.value.code == 2


def test_a_policy_asks_for_more(files: Path, capsys: Captured) -> None:
    (files / "policy.toml").write_text(
        'require_template = true\n[ignore]\nTPL001 = "asked for by POL005"\n'
    )
    (report,) = checked(capsys, "good.gguf", "--policy", "policy.toml")
    found = [finding["rule"] for finding in report["findings"]]
    assert "POL005" in found and "TPL001" not in found
    assert main(["check", "good.gguf", "--policy", "policy.toml"]) == 1
    assert "1 finding of TPL001 ignored: asked for by POL005" in capsys.readouterr().out


def test_a_baseline_lets_only_new_findings_fail(files: Path, capsys: Captured) -> None:
    check = ["check", ".", "--fail-on", "warning"]
    assert main(check) == 1
    assert main([*check, "--write-baseline", "known.json"]) == 0
    assert main([*check, "--baseline", "known.json"]) == 0
    assert "known)" in capsys.readouterr().out
    (files / "new.gguf").write_bytes(llama({"other key": 1}))
    assert main([*check, "--baseline", "known.json"]) == 1
    reports = checked(capsys, ".", "--baseline", "known.json")
    new = [f for report in reports for f in report["findings"] if not f["known"]]
    assert {finding["file"] for finding in new} == {"new.gguf"}


def test_an_expected_digest(files: Path, capsys: Captured) -> None:
    digest = hashlib.sha256((files / "good.gguf").read_bytes()).hexdigest()
    assert main(["check", "good.gguf", "--expect-sha256", digest.upper()]) == 0
    assert main(["check", "good.gguf", "--expect-sha256", "0" * 64]) == 1
    assert "STR035" in capsys.readouterr().out


def test_directories_globs_and_each_once(files: Path, capsys: Captured) -> None:
    (files / "deep").mkdir()
    (files / "deep" / "ggml-old.bin").write_bytes(llama())
    (files / "deep" / "UPPER.GGUF").write_bytes(llama())
    (files / "deep" / "weights.bin").write_bytes(b"no model")
    assert sources(capsys, "deep") == ["deep/UPPER.GGUF", "deep/ggml-old.bin"]
    assert sources(capsys, "*d.gguf", "good.gguf") == ["bad.gguf", "good.gguf"]
    assert sources(capsys, "**/*.GGUF") == ["deep/UPPER.GGUF"]
    (files / "a[1].gguf").write_bytes(llama())
    assert sources(capsys, "a[1].gguf") == ["a[1].gguf"]


def test_a_list_on_stdin(files: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch) -> None:
    (files / "a b.gguf").write_bytes(llama())
    monkeypatch.setattr("sys.stdin", io.StringIO("# ours\na b.gguf\n\n  good.gguf  \n"))
    assert sources(capsys, "-") == ["a b.gguf", "good.gguf"]


@pytest.mark.parametrize("jobs", ["1", "3"])
def test_many_files_come_in_order(files: Path, capsys: Captured, jobs: str) -> None:
    names = [f"m{number:02}.gguf" for number in range(12)]
    for name in names:
        (files / name).write_bytes(llama({"general.name": name}))
    reports = checked(capsys, *reversed(names), "--jobs", jobs)
    assert [report["source"] for report in reports] == names[::-1]
    assert [report["summary"]["name"] for report in reports] == names[::-1]


def test_a_killed_process_spoils_no_output(
    files: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ggufhub.report.run.inspect_source", lambda source, **how: os._exit(9))
    assert main(["check", "good.gguf", "bad.gguf", "--jobs", "2"]) == 3
    assert "was killed. Use --jobs 1." in capsys.readouterr().out


def test_every_format_at_once(files: Path, capsys: Captured) -> None:
    outputs = ["--also", "sarif=o.sarif", "--also", "junit=o.xml", "--also", "markdown=o.md"]
    assert main(["check", "good.gguf", "bad.gguf", "--format", "github", *outputs]) == 1
    assert capsys.readouterr().out.startswith("::")
    SARIF.validate(json.loads((files / "o.sarif").read_text()))
    assert check_junit((files / "o.xml").read_text()).attrib["failures"] == "1"
    assert "❌ fail" in (files / "o.md").read_text()


def test_text_is_grouped_by_severity(files: Path, capsys: Captured) -> None:
    main(["check", "bad.gguf", "good.gguf"])
    text = capsys.readouterr().out
    assert text.index("✗ STR032 error") < text.index("· TPL001 info")
    assert text.count("\x1b") == 0
    assert text.endswith("2 models: 1 pass, 0 warn, 1 fail, 0 unreadable\n")


def on_a_terminal(files: Path, **environment: str) -> tuple[str, str]:
    """Stdout and stderr of a check whose both are a terminal."""
    ends = [pty.openpty() for _ in range(2)]
    command = [sys.executable, "-m", "ggufhub.cli", "check", "bad.gguf", "good.gguf"]
    process = subprocess.Popen(
        command, cwd=files, stdout=ends[0][1], stderr=ends[1][1], env={**os.environ, **environment}
    )
    process.wait(60)
    texts = []
    for reader, writer in ends:
        os.close(writer)
        text = b""
        try:
            while block := os.read(reader, 65536):
                text += block
        except OSError:
            pass  # how a terminal says that everything was read
        os.close(reader)
        texts.append(text.decode())
    return texts[0], texts[1]


def test_a_terminal_gets_colours_and_progress(files: Path) -> None:
    out, progress = on_a_terminal(files)
    assert "\x1b[31m" in out
    assert "2 of 2" in progress
    assert progress.endswith("\r\x1b[K")


def test_no_color(files: Path) -> None:
    out, _ = on_a_terminal(files, NO_COLOR="1")
    assert "\x1b" not in out
    assert not colours(io.StringIO())


def test_pipes_get_neither(files: Path) -> None:
    command = [sys.executable, "-m", "ggufhub.cli", "check", "bad.gguf", "good.gguf"]
    done = subprocess.run(command, cwd=files, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (1, "")
    assert "\x1b" not in done.stdout


def test_show_memory(files: Path, capsys: Captured) -> None:
    assert main(["show", "good.gguf", "--memory"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == [
        "context", "cache", "type", "weights", "cache", "states", "compute", "total"
    ]  # fmt: skip
    assert lines[1].split()[:2] == ["128", "F16"]
    assert "weights: exact" in lines[-1]
    (files / "page.gguf").write_bytes(b"<html>")
    assert main(["show", "page.gguf", "--memory"]) == 3
    assert capsys.readouterr().out == "There is nothing to estimate.\n"


def test_the_schema_is_checked_at_all() -> None:
    with pytest.raises(jsonschema.ValidationError):
        SARIF.validate({"version": "2.1.0"})
