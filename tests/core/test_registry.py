"""Registry names, and reading from a registry on loopback."""

import hashlib

import pytest

from ggufhub.errors import SourceError
from ggufhub.report.build import inspect
from ggufhub.sources.base import Digest
from ggufhub.sources.open import open_remote
from ggufhub.sources.registry_names import (
    REGISTRY,
    RegistryName,
    parse_registry_name,
    registry_base,
)
from tests.builders import Gguf, small_model
from tests.core import rangeserver
from tests.core.fakeregistry import IMAGE, FakeRegistry
from tests.core.rangeserver import LOOPBACK, RangeServer

MODEL = small_model().build()
TEMPLATED = Gguf().key("general.architecture", "llama").key("tokenizer.chat_template", "{{ a }}")
DIGEST = "ab" * 32
DOCKER = "https://registry-1.docker.io"

# Names


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("ollama://llama3", RegistryName(REGISTRY, "library", "llama3")),
        ("ollama://llama3:8b-q4", RegistryName(REGISTRY, "library", "llama3", "8b-q4")),
        ("ollama://me/llama3:x", RegistryName(REGISTRY, "me", "llama3", "x")),
        ("ollama://r.example.org:5000/me/m", RegistryName("https://r.example.org:5000", "me", "m")),
        ("ollama://r.example.org/m:t", RegistryName("https://r.example.org", "library", "m", "t")),
        ("ollama://registry-1.docker.io/ai/smol", RegistryName(DOCKER, "ai", "smol")),
        (
            f"ollama://llama3@sha256:{DIGEST}",
            RegistryName(REGISTRY, "library", "llama3", f"sha256:{DIGEST}"),
        ),
        ("https://ollama.com/library/qwen3:8b", RegistryName(REGISTRY, "library", "qwen3", "8b")),
    ],
)
def test_names(text: str, name: RegistryName) -> None:
    assert parse_registry_name(text) == name


@pytest.mark.parametrize("text", ["hf://a/b", "https://ollama.com/blog", "llama3", "a/b:c"])
def test_what_is_no_registry_name(text: str) -> None:
    assert parse_registry_name(text) is None


@pytest.mark.parametrize(
    "text",
    [
        "ollama://",
        "ollama://a/b/c/d",
        "ollama://a/../b",
        "ollama://a b",
        "ollama://m@sha256:12",
        "ollama://u@example.org/a/m",
        "ollama://exa mple.org/a/m",
    ],
)
def test_broken_names(text: str) -> None:
    with pytest.raises(SourceError) as caught:
        parse_registry_name(text)
    assert caught.value.code == "registry_name"


def test_the_registry_of_the_environment() -> None:
    assert registry_base({}) == REGISTRY
    assert registry_base({"OLLAMA_REGISTRY": "r.example.org/"}) == "https://r.example.org"
    name = parse_registry_name("ollama://127.0.0.1:5000/a/m", "http://127.0.0.1:5000")
    assert name is not None
    assert (name.base, name.locator) == (
        "http://127.0.0.1:5000",
        "ollama://127.0.0.1:5000/a/m:latest",
    )


# Reading


def test_the_model_layer_is_read_by_range_and_declared_by_the_registry() -> None:
    layers = [(f"{IMAGE}license", b"MIT"), (f"{IMAGE}model", MODEL), (f"{IMAGE}projector", b"x")]
    with FakeRegistry(layers) as registry, registry.open() as source:
        identity = source.identity
        assert (identity.name, identity.size) == ("tiny:latest", len(MODEL))
        digest = hashlib.sha256(MODEL).hexdigest()
        assert identity.digests == (Digest("sha256", digest, "declared by registry"),)
        assert [(layer.kind, layer.text) for layer in identity.layers] == [
            ("license", "MIT"),
            ("projector", None),
        ]
        assert source.read(0, len(MODEL)) == MODEL
        assert registry.registry.requests[0].headers["user-agent"].startswith("ollama/")
        assert [hop.status for hop in identity.hops] == [307, 206]


def test_layers_are_in_the_report_and_compared_with_the_model() -> None:
    layers = [(f"{IMAGE}model", TEMPLATED.build()), (f"{IMAGE}template", b"{{ b }}")]
    with FakeRegistry(layers) as registry, registry.open() as source:
        document = inspect(source).document
    assert document["layers"][0]["text"] == "{{ b }}"
    assert document["layers"][0]["media_type"] == f"{IMAGE}template"
    finding = next(f for f in document["findings"] if f["rule"] == "PRV006")
    assert finding["severity"] == "warning"
    assert document["reads"]["requests"] == len(registry.registry.requests) + len(
        registry.cdn.requests
    )


@pytest.mark.parametrize(
    ("template", "severity"),
    [
        (b"{{ a }}\n", None),
        (b"{{ if .System }}{{ .System }}{{ end }}", "info"),
        (b"{{- range .Messages }}", "info"),
        (b"{{ other }}", "warning"),
    ],
)
def test_how_templates_differ(template: bytes, severity: str | None) -> None:
    layers = [(f"{IMAGE}model", TEMPLATED.build()), (f"{IMAGE}template", template)]
    with FakeRegistry(layers) as registry, registry.open() as source:
        findings = inspect(source).document["findings"]
    found = [finding["severity"] for finding in findings if finding["rule"] == "PRV006"]
    assert found == ([severity] if severity else [])


def test_a_layer_that_is_not_what_its_digest_says() -> None:
    layers = [(f"{IMAGE}model", MODEL), (f"{IMAGE}system", b"Be kind.")]
    with FakeRegistry(layers) as registry, registry.open() as source:
        registry.cdn.files[hashlib.sha256(b"Be kind.").hexdigest()] = b"Be evil."
        findings = inspect(source).document["findings"]
    finding = next(finding for finding in findings if finding["rule"] == "STR035")
    assert "system" in finding["message"]


def test_an_oci_registry_with_gguf_layers() -> None:
    layers = [("application/vnd.docker.ai.gguf.v3", MODEL)]
    registry = FakeRegistry(layers, repository="ai/tiny")
    with registry, registry.open("ollama://ai/tiny") as source:
        assert source.read(0, 4) == b"GGUF"


# Tokens


def test_a_token_is_fetched_and_sent_to_the_registry_only() -> None:
    with FakeRegistry([(f"{IMAGE}model", MODEL)], token="t0ken") as registry:
        with registry.open() as source:
            assert source.read(0, 4) == b"GGUF"
        asked = [request.path for request in registry.registry.requests]
        assert asked[1].startswith("/token?service=registry&scope=repository")
        sent = [request.headers.get("authorization") for request in registry.registry.requests]
        assert sent == [None, None, "Bearer t0ken", "Bearer t0ken"]
        assert all("authorization" not in request.headers for request in registry.cdn.requests)


def test_the_realm_of_another_host_is_not_asked() -> None:
    with RangeServer({"token": b"{}"}) as other:
        realm = other.url("token")
        with FakeRegistry([(f"{IMAGE}model", MODEL)], token="t", realm=realm) as registry:
            with registry.open() as source, pytest.raises(SourceError) as caught:
                source.read(0, 4)
            assert caught.value.code == "realm"
        assert other.requests == []


# Trouble


@pytest.mark.parametrize(
    ("manifest", "code"),
    [
        ({}, "bad_answer"),
        ([], "bad_answer"),
        ({"layers": [{}]}, "bad_answer"),
        ({"layers": [{"mediaType": "x", "size": -1, "digest": f"sha256:{DIGEST}"}]}, "bad_answer"),
        ({"layers": [{"mediaType": "x", "size": 1, "digest": "sha256:../x"}]}, "bad_answer"),
        ({"layers": []}, "not_gguf"),
        (
            {"layers": [{"mediaType": f"{IMAGE}tensor", "size": 1, "digest": f"sha256:{DIGEST}"}]},
            "not_gguf",
        ),
    ],
)
def test_senseless_manifests(manifest: object, code: str) -> None:
    with FakeRegistry([(f"{IMAGE}model", MODEL)]) as registry, registry.open() as source:
        registry.manifest = manifest
        with pytest.raises(SourceError) as caught:
            source.read(0, 4)
    assert caught.value.code == code


def test_a_blob_of_another_size() -> None:
    with FakeRegistry([(f"{IMAGE}model", MODEL)]) as registry, registry.open() as source:
        registry.cdn.files[hashlib.sha256(MODEL).hexdigest()] = MODEL + b"x"
        assert inspect(source).document["error"]["code"] == "bad_range"


def test_an_unknown_model() -> None:
    registry = FakeRegistry([(f"{IMAGE}model", MODEL)])
    with (
        registry,
        registry.open("ollama://absent") as source,
        pytest.raises(SourceError) as caught,
    ):
        source.read(0, 4)
    assert caught.value.code == "not_found"


def test_a_busy_registry_says_when_to_come_back() -> None:
    with FakeRegistry([(f"{IMAGE}model", MODEL)]) as registry:
        place = "v2/library/tiny/manifests/latest"
        registry.registry.behaviours[place] = rangeserver.fixed(503, Retry_After="9")
        with registry.open() as source:
            assert inspect(source).retry_after == 9


def test_names_are_routed() -> None:
    with FakeRegistry([(f"{IMAGE}model", MODEL)]) as registry:
        environment = {"OLLAMA_REGISTRY": registry.base}
        with open_remote("ollama://tiny", policy=LOOPBACK, environment=environment) as source:
            assert source.read(0, 4) == b"GGUF"
