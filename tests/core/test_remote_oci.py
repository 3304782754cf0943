"""OCI registries that carry GGUF layers: names, indexes, digests of manifests, shards."""

import hashlib
import json
from typing import Any

import pytest

from ggufhub.errors import SourceError
from ggufhub.names import RegistryName
from ggufhub.report.build import inspect
from ggufhub.sources.base import Digest
from ggufhub.sources.manifest import MANIFEST_BYTES
from ggufhub.sources.oci_names import parse_oci_name
from ggufhub.sources.open import open_remote
from tests.builders import small_model
from tests.core.fakeregistry import DOCKER, OCI_INDEX, OCI_MANIFEST, FakeRegistry
from tests.core.rangeserver import LOOPBACK
from tests.shards import three_shards

MODEL = small_model().build()
GGUF = f"{DOCKER}gguf.v3"
NAME = "oci://HOST/ai/tiny"
DIGEST = "ab" * 32

# Names


@pytest.mark.parametrize(
    ("text", "base", "repository", "reference", "locator"),
    [
        (
            "oci://docker.io/ai/smollm2:360M-Q4_K_M",
            "https://registry-1.docker.io",
            "ai/smollm2",
            "360M-Q4_K_M",
            "oci://registry-1.docker.io/ai/smollm2:360M-Q4_K_M",
        ),
        (
            "OCI://ghcr.io/org/team/model",
            "https://ghcr.io",
            "org/team/model",
            "latest",
            "oci://ghcr.io/org/team/model:latest",
        ),
        (
            f"oci://r.example.org:5000/model@sha256:{DIGEST}",
            "https://r.example.org:5000",
            "model",
            f"sha256:{DIGEST}",
            f"oci://r.example.org:5000/model@sha256:{DIGEST}",
        ),
        (
            f"oci://ghcr.io/a/b:tag@sha256:{DIGEST}",
            "https://ghcr.io",
            "a/b",
            f"sha256:{DIGEST}",
            f"oci://ghcr.io/a/b@sha256:{DIGEST}",
        ),
    ],
)
def test_names(text: str, base: str, repository: str, reference: str, locator: str) -> None:
    name = parse_oci_name(text)
    assert name is not None
    assert (name.base, name.repository, name.reference) == (base, repository, reference)
    assert name.locator == locator
    assert parse_oci_name(locator) == name


def test_the_operators_own_registry_may_speak_plain_http() -> None:
    name = parse_oci_name("oci://127.0.0.1:5000/a/m:t", "http://127.0.0.1:5000")
    assert name == RegistryName("http://127.0.0.1:5000", "a", "m", "t", "oci")


@pytest.mark.parametrize("text", ["ollama://a/b", "https://ghcr.io/a/b", "ghcr.io/a/b"])
def test_what_is_no_oci_name(text: str) -> None:
    assert parse_oci_name(text) is None


@pytest.mark.parametrize(
    "text",
    [
        "oci://",
        "oci://ghcr.io",
        "oci://ghcr.io/",
        "oci://ghcr.io/A/b",
        "oci://ghcr.io/a//b",
        "oci://ghcr.io/a/../b",
        "oci://ghcr.io/a/b:",
        "oci://ghcr.io/a/b@sha256:12",
        "oci://user@ghcr.io/a/b",
        "oci://ghcr.io/a/" + "b-" * 126 + "!",
    ],
)
def test_broken_names(text: str) -> None:
    with pytest.raises(SourceError) as caught:
        parse_oci_name(text)
    assert caught.value.code == "registry_name"


# Manifests


def registry_of(*layers: tuple[str, bytes], **options: Any) -> FakeRegistry:
    return FakeRegistry(list(layers), repository="ai/tiny", **options)


def index_of(*entries: dict[str, Any]) -> dict[str, Any]:
    return {"schemaVersion": 2, "mediaType": OCI_INDEX, "manifests": list(entries)}


def failure(registry: FakeRegistry, name: str = NAME) -> SourceError:
    with registry, registry.open(name) as source, pytest.raises(SourceError) as caught:
        source.read(0, 4)
    return caught.value


def test_a_gguf_layer_and_the_texts_beside_it() -> None:
    layers = [
        (GGUF, MODEL),
        (f"{DOCKER}license", b"MIT"),
        (f"{DOCKER}chat.template.jinja", b"{{ b }}"),
    ]
    with registry_of(*layers, token="t0ken") as registry, registry.open(NAME) as source:
        document = inspect(source).document
        sent = registry.registry.requests[0].headers
    assert document["error"] is None
    assert document["name"] == "tiny:latest"
    assert [(layer["kind"], layer["text"]) for layer in document["layers"]] == [
        ("license", "MIT"),
        ("template", "{{ b }}"),
    ]
    assert "PRV006" in {finding["rule"] for finding in document["findings"]}
    assert sent["user-agent"].startswith("ggufhub/")
    assert OCI_INDEX in sent["accept"] and OCI_MANIFEST in sent["accept"]


def test_the_manifest_of_an_index_that_holds_a_model() -> None:
    registry = registry_of((GGUF, MODEL))
    model = registry.put(registry.manifest)
    image = registry.put(
        {"layers": [registry.layer("application/vnd.oci.image.layer.v1.tar", b"x")]}
    )
    statement = registry.put(
        {"layers": []}, annotations={"vnd.docker.reference.type": "attestation"}
    )
    registry.manifest = index_of(statement, image, model)
    with registry, registry.open(NAME) as source:
        assert source.read(0, len(MODEL)) == MODEL
        digest = hashlib.sha256(MODEL).hexdigest()
        assert source.identity.digests == (Digest("sha256", digest, "declared by registry"),)
        assert f"{model['digest']} holds a model" in source.identity.notes[1]
        asked = [request.path.rpartition("/")[2] for request in registry.registry.requests]
        assert asked[:3] == ["latest", image["digest"], model["digest"]]


def test_indexes_without_a_model() -> None:
    for entries, word in (
        ([{"mediaType": OCI_INDEX, "size": 9, "digest": f"sha256:{DIGEST}"}], "further indexes"),
        ([], "lists no manifest"),
        (None, "holds a GGUF layer"),
    ):
        registry = registry_of((GGUF, MODEL))
        registry.manifest = index_of(
            *([registry.put({"layers": []})] if entries is None else entries)
        )
        error = failure(registry)
        assert error.code == "not_gguf"
        assert word in error.message


@pytest.mark.parametrize("entries", [{}, "x", [1], [{"mediaType": OCI_MANIFEST}], [{}] * 201])
def test_senseless_indexes(entries: Any) -> None:
    registry = registry_of((GGUF, MODEL))
    registry.manifest = {"manifests": entries}
    assert failure(registry).code == "bad_answer"


def test_an_index_costs_no_more_than_a_few_requests() -> None:
    registry = registry_of((GGUF, MODEL))
    empty = [registry.put({"layers": [], "number": number}) for number in range(50)]
    registry.manifest = index_of(*empty)
    assert failure(registry).code == "not_gguf"
    assert len(registry.registry.requests) == 9


def test_a_manifest_that_is_too_large() -> None:
    registry = registry_of((GGUF, MODEL))
    registry.manifest = {"layers": [], "padding": "x" * MANIFEST_BYTES}
    assert failure(registry).code == "limit"


def test_a_manifest_must_have_the_digest_it_is_asked_by() -> None:
    registry = registry_of((GGUF, MODEL))
    good = registry.put(registry.manifest)
    other = registry.put({**registry.manifest, "schemaVersion": 3})
    routes = registry.registry.behaviours
    place = "v2/ai/tiny/manifests/"
    with registry, registry.open(f"{NAME}@{good['digest']}") as source:
        assert source.read(0, 4) == b"GGUF"
    again = registry_of((GGUF, MODEL))
    again.registry.behaviours[f"{place}{good['digest']}"] = routes[f"{place}{other['digest']}"]
    assert failure(again, f"{NAME}@{good['digest']}").code == "digest"
    third = registry_of((GGUF, MODEL))
    third.put(third.manifest)
    third.registry.behaviours[f"{place}{good['digest']}"] = routes[f"{place}{other['digest']}"]
    third.manifest = index_of(good)
    assert failure(third).code == "digest"


@pytest.mark.parametrize(("right", "code"), [(True, None), (False, "digest")])
def test_the_digest_a_registry_tells_of_a_tag(right: bool, code: str | None) -> None:
    with registry_of((GGUF, MODEL)) as registry, registry.open(NAME) as source:
        data = json.dumps(registry.manifest).encode() if right else b""
        told = f"sha256:{hashlib.sha256(data).hexdigest()}"
        registry.manifest_headers = {"Docker-Content-Digest": told}
        error = inspect(source).document["error"]
    assert (error and error["code"]) == code


# Shards


@pytest.mark.parametrize("titled", [True, False])
def test_several_layers_are_the_shards_of_one_model(titled: bool) -> None:
    files = three_shards()
    order = list(files.items())[::-1] if titled else list(files.items())
    registry = registry_of(*((GGUF, data) for _, data in order))
    if titled:
        for (name, _), entry in zip(order, registry.manifest["layers"], strict=True):
            entry["annotations"] = {"org.cncf.model.filepath": f"folder/{name}"}
    with registry, registry.open(NAME) as source:
        document = inspect(source).document
        with pytest.raises(SourceError) as caught:
            source.sibling("absent.gguf")
    assert caught.value.code == "not_found"
    prefix = "m" if titled else "tiny"
    names = [f"{prefix}-{number:05d}-of-00003.gguf" for number in (1, 2, 3)]
    assert [file["name"] for file in document["files"]] == names
    assert len(document["tensors"]) == 3
    assert all(file["digests"][0]["basis"] == "declared by registry" for file in document["files"])
    assert not {"SPL001", "SPL003"} & {finding["rule"] for finding in document["findings"]}


def test_of_layers_that_are_no_shards_the_first_is_read() -> None:
    other = small_model().key("general.name", "Other").build()
    registry = registry_of((GGUF, MODEL), (GGUF, other))
    for number, entry in enumerate(registry.manifest["layers"]):
        entry["annotations"] = {"org.opencontainers.image.title": f"m-Q{number + 4}_0.gguf"}
    with registry, registry.open(NAME) as source:
        assert source.read(0, len(MODEL)) == MODEL
        assert source.identity.name == "tiny:latest"
        assert [layer.kind for layer in source.identity.layers] == ["model"]


def test_names_are_routed() -> None:
    with registry_of((GGUF, MODEL)) as registry:
        environment = {"OLLAMA_REGISTRY": registry.base}
        text = NAME.replace("HOST", registry.base.partition("://")[2])
        with open_remote(text, policy=LOOPBACK, environment=environment) as source:
            assert source.read(0, 4) == b"GGUF"
            assert source.locator == f"{text}:latest"
