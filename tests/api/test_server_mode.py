"""`ggufhub check --server`: a real server and worker, and servers that do not do their part."""

import json
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from ggufhub.cli import main
from ggufhub.hub.models import Inspection, Upload
from ggufhub.rules.model_samples import llama
from tests.builders import vocabulary
from tests.core.scripted import Script, scripted_server
from tests.live import LiveWorker
from tests.shards import three_shards

Captured = pytest.CaptureFixture[str]


def reports(capsys: Captured) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(capsys.readouterr().out)["reports"]
    return found


def test_a_large_file_costs_its_header(
    live_server: Any, live_worker: LiveWorker, tmp_path: Path, capsys: Captured
) -> None:
    path = tmp_path / "large.gguf"
    header = vocabulary(120_000).build()  # more than the first mebibyte: the server asks again
    path.write_bytes(header)
    with path.open("ab") as file:
        file.truncate(3 * 1024**3)
    code = main(["check", str(path), "--server", live_server.url, "--format", "json"])
    (report,) = reports(capsys)
    assert code == 0
    assert (report["source"], report["files"][0]["size"]) == (str(path), 3 * 1024**3)
    upload = Upload.objects.get()
    assert len(header) > 1024**2
    assert upload.header_only and upload.received < 20 * 1024**2


def test_the_shards_of_a_model_become_one_inspection(
    live_server: Any, live_worker: LiveWorker, tmp_path: Path, capsys: Captured
) -> None:
    files = three_shards()
    for name, data in files.items():
        with (tmp_path / name).open("wb") as file:
            file.write(data)
            file.truncate(2**30)
    server = ["--server", live_server.url, "--format", "json"]
    for argument in (tmp_path, *(tmp_path / name for name in files)):
        main(["check", str(argument), *server])
        (report,) = reports(capsys)
        assert [file["name"] for file in report["files"]] == list(files)
    assert (Inspection.objects.count(), Upload.objects.count()) == (4, 12)
    assert max(Upload.objects.values_list("received", flat=True)) <= 1024**2


def test_a_shard_that_is_not_here_is_not_sent(
    live_server: Any, live_worker: LiveWorker, tmp_path: Path, capsys: Captured
) -> None:
    first, absent, third = three_shards()
    for name in (first, third):
        (tmp_path / name).write_bytes(three_shards()[name])
    main(["check", str(tmp_path), "--server", live_server.url, "--format", "json"])
    (report,) = reports(capsys)
    assert [file["name"] for file in report["files"]] == [first, third]
    reasons = {entry["rule"]: entry["reason"] for entry in report["not_evaluated"]}
    assert f"{absent} was not uploaded" in reasons["SPL005"]


def test_profile_policy_and_many_files(
    live_server: Any, live_worker: LiveWorker, tmp_path: Path, capsys: Captured
) -> None:
    for name in ("a", "b", "c"):
        (tmp_path / f"{name}.gguf").write_bytes(llama({"general.name": name}))
    (tmp_path / "policy.toml").write_text('required_keys = ["general.url"]\nmax_size = "1 GiB"\n')
    options = ["--profile", "load", "--policy", str(tmp_path / "policy.toml")]
    code = main(["check", str(tmp_path), "--server", live_server.url, "--format", "json", *options])
    assert code == 1
    found = reports(capsys)
    assert [report["summary"]["name"] for report in found] == ["a", "b", "c"]
    assert {f["rule"] for report in found for f in report["findings"]} == {"POL001"}
    assert {row.profile for row in Inspection.objects.all()} == {"load"}


def test_what_is_unreadable_here_or_there(
    live_server: Any, live_worker: LiveWorker, tmp_path: Path, capsys: Captured
) -> None:
    (tmp_path / "page.gguf").write_bytes(b"<html>")
    server = ["--server", live_server.url]
    assert main(["check", str(tmp_path / "page.gguf"), *server]) == 3
    assert "This is a web page" in capsys.readouterr().out
    assert main(["check", str(tmp_path / "absent.gguf"), *server]) == 3
    assert "cannot be read: No such file" in capsys.readouterr().out
    assert main(["check", "http://127.0.0.1:9/m.gguf", *server]) == 3


def test_a_server_that_wants_sign_in(
    live_server: Any, settings: Any, tmp_path: Path, capsys: Captured
) -> None:
    settings.AUTH_MODE = "required"
    path = tmp_path / "m.gguf"
    path.write_bytes(llama())
    assert main(["check", str(path), "--server", live_server.url]) == 2
    assert "the server refused (40" in capsys.readouterr().err


@pytest.fixture
def model(tmp_path: Path) -> str:
    path = tmp_path / "m.gguf"
    path.write_bytes(llama())
    return str(path)


def test_nobody_listens(model: str, capsys: Captured) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{closed.getsockname()[1]}"
        assert main(["check", model, "--server", url]) == 4
    assert "127.0.0.1 cannot be reached" in capsys.readouterr().err


def test_a_server_that_says_nothing(model: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        assert main(["check", model, "--server", url, "--timeout", "1"]) == 4


@pytest.fixture
def scripted() -> Iterator[Callable[[Script], str]]:
    """Starts a server that answers as a function of method and path says."""
    with ExitStack() as servers:
        yield lambda script: servers.enter_context(scripted_server(script)) + "/base/"


def test_a_server_in_trouble(
    model: str, scripted: Callable[[Script], str], capsys: Captured
) -> None:
    url = scripted(lambda method, path: (503, {"Retry-After": "0"}, b"{}"))
    assert main(["check", model, "--server", url]) == 4
    assert "the server answered 503" in capsys.readouterr().err


def test_something_else_answers(model: str, scripted: Callable[[Script], str]) -> None:
    url = scripted(lambda method, path: (200, {}, b"<html>"))
    assert main(["check", model, "--server", url]) == 4


def test_it_never_gets_ready(model: str, scripted: Callable[[Script], str]) -> None:
    state = {"id": "1", "state": "queued", "needs": None, "error": None}

    def script(method: str, path: str) -> tuple[int, dict[str, str], bytes]:
        assert path.startswith("/base/api/v1/")
        if method == "PATCH":
            return 204, {"Upload-Offset": "64"}, b""
        time.sleep(0.05)
        return 200, {}, json.dumps(state).encode()

    script_url = scripted(script)
    assert main(["check", model, "--server", script_url, "--timeout", "1"]) == 4


def test_an_upload_goes_on_where_the_server_says(
    model: str, scripted: Callable[[Script], str], capsys: Captured
) -> None:
    size = Path(model).stat().st_size
    seen: list[str] = []
    document: dict[str, Any] = {}

    def script(method: str, path: str) -> tuple[int, dict[str, str], bytes]:
        seen.append(method)
        if method == "PATCH":
            first = seen.count("PATCH") == 1
            return (409, {}, b"{}") if first else (204, {"Upload-Offset": str(size)}, b"")
        if method == "HEAD":
            return 200, {"Upload-Offset": "10"}, b""
        if "/reports/" in path:
            return 200, {}, json.dumps(document).encode()
        state = {"id": "1", "state": "done", "needs": None, "error": None}
        return 200, {}, json.dumps(state).encode()

    main(["check", model, "--format", "json"])
    document.update(json.loads(capsys.readouterr().out)["reports"][0])
    assert main(["check", model, "--server", scripted(script)]) == 0
    assert seen == ["POST", "PATCH", "HEAD", "PATCH", "POST", "GET"]
