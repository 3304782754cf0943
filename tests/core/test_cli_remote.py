"""The command on names of hubs and registries."""

import hashlib
import json

import pytest

from ggufhub.cli import main
from tests.builders import small_model
from tests.core.fakehub import FakeHub
from tests.core.fakeregistry import IMAGE, FakeRegistry

MODEL = small_model().build()
SHA256 = hashlib.sha256(MODEL).hexdigest()
NETWORK = ["--allow-network", "127.0.0.0/8"]


def test_check_of_a_repository(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with FakeHub({"m-Q8_0.gguf": MODEL, "m-F16.gguf": b"GGUF"}) as hub:
        monkeypatch.setenv("HF_ENDPOINT", hub.endpoint)
        main(["check", "org/repo", "--expect-sha256", SHA256.upper(), *NETWORK])
        printed = capsys.readouterr().out
        assert "Of 2 models, llama.cpp's -hf would load m-Q8_0.gguf" in printed
        assert "STR035" not in printed
        assert main(["check", "hf://org/repo", "--expect-sha256", "0" * 64, *NETWORK]) == 1
        assert "STR035" in capsys.readouterr().out


def test_a_choice_that_is_not_clear_lists_what_there_is(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with FakeHub({"m-Q8_0.gguf": MODEL, "m-F16.gguf": MODEL}) as hub:
        monkeypatch.setenv("HF_ENDPOINT", hub.endpoint)
        assert main(["check", "org/repo:Q2_K", *NETWORK]) == 3
    assert "m-Q8_0.gguf, m-F16.gguf" in capsys.readouterr().out


def test_check_of_a_registry_name_prints_its_layers(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    layers = [(f"{IMAGE}model", MODEL), (f"{IMAGE}license", b"MIT")]
    with FakeRegistry(layers) as registry:
        monkeypatch.setenv("OLLAMA_REGISTRY", registry.base)
        main(["check", "ollama://tiny", "--format", "json", *NETWORK])
    report = json.loads(capsys.readouterr().out)["reports"][0]
    assert report["layers"][0]["text"] == "MIT"
    assert [digest["basis"] for digest in report["files"][0]["digests"]] == [
        "declared by registry",
        "computed from all bytes",
    ]


def test_a_token_is_nowhere_in_the_output(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with FakeHub({"m.gguf": MODEL}, token="hf_secret") as hub:
        monkeypatch.setenv("HF_ENDPOINT", hub.endpoint)
        monkeypatch.setenv("HF_TOKEN", "hf_secret")
        main(["check", "org/repo", "--format", "json", *NETWORK])
        monkeypatch.setenv("HF_TOKEN", "hf_secret2")
        main(["check", "org/repo", "--format", "json", *NETWORK])
    captured = capsys.readouterr()
    assert "hf_secret" not in captured.out + captured.err
