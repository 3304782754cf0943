"""`ggufhub check --depth full` and `--expect-sha256`: exit 0 means that it was verified."""

import hashlib
import json
import struct
from pathlib import Path
from typing import Any

import pytest

from ggufhub.cli import main
from ggufhub.limits import MIB
from ggufhub.rules.model_samples import llama
from ggufhub.rules.samples import Gguf
from tests.core.rangeserver import RangeServer

Captured = pytest.CaptureFixture[str]

PADDED = llama() + bytes(3 * MIB)
"""Larger than what a check of the header reads."""

SHA256 = hashlib.sha256(PADDED).hexdigest()
NETWORK = ["--allow-network", "127.0.0.0/8"]


@pytest.fixture
def path(tmp_path: Path) -> str:
    path = tmp_path / "model.gguf"
    path.write_bytes(PADDED)
    return str(path)


@pytest.fixture
def broken(tmp_path: Path) -> str:
    data = struct.pack("<4f", 1.0, 2.0, float("nan"), 3.0)
    model = Gguf(data=data).key("general.architecture", "llama").tensor("output_norm.weight", (4,))
    path = tmp_path / "broken.gguf"
    path.write_bytes(model.build())
    return str(path)


def checked(capsys: Captured, *arguments: str) -> tuple[int, dict[str, Any]]:
    """The exit code and the one report."""
    capsys.readouterr()
    code = main(["check", *arguments, "--format", "json"])
    (report,) = json.loads(capsys.readouterr().out)["reports"]
    return code, report


def finding(report: dict[str, Any], rule: str) -> dict[str, Any]:
    (found,) = [finding for finding in report["findings"] if finding["rule"] == rule]
    return dict(found)


def test_weights_are_looked_at_when_asked(broken: str, capsys: Captured) -> None:
    _, report = checked(capsys, broken)
    assert "QNT010" in [entry["rule"] for entry in report["not_evaluated"]]
    assert report["depth"] == "header"
    _, report = checked(capsys, broken, "--depth", "full")
    found = finding(report, "QNT010")
    assert (found["severity"], found["place"]["tensor"]) == ("warning", "output_norm.weight")
    assert "value 2" in found["message"]
    assert report["depth"] == "full"
    assert main(["check", broken, "--depth", "full", "--profile", "load"]) == 1


def test_a_digest_that_was_verified_and_one_that_is_wrong(path: str, capsys: Captured) -> None:
    code, report = checked(capsys, path, "--expect-sha256", SHA256)
    assert (code, report["depth"]) == (0, "full")
    bases = {digest["basis"] for digest in report["files"][0]["digests"]}
    assert bases == {"expected by you", "computed from all bytes"}
    code, report = checked(capsys, path, "--expect-sha256", "ab" * 32)
    assert code == 1
    assert finding(report, "STR035")["actual"] == SHA256


def test_a_byte_at_the_end_changes_the_digest(path: str) -> None:
    with open(path, "r+b") as file:
        file.seek(-1, 2)
        file.write(b"\1")
    assert main(["check", path, "--expect-sha256", SHA256]) == 1


def test_a_link_is_not_verified_by_its_header(capsys: Captured, monkeypatch: Any) -> None:
    with RangeServer({"model.gguf": PADDED}) as server:
        monkeypatch.setenv("GGUFHUB_ALLOWED_PORTS", str(server.port))
        link = [server.url("model.gguf"), *NETWORK, "--expect-sha256", SHA256]
        code, report = checked(capsys, *link)
        assert (code, report["depth"]) == (1, "header")
        assert "could not be verified" in finding(report, "STR035")["message"]
        code, report = checked(capsys, *link, "--depth", "full")
        assert (code, report["depth"]) == (0, "full")
        assert "STR035" not in [entry["rule"] for entry in report["findings"]]


def test_text_says_what_was_not_verified(capsys: Captured, monkeypatch: Any) -> None:
    with RangeServer({"model.gguf": PADDED}) as server:
        monkeypatch.setenv("GGUFHUB_ALLOWED_PORTS", str(server.port))
        assert main(["check", server.url("model.gguf"), *NETWORK, "--expect-sha256", SHA256]) == 1
    out = capsys.readouterr().out
    assert "could not be verified" in out and "depth full" in out


def test_a_server_never_gets_every_byte(path: str, capsys: Captured) -> None:
    arguments = ["check", path, "--server", "http://127.0.0.1:1", "--depth", "full"]
    assert main(arguments) == 2
    assert "whole file" in capsys.readouterr().err


def test_several_files_at_depth_full(path: str, broken: str, capsys: Captured) -> None:
    capsys.readouterr()
    main(["check", path, broken, "--depth", "full", "--format", "json"])
    reports = json.loads(capsys.readouterr().out)["reports"]
    values = [report["files"][0]["digests"][0]["value"] for report in reports]
    assert values == [SHA256, hashlib.sha256(Path(broken).read_bytes()).hexdigest()]
