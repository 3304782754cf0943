"""Audits of places that change, lie, loop or are crowded: each model says what became of it."""

import os
import time
import tracemalloc
from pathlib import Path

import pytest

from ggufhub.audit.groups import INTEREST
from ggufhub.audit.result import AuditResult
from ggufhub.audit.run import How, audit
from ggufhub.cli import main
from ggufhub.cli.codes import INTERRUPTED
from ggufhub.limits import MIB
from ggufhub.rules.model_samples import llama
from ggufhub.sources.list_folder import list_folder
from ggufhub.sources.listed import LINKS
from tests.audit.kit import write
from tests.core.rangeserver import Handler, RangeServer

MODEL = llama()
LOCAL = How(networks=("127.0.0.0/8",))


def became(result: AuditResult) -> dict[str, str]:
    """The code of the error of each model by its name, or its verdict."""
    errors = {row["path"].rpartition("/")[2]: row["report"] for row in result.rows()}
    return {
        name: report["error"]["code"] if report["error"] else report["verdict"]
        for name, report in errors.items()
    }


def test_a_folder_that_changes_while_it_is_audited(tmp_path: Path) -> None:
    names = [f"{number}.gguf" for number in range(5)]
    write(tmp_path, dict.fromkeys(names, MODEL))

    def change(done: int, total: int) -> None:
        if done == 1:
            (tmp_path / "1.gguf").unlink()
            (tmp_path / "2.gguf").write_bytes(b"<html>")
            (tmp_path / "3.gguf").unlink()
            (tmp_path / "3.gguf").mkdir()
            (tmp_path / "9.gguf").write_bytes(MODEL)

    result = audit(str(tmp_path), LOCAL, told=change)
    assert became(result) == {
        "0.gguf": "pass",
        "1.gguf": "not_found",
        "2.gguf": "html",
        "3.gguf": "not_a_file",
        "4.gguf": "pass",
    }
    assert result.head["totals"]["models"] == 5


def test_a_server_that_loses_files_while_it_is_audited() -> None:
    with RangeServer({f"{number}.gguf": MODEL for number in range(3)}) as server:

        def change(done: int, total: int) -> None:
            server.files.pop("1.gguf", None)

        links = LINKS + "\n".join(map(server.url, list(server.files)))
        result = audit(links, LOCAL, told=change)
    assert became(result) == {"0.gguf": "pass", "1.gguf": "not_found", "2.gguf": "pass"}


def test_a_file_that_is_another_one_with_every_request() -> None:
    tags = iter(range(1000))
    long = llama({"general.description": "x" * 3 * MIB})  # more than one request brings

    def restless(handler: Handler, data: bytes) -> None:
        handler.serve(long, ETag=f'"{next(tags)}"')

    with RangeServer({"0.gguf": MODEL}, {"1.gguf": restless}) as server:
        result = audit(LINKS + "\n".join(map(server.url, ["0.gguf", "1.gguf"])), LOCAL)
    assert became(result) == {"0.gguf": "pass", "1.gguf": "changed"}


def crowd(folder: Path, count: int) -> Path:
    """``folder`` with one model among ``count`` files that are none."""
    for number in range(count):
        os.mknod(folder / f"{number}.txt")
    return write(folder, {"one.gguf": MODEL})


def test_a_hundred_thousand_other_files_take_no_time(tmp_path: Path) -> None:
    crowd(tmp_path, 100_000)
    began = time.monotonic()
    assert became(audit(str(tmp_path), LOCAL)) == {"one.gguf": "pass"}
    assert time.monotonic() - began < 10  # half a second on a machine with nothing else to do


def test_other_files_take_no_memory(tmp_path: Path) -> None:
    crowd(tmp_path, 5_000)
    tracemalloc.start()
    try:
        list_folder(tmp_path, INTEREST)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 100_000  # 20 bytes a file: none of them is kept


def test_links_out_of_the_folder_and_in_circles_are_told(tmp_path: Path) -> None:
    write(tmp_path / "outside", {"secret.gguf": MODEL})
    models = write(tmp_path / "models", {"a/one.gguf": MODEL})
    (models / "a" / "loop").symlink_to(models)
    (models / "self").symlink_to(models / "self")
    (models / "out.gguf").symlink_to(tmp_path / "outside" / "secret.gguf")
    result = audit(str(models), LOCAL)
    assert became(result) == {"one.gguf": "pass"}
    told = [(problem["path"], problem["message"]) for problem in result.head["problems"]]
    assert told == [("out.gguf", "The link leads out of the folder.")]


def test_a_checksum_file_that_points_out_of_its_folder(tmp_path: Path) -> None:
    write(tmp_path, {"secret.gguf": MODEL, "models/one.gguf": MODEL})
    digest = "ab" * 32
    lines = [
        f"{digest}  ../secret.gguf",
        f"{digest}  {tmp_path}/secret.gguf",
        f"{digest}  one.gguf",
    ]
    (tmp_path / "models" / "SHA256SUMS").write_text("\n".join(lines))
    result = audit(str(tmp_path / "models" / "SHA256SUMS"), LOCAL)
    assert became(result) == {"one.gguf": "pass"}
    assert len(result.head["problems"]) == 2
    whole = audit(str(tmp_path / "models"), LOCAL)
    assert became(whole) == {"one.gguf": "pass"}


def test_one_file_in_twenty_is_broken(tmp_path: Path) -> None:
    files = {
        f"{number:03}.gguf": MODEL[:100] if number % 20 == 7 else MODEL for number in range(60)
    }
    result = audit(str(write(tmp_path, files)), How(jobs=2))
    found = became(result)
    assert [name for name, verdict in found.items() if verdict != "pass"] == [
        "007.gguf",
        "027.gguf",
        "047.gguf",
    ]
    totals = result.head["totals"]
    assert totals["pass"] + totals["fail"] + totals["unreadable"] == totals["models"] == 60


def test_whoever_interrupts_keeps_the_last_state(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    models, state = write(tmp_path / "models", {"one.gguf": MODEL}), tmp_path / "state"
    command = ["audit", str(models), "--state", str(state), "--jobs", "1"]
    assert main(command) == 0
    before = state.read_bytes()
    write(models, {"two.gguf": MODEL, "three.gguf": MODEL})

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("ggufhub.cli.screen.Progress.of", interrupt)
    assert main(command) == INTERRUPTED
    assert state.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir() if "state" in file.name] == ["state"]
