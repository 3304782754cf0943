"""Names of hubs and registries: one grammar for the command, the pages and the sources."""

from pathlib import Path

import pytest

from ggufhub.cli.targets import expand
from ggufhub.errors import SourceError, UsageError
from ggufhub.integrity.expected import expected_digests
from ggufhub.names import HubName, RegistryName, parse_name
from ggufhub.report.run import inspect_source
from ggufhub.sources.open import is_remote


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("hf://a/b", HubName("a/b")),
        ("a/b:Q4_K_M", HubName("a/b", tag="Q4_K_M")),
        ("https://huggingface.co/a/b/blob/main/m.gguf", HubName("a/b", "main", "m.gguf")),
        ("ollama://gemma:2b", RegistryName("https://registry.ollama.ai", "library", "gemma", "2b")),
        ("https://example.org/m.gguf", None),
        ("models/m.gguf", None),
        ("m", None),
    ],
)
def test_names(text: str, name: HubName | RegistryName | None) -> None:
    assert parse_name(text) == name


@pytest.mark.parametrize(
    ("text", "code"), [("hf://a", "hub_name"), ("ollama://a/b/c/d", "registry_name")]
)
def test_what_begins_as_a_name_and_goes_wrong(text: str, code: str) -> None:
    with pytest.raises(SourceError) as caught:
        parse_name(text)
    assert caught.value.code == code


LONG = "a/" + "b" * 5_000


@pytest.mark.parametrize("text", [LONG, "a\0/b", "hf.co/..", "\ud800/x", LONG + "*"])
def test_whatever_is_typed_ends_as_a_report(text: str) -> None:
    is_remote(text)
    assert expand([text]) == [text] if "*" not in text else True
    assert inspect_source(text, networks=()).verdict == "unreadable"


def test_a_name_that_goes_wrong_is_told_when_it_is_opened() -> None:
    assert is_remote("hf.co/a//b")
    error = inspect_source("hf.co/a//b").document["error"]
    assert error["code"] == "hub_name"


def test_a_folder_nobody_may_look_into(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(path: object) -> None:
        raise PermissionError(13, "Permission denied")

    path = str(tmp_path / "x" / "m.gguf")
    monkeypatch.setattr("os.stat", refused)
    assert not is_remote(path)
    assert expand([path]) == [path]


def test_expected_digests() -> None:
    digest = "AB" * 32
    assert expected_digests(None) == {}
    assert expected_digests(f" {digest}\n") == {"sha256": digest.lower()}
    for wrong in ("", "ab", "g" * 64, "\u0661" * 64, digest + "0"):
        with pytest.raises(UsageError, match="64 hexadecimal digits"):
            expected_digests(wrong)
