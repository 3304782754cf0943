"""Command lines to check and to run a model again."""

import shlex
import subprocess
from typing import Any

import pytest

from ggufhub.hub.models import Inspection
from viewer import commands


def row(locator: str, kind: str = "url") -> Inspection:
    return Inspection(source_kind=kind, locator=locator, name="m.gguf", profile="load")


def document(**changes: Any) -> dict[str, Any]:
    form = {"name": "gguf", "byte_order": "little"}
    return {"kind": "model", "name": "it's m.gguf", "format": form} | changes


@pytest.mark.parametrize(
    ("locator", "lines"),
    [
        ("hf://org/repo/sub/m-Q4_K_M.gguf", [
            "llama-server --hf-repo org/repo --hf-file sub/m-Q4_K_M.gguf",
            "ollama run huggingface.co/org/repo",
            "lms get https://huggingface.co/org/repo",
        ]),
        ("org/repo:Q8_0", [
            "llama-server -hf org/repo:Q8_0",
            "ollama run huggingface.co/org/repo:Q8_0",
            "lms get https://huggingface.co/org/repo@Q8_0",
        ]),
        ("ollama://gemma3:270m", ["ollama run gemma3:270m"]),
        ("https://models.example/a b.gguf",
         ["llama-server --model-url 'https://models.example/a b.gguf'"]),
        ("https://models.example/a.gguf?…", []),
        ("hf://org/../x", []),
    ],
)  # fmt: skip
def test_the_programs_are_told_where_the_model_is(locator: str, lines: list[str]) -> None:
    assert [line for _, line in commands.run(row(locator), document())] == lines


def test_a_name_cannot_leave_its_quotes() -> None:
    hostile = "$(touch x);`id`'\".gguf"
    for name, line in commands.run(row(hostile, "upload"), document(name=hostile)):
        words = shlex.split(line.partition(" > ")[0])
        assert any(hostile in word for word in words), name
        shown = ["sh", "-c", f"set -- {line.partition(' > ')[0]}; printf '%s\\n' \"$@\""]
        assert hostile in subprocess.run(shown, capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize(
    "changes",
    [{"kind": "mmproj"}, {"kind": "vocab"}, {"format": {"name": "ggjt", "byte_order": "little"}},
     {"format": {"name": "gguf", "byte_order": "big"}}],
)  # fmt: skip
def test_what_does_not_run_alone_has_no_commands(changes: dict[str, Any]) -> None:
    assert commands.run(row("org/repo"), document(**changes)) == []


def test_the_same_inspection_is_asked_for_again() -> None:
    assert commands.check(row("https://a/m.gguf"), document()) == (
        "ggufhub check https://a/m.gguf --profile load --format json"
    )
    line = commands.submit(row("https://a/it's.gguf"), "http://host/api/v1/inspections")
    assert (
        '{"source": "https://a/it\'s.gguf", "profile": "load", "depth": "header"}'
        in shlex.split(line)
    )
    assert commands.submit(row("m.gguf", "upload"), "http://host/") == ""
    assert commands.submit(row("https://a/m?…"), "http://host/") == ""
