"""`--server` against servers that are no ggufhub server: the command says so, and ends with 4."""

import http.client
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from ggufhub.cli import main
from ggufhub.cli.exchange import Answer
from ggufhub.errors import ServerError
from ggufhub.rules.model_samples import llama
from tests.core.scripted import Answered, scripted_server

Answers = dict[str, Answered]

CREATED: Answered = (201, {}, b'{"id": "u"}')
STORED: Answered = (204, {"Upload-Offset": str(1 << 40)}, b"")


@pytest.fixture
def serve() -> Iterator[Callable[[Answers], str]]:
    """Starts a server that answers by the first part of the path."""
    with ExitStack() as servers:

        def start(answers: Answers) -> str:
            def script(method: str, path: str) -> Answered:
                return answers[f"{method} {path.split('/')[3].partition('?')[0]}"]

            return servers.enter_context(scripted_server(script))

        yield start


def state(text: str) -> Answered:
    return 200, {}, text.encode()


DONE = state('{"id": "i", "needs": null, "state": "done", "error": null}')


@pytest.mark.parametrize(
    "answers",
    [
        {"POST uploads": state("{}")},
        {"POST uploads": state("[]")},
        {"POST uploads": state("<html>")},
        {"POST uploads": state("[" * 100_000)},
        {"POST uploads": CREATED, "PATCH uploads": (204, {}, b"")},
        {"POST uploads": CREATED, "PATCH uploads": (204, {"Upload-Offset": "\u00b2"}, b"")},
        {"POST uploads": CREATED, "PATCH uploads": STORED, "POST inspections": state("{}")},
        {
            "POST uploads": CREATED,
            "PATCH uploads": STORED,
            "POST inspections": state('{"needs": {"offset": "x", "upload": 3}}'),
        },
        {
            "POST uploads": CREATED,
            "PATCH uploads": STORED,
            "POST inspections": DONE,
            "GET reports": state("{}"),
        },
    ],
)
def test_a_stranger_is_told_from_a_ggufhub_server(
    answers: Answers,
    serve: Callable[[Answers], str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    path = tmp_path / "m.gguf"
    path.write_bytes(llama())
    assert main(["check", str(path), "--server", serve(answers)]) == 4
    assert "does not answer as a ggufhub server does" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("asked", "seconds"), [("7", 7.0), ("\u00b2", 0.6), ("", 0.6), ("-1", 0.6), ("9" * 99, 0.6)]
)
def test_how_long_to_wait(asked: str, seconds: float) -> None:
    headers = http.client.HTTPMessage()
    headers["Retry-After"] = asked
    assert Answer(429, headers, b"").retry_after(1) == pytest.approx(seconds)


def test_an_answer_without_an_offset() -> None:
    with pytest.raises(ServerError):
        Answer(204, http.client.HTTPMessage(), b"").offset()
