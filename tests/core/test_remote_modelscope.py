"""ModelScope: names and pages, and reading from a repository on loopback."""

import hashlib
from dataclasses import replace
from typing import Any

import pytest

from ggufhub.errors import SourceError
from ggufhub.names import HubName
from ggufhub.report.build import inspect
from ggufhub.sources import modelscope
from ggufhub.sources.base import Digest
from ggufhub.sources.modelscope_names import (
    ENDPOINT,
    modelscope_endpoint,
    parse_modelscope_name,
)
from ggufhub.sources.open import is_remote, open_remote
from tests.builders import small_model
from tests.core import rangeserver
from tests.core.fakemodelscope import REPO, FakeModelScope
from tests.core.httpkit import SMALL
from tests.core.rangeserver import LOOPBACK
from tests.shards import three_shards

MODEL = small_model().build()
WWW = "https://www.modelscope.cn"

# Names


@pytest.mark.parametrize(
    ("text", "name", "endpoint"),
    [
        ("ms://a/b", HubName("a/b", "master"), ENDPOINT),
        ("MS://a/b:Q8_0", HubName("a/b", "master", "", "Q8_0"), ENDPOINT),
        ("ms://a/b@main/x/m.gguf", HubName("a/b", "main", "x/m.gguf"), ENDPOINT),
        ("ms://a/b@v1", HubName("a/b", "v1"), ENDPOINT),
        (f"{WWW}/models/a/b", HubName("a/b", "master"), WWW),
        (f"{WWW}/models/a/b/files", HubName("a/b", "master"), WWW),
        (f"{WWW}/models/a/b/summary?x=1", HubName("a/b", "master"), WWW),
        (
            "https://modelscope.cn/models/a/b/file/view/v1/x/m%201.gguf",
            HubName("a/b", "v1", "x/m 1.gguf"),
            ENDPOINT,
        ),
        (
            "https://modelscope.ai/models/a/b/resolve/master/m.gguf",
            HubName("a/b", "master", "m.gguf"),
            "https://modelscope.ai",
        ),
        (
            f"{WWW}/api/v1/models/a/b/repo?Revision=v1&FilePath=x/m.gguf",
            HubName("a/b", "v1", "x/m.gguf"),
            WWW,
        ),
        (
            f"{WWW}/api/v1/models/a/b/repo?FilePath=m.gguf",
            HubName("a/b", "master", "m.gguf"),
            WWW,
        ),
    ],
)
def test_names_and_pages(text: str, name: HubName, endpoint: str) -> None:
    assert parse_modelscope_name(text) == (name, endpoint)
    assert is_remote(text)


@pytest.mark.parametrize(
    "text",
    [
        "hf://a/b",
        "a/b",
        "https://example.org/models/a/b/file/view/master/m.gguf",
        "https://modelscope.cn/datasets/a/b",
        "https://modelscope.cn/api/v1/models/a/b/repo",
        "https://[modelscope.cn/models/a/b",
    ],
)
def test_what_is_something_else(text: str) -> None:
    assert parse_modelscope_name(text) is None


@pytest.mark.parametrize(
    "text",
    [
        "ms://",
        "ms://a",
        "ms://a/b/../c",
        f"{WWW}/models/a/b/resolve/master/x/%2e%2e/m.gguf",
        f"{WWW}/api/v1/models/a/b/repo?FilePath=../m.gguf",
    ],
)
def test_broken_names(text: str) -> None:
    with pytest.raises(SourceError) as caught:
        parse_modelscope_name(text)
    assert caught.value.code == "hub_name"


def test_the_endpoint_of_the_environment() -> None:
    assert modelscope_endpoint({}) == ENDPOINT
    own = "http://127.0.0.1:5000"
    assert modelscope_endpoint({"MODELSCOPE_ENDPOINT": f"{own}/"}) == own
    name = HubName("a/b", "master")
    assert parse_modelscope_name("ms://a/b", own) == (name, own)
    assert parse_modelscope_name(f"{own}/models/a/b", own) == (name, own)


# Reading


def test_a_file_is_pinned_to_its_commit_and_declared_by_the_hub() -> None:
    with FakeModelScope({"x/m 1.gguf": MODEL, "other.gguf": b""}) as hub:
        with hub.open(f"ms://{REPO}/x/m 1.gguf") as source:
            identity = source.identity
            assert (identity.name, identity.size) == ("m 1.gguf", len(MODEL))
            digest = hashlib.sha256(MODEL).hexdigest()
            assert identity.digests == (Digest("sha256", digest, "declared by hub"),)
            assert identity.notes == (f"Read from {REPO} at revision master.",)
            assert identity.locator == f"ms://{REPO}/x/m 1.gguf"
            assert source.read(0, len(MODEL)) == MODEL
        assert hub.queries() == [
            {
                "Revision": "master",
                "Recursive": "False",
                "Root": "x",
                "PageNumber": "1",
                "PageSize": str(modelscope.PAGE),
            }
        ]
        assert f"/resolve/{hub.commit('x/m 1.gguf')}/x/m%201.gguf" in hub.server.requests[1].path


def test_which_of_several_models_and_why() -> None:
    files = dict.fromkeys(("m-Q8_0.gguf", "d/m-Q4_K_M.gguf", "mmproj-m.gguf"), MODEL)
    with FakeModelScope(files) as hub, hub.open(f"ms://{REPO}") as source:
        assert source.identity.name == "m-Q4_K_M.gguf"
        assert "llama.cpp's -hf would load d/m-Q4_K_M.gguf" in source.identity.notes[1]


@pytest.mark.parametrize(("paged", "pages"), [(True, 4), (False, 2)])
def test_a_listing_of_several_pages(
    monkeypatch: pytest.MonkeyPatch, paged: bool, pages: int
) -> None:
    """A server that counts no pages repeats the first one, which ends the listing."""
    monkeypatch.setattr(modelscope, "PAGE", 2)
    files = {**three_shards(), "a.txt": b"1", "b.txt": b"2", "c.txt": b"3"}
    with FakeModelScope(files, paged=paged) as hub:
        with hub.open(f"ms://{REPO}/{next(iter(files))}") as source:
            document = inspect(source).document
            assert source.sibling_names() == list(files)
        assert [query["PageNumber"] for query in hub.queries()] == [
            str(number) for number in range(1, pages + 1)
        ]
    assert [file["name"] for file in document["files"]] == list(three_shards())
    assert all(file["digests"][0]["basis"] == "declared by hub" for file in document["files"])
    assert document["reads"]["requests"] == len(hub.server.requests)


def test_a_listing_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(modelscope, "PAGE", 1)
    files = {f"{number}.gguf": b"" for number in range(30)}
    with FakeModelScope(files) as hub, hub.open(f"ms://{REPO}") as source:
        assert inspect(source).document["error"]["code"] == "limit"


def test_bytes_that_are_not_those_the_hub_declares() -> None:
    with FakeModelScope({"m.gguf": MODEL}) as hub, hub.open(f"ms://{REPO}") as source:
        place = next(name for name in hub.server.files if name.endswith("m.gguf"))
        hub.server.files[place] = MODEL[:-1] + b"x"
        findings = inspect(source).document["findings"]
    assert "STR035" in {finding["rule"] for finding in findings}


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (f"ms://{REPO}@absent", "not_found"),
        ("ms://org/absent", "not_found"),
        (f"ms://{REPO}/absent.gguf", "not_found"),
        (f"ms://{REPO}:Q2_K", "choose"),
    ],
)
def test_what_is_not_there(text: str, code: str) -> None:
    with FakeModelScope({"m-Q8_0.gguf": MODEL}) as hub, hub.open(text) as source:
        assert inspect(source).document["error"]["code"] == code


@pytest.mark.parametrize("body", [b"[]", b"{}", b'{"Data": {"Files": 1}}', b"<html>", b"{"])
def test_senseless_answers(body: bytes) -> None:
    with FakeModelScope({"m.gguf": MODEL}) as hub, hub.open(f"ms://{REPO}") as source:
        hub.server.behaviours[f"api/v1/models/{REPO}/repo/files"] = rangeserver.fixed(200, body)
        assert inspect(source).document["error"]["code"] in ("bad_answer", "not_found")


@pytest.mark.parametrize(
    "entry", [1, {}, {"Path": 1}, {"Path": "n", "Size": -1, "Sha256": 7, "Revision": "x"}]
)
def test_senseless_entries_are_left_out(entry: Any) -> None:
    with FakeModelScope({"m.gguf": MODEL}) as hub, hub.open(f"ms://{REPO}") as source:
        hub.extra = [entry]
        assert source.read(0, 4) == b"GGUF"


def test_everything_is_routed() -> None:
    with FakeModelScope({"m.gguf": MODEL}) as hub:
        environment = {"MODELSCOPE_ENDPOINT": hub.endpoint}
        limits = replace(SMALL, requests=20)
        for text in (f"ms://{REPO}", f"{hub.endpoint}/models/{REPO}/file/view/master/m.gguf"):
            with open_remote(
                text, policy=LOOPBACK, limits=limits, environment=environment
            ) as source:
                assert source.identity.digests
                assert source.read(0, 4) == b"GGUF"
