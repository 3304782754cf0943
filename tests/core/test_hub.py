"""Hub names, and reading from a hub on loopback."""

import hashlib
from dataclasses import replace

import pytest

from ggufhub.errors import SourceError, UsageError
from ggufhub.report.build import inspect
from ggufhub.rules.split import good_set
from ggufhub.sources.base import Digest
from ggufhub.sources.hub_names import HubName, HubSettings, parse_hub_name
from ggufhub.sources.open import is_remote, open_remote
from tests.builders import small_model, vocabulary
from tests.core import rangeserver
from tests.core.fakehub import COMMIT, REPO, FakeHub
from tests.core.httpkit import SMALL
from tests.core.rangeserver import LOOPBACK, RangeServer

MODEL = small_model().build()

# Names


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("hf://a/b", HubName("a/b")),
        ("hf://a/b/m.gguf", HubName("a/b", path="m.gguf")),
        ("hf://a/b@v1/dir/m.gguf", HubName("a/b", "v1", "dir/m.gguf")),
        ("hf://a/b@refs/pr/3/m.gguf", HubName("a/b", "refs/pr/3", "m.gguf")),
        ("hf://a/b:Q8_0", HubName("a/b", tag="Q8_0")),
        ("a/b", HubName("a/b")),
        ("a/b:Q4_K_M", HubName("a/b", tag="Q4_K_M")),
        ("hf.co/a/b:IQ2_M", HubName("a/b", tag="IQ2_M")),
        ("https://huggingface.co/a/b", HubName("a/b")),
        ("https://huggingface.co/a/b/", HubName("a/b")),
        ("https://hf.co/a/b/tree/main", HubName("a/b")),
        ("https://huggingface.co/a/b/tree/main/Q8_0", HubName("a/b", path="Q8_0")),
        ("https://huggingface.co/a/b/blob/main/m%201.gguf", HubName("a/b", path="m 1.gguf")),
        ("http://huggingface.co/a/b/raw/v1/m.gguf", HubName("a/b", "v1", "m.gguf")),
        (
            "https://huggingface.co/a/b/resolve/refs%2Fpr%2F1/m.gguf?download=true",
            HubName("a/b", "refs/pr/1", "m.gguf"),
        ),
        (
            "https://huggingface.co/a/b/resolve/refs/pr/1/x/m.gguf",
            HubName("a/b", "refs/pr/1", "x/m.gguf"),
        ),
        ("https://huggingface.co/a/b?show_file_info=m.gguf", HubName("a/b", path="m.gguf")),
        ("https://mirror.example.org/a/b/blob/main/m.gguf", HubName("a/b", path="m.gguf")),
    ],
)
def test_names(text: str, name: HubName) -> None:
    assert parse_hub_name(text, "https://mirror.example.org") == name


@pytest.mark.parametrize(
    "text",
    [
        "https://example.org/a/b",
        "https://huggingface.co/datasets/a/b",
        "https://huggingface.co/a/b/discussions/1",
        "https://huggingface.co/a",
        "https://huggingface.co.example.org/a/b",
        "https://huggingface.co@example.org/a/b",
        "https://[",
        "ollama://a/b",
        "models/m.gguf",
        "a/b/c",
        "./a",
        "m",
        "",
    ],
)
def test_what_is_no_hub_name(text: str) -> None:
    assert parse_hub_name(text) is None


@pytest.mark.parametrize(
    "text", ["hf://", "hf://a", "hf://a/b/../../x", "hf://a/b/x//y", "hf://a b/c", "hf://.a/b"]
)
def test_broken_names(text: str) -> None:
    with pytest.raises(SourceError) as caught:
        parse_hub_name(text)
    assert caught.value.code == "hub_name"


def test_a_path_that_exists_is_no_repository(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert is_remote("a/b")
    (tmp_path / "a").mkdir()
    (tmp_path / "a/b").write_bytes(MODEL)
    assert not is_remote("a/b")


def test_settings(tmp_path) -> None:
    (tmp_path / "token").write_text("hf_abc\n")
    settings = HubSettings.from_environment(
        {"HF_ENDPOINT": "https://m.example.org/", "HF_TOKEN_FILE": str(tmp_path / "token")}
    )
    assert (settings.endpoint, settings.token) == ("https://m.example.org", "hf_abc")
    assert "hf_abc" not in repr(settings)
    assert HubSettings.from_environment({}) == HubSettings()
    for wrong in ({"HF_TOKEN": "a\nb"}, {"HF_TOKEN_FILE": str(tmp_path / "absent")}):
        with pytest.raises(UsageError):
            HubSettings.from_environment(wrong)


# Reading


def test_a_file_is_pinned_to_a_commit_and_declared_by_the_hub() -> None:
    with FakeHub({"m.gguf": MODEL}) as hub, hub.open("hf://org/repo/m.gguf") as source:
        identity = source.identity
        assert identity.locator == "hf://org/repo/m.gguf"
        assert (identity.name, identity.size) == ("m.gguf", len(MODEL))
        digest = hashlib.sha256(MODEL).hexdigest()
        assert identity.digests == (Digest("sha256", digest, "declared by hub"),)
        assert identity.notes == (f"Read from {REPO} at commit {COMMIT}.",)
        assert [hop.status for hop in identity.hops] == [302, 206]
        assert source.read(0, len(MODEL)) == MODEL
        assert hub.paths() == [
            "/api/models/org/repo/revision/main?expand=sha",
            "/api/models/org/repo/tree/COMMIT",
            "/org/repo/resolve/COMMIT/m.gguf",
        ]
        assert source.reads.requests == 4


def test_a_commit_is_not_looked_up() -> None:
    with FakeHub({"m.gguf": MODEL}) as hub, hub.open(f"hf://org/repo@{COMMIT}/m.gguf") as source:
        assert source.read(0, 4) == b"GGUF"
        assert not any("revision" in path for path in hub.paths())


def test_a_branch_that_moves_while_shards_are_read_changes_nothing() -> None:
    with FakeHub(good_set()) as hub, hub.open("hf://org/repo") as source:
        assert source.identity.name.startswith("m-00001")
        hub.commit = "d" * 40
        source.sibling("m-00002-of-00002.gguf").close()
        assert sum(COMMIT in request.path for request in hub.hub.requests) == 3


def test_the_report_on_shards_through_the_hub() -> None:
    with FakeHub(good_set(), page=1) as hub, hub.open("org/repo") as source:
        document = inspect(source).document
    assert document["verdict"] != "unreadable"
    assert [file["name"] for file in document["files"]] == list(good_set())
    assert all(file["digests"][0]["basis"] == "declared by hub" for file in document["files"])
    assert "only model" in document["notes"][1]
    assert document["notes"][2] == "It is one of 2 shards."
    assert document["reads"]["requests"] == len(hub.hub.requests) + len(hub.cdn.requests)
    assert "STR035" not in {finding["rule"] for finding in document["findings"]}


def test_which_of_several_models_and_why() -> None:
    files = dict.fromkeys(
        ("m-Q8_0.gguf", "m-Q4_K_M.gguf", "mmproj-m-f16.gguf", "Q2/m-Q2_K.gguf"), MODEL
    )
    with FakeHub(files, page=2) as hub:
        with hub.open("hf://org/repo") as source:
            assert source.identity.name == "m-Q4_K_M.gguf"
            assert "Of 3 models" in source.identity.notes[1]
            assert "mmproj-m-f16.gguf (mmproj)" in source.identity.notes[2]
        with hub.open("org/repo:q8_0") as source:
            assert source.identity.name == "m-Q8_0.gguf"
        with hub.open("hf://org/repo/Q2") as source:
            assert source.identity.name == "m-Q2_K.gguf"
        with hub.open("org/repo:Q3_K_S") as source, pytest.raises(SourceError) as caught:
            source.read(0, 4)
        assert caught.value.code == "choose"
        assert "m-Q8_0.gguf, m-Q4_K_M.gguf, Q2/m-Q2_K.gguf." in caught.value.message


@pytest.mark.parametrize(
    ("name", "files", "code"),
    [
        ("hf://org/repo/absent.gguf", {"m.gguf": MODEL}, "not_found"),
        ("hf://org/repo", {"README.md": b"x"}, "not_found"),
        ("hf://org/repo", {"preset.ini": b"x", "m.gguf": MODEL}, "choose"),
        ("hf://org/repo@absent", {"m.gguf": MODEL}, "not_found"),
        ("hf://org/absent", {"m.gguf": MODEL}, "not_found"),
    ],
)
def test_what_is_not_there(name: str, files: dict[str, bytes], code: str) -> None:
    with FakeHub(files) as hub, hub.open(name) as source:
        with pytest.raises(SourceError) as caught:
            source.read(0, 1)
        assert caught.value.code == code


def test_siblings_are_those_of_the_listing() -> None:
    files = {"a/m.gguf": MODEL, "a/m.gguf.sha256": b"0", "b/x": b"1"}
    with FakeHub(files) as hub, hub.open("hf://org/repo/a/m.gguf") as source:
        assert source.sibling_names() == ["m.gguf", "m.gguf.sha256"]
        asked = len(hub.hub.requests)
        for absent in ("x", "../b/x", "n.gguf"):
            with pytest.raises(SourceError):
                source.sibling(absent)
        assert len(hub.hub.requests) == asked


# Tokens


def test_the_token_reaches_the_hub_and_nobody_else() -> None:
    with FakeHub({"m.gguf": MODEL}, token="hf_secret") as hub:
        with hub.open("hf://org/repo/m.gguf", token="hf_secret") as source:
            assert source.read(0, 4) == b"GGUF"
        assert {request.headers.get("authorization") for request in hub.hub.requests} == {
            "Bearer hf_secret"
        }
        assert all("authorization" not in request.headers for request in hub.cdn.requests)


@pytest.mark.parametrize(("gated", "code"), [(True, "gated"), (False, "not_found")])
@pytest.mark.parametrize("token", ["", "hf_wrong"])
def test_a_closed_repository(gated: bool, code: str, token: str) -> None:
    hub = FakeHub({"m.gguf": MODEL}, token="hf_secret", gated=gated)
    with hub, hub.open("hf://org/repo/m.gguf", token=token) as source:
        with pytest.raises(SourceError) as caught:
            source.read(0, 4)
        assert caught.value.code == code
        assert "secret" not in caught.value.message


@pytest.mark.parametrize("link", ["http://[", "//[x/", "file:///etc/passwd", "http://h\\@x/"])
def test_a_listing_that_continues_nowhere(link: str) -> None:
    with FakeHub({"m.gguf": MODEL}) as hub:
        tree = f"api/models/{REPO}/tree/{COMMIT}"
        hub.hub.behaviours[tree] = rangeserver.fixed(200, b"[]", Link=f'<{link}>; rel="next"')
        with hub.open("hf://org/repo") as source, pytest.raises(SourceError):
            source.read(0, 4)


def test_a_listing_that_continues_elsewhere_is_refused() -> None:
    with FakeHub({"m.gguf": MODEL}, token="hf_secret") as hub, RangeServer() as other:
        link = f'<{other.url("next")}>; rel="next"'
        tree = f"api/models/{REPO}/tree/{COMMIT}"
        hub.hub.behaviours[tree] = rangeserver.fixed(200, b"[]", Link=link)
        with hub.open("hf://org/repo", token="hf_secret") as source:
            with pytest.raises(SourceError) as caught:
                source.read(0, 4)
            assert caught.value.code == "bad_answer"
        assert other.requests == []


# Trouble


def test_a_signed_link_that_expires_is_asked_for_again() -> None:
    data = vocabulary(2000).build()
    with FakeHub({"m.gguf": data}) as hub, hub.open("hf://org/repo/m.gguf") as source:
        source.read(0, 10)
        hub.expire()
        assert source.read(0, len(data)) == data
        assert [path.rpartition("/")[2] for path in hub.paths()].count("m.gguf") == 2


def test_a_rate_limit_says_when_to_come_back() -> None:
    with FakeHub({"m.gguf": MODEL}) as hub:
        limited = rangeserver.fixed(429, RateLimit='"api";r=0;t=77')
        hub.hub.behaviours[f"api/models/{REPO}/revision/main"] = limited
        with hub.open("org/repo") as source:
            report = inspect(source)
        assert report.document["error"]["code"] == "rate_limited"
        assert report.retry_after == 77


def test_a_shard_that_is_rate_limited_is_not_a_missing_shard() -> None:
    with FakeHub(good_set()) as hub:
        second = f"{REPO}/resolve/{COMMIT}/m-00002-of-00002.gguf"
        hub.hub.behaviours[second] = rangeserver.fixed(429, Retry_After="5")
        with hub.open("org/repo") as source:
            assert inspect(source).retry_after == 5


def test_the_hub_and_the_delivery_host_disagree() -> None:
    with FakeHub({"m.gguf": MODEL}) as hub:
        hub.cdn.files["m.gguf"] = MODEL + b"more"
        with hub.open("org/repo") as source:
            assert inspect(source).document["error"]["code"] == "bad_range"


def test_bytes_that_are_not_those_the_hub_declares() -> None:
    with FakeHub({"m.gguf": MODEL}) as hub:
        hub.cdn.files["m.gguf"] = MODEL[:-1] + b"\1"
        with hub.open("org/repo", first_read=1 << 20) as source:
            document = inspect(source).document
    finding = next(f for f in document["findings"] if f["rule"] == "STR035")
    assert finding["expected"] == hashlib.sha256(MODEL).hexdigest()
    assert finding["severity"] == "error"


@pytest.mark.parametrize("body", [b"{", b"[]", b"{}", b'{"sha": "main"}', b"\xff", b"[" * 100_000])
def test_senseless_answers(body: bytes) -> None:
    with FakeHub({"m.gguf": MODEL}) as hub:
        hub.hub.behaviours[f"api/models/{REPO}/revision/main"] = rangeserver.fixed(200, body)
        with hub.open("org/repo") as source, pytest.raises(SourceError) as caught:
            source.read(0, 4)
    assert caught.value.code == "bad_answer"


def test_everything_is_routed() -> None:
    with FakeHub({"m.gguf": MODEL}) as hub:
        environment = {"HF_ENDPOINT": hub.endpoint}
        limits = replace(SMALL, requests=20)
        for text in (
            "hf://org/repo/m.gguf",
            "org/repo",
            f"{hub.endpoint}/org/repo/blob/main/m.gguf",
            "https://huggingface.co/org/repo/tree/main",
        ):
            with open_remote(
                text, policy=LOOPBACK, limits=limits, environment=environment
            ) as source:
                assert source.identity.name == "m.gguf"
                assert source.read(0, 4) == b"GGUF"
