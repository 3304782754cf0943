"""What there is to audit: folders, lists of links, index pages, organisations."""

import json
from pathlib import Path

import pytest

from ggufhub.audit.groups import INTEREST, group
from ggufhub.errors import SourceError
from ggufhub.sources import list_folder as folders
from ggufhub.sources.list_folder import list_folder
from ggufhub.sources.list_links import list_links
from ggufhub.sources.listed import LINKS, Places, open_listed
from ggufhub.sources.listing import Listing
from tests.audit.fakeorg import FakeOrganisation
from tests.audit.kit import write
from tests.builders import small_model
from tests.core.rangeserver import LOOPBACK, Handler, RangeServer

MODEL = small_model().build()


def paths(listing: Listing) -> list[str]:
    return [entry.path for entry in listing.entries]


def places(environment: dict[str, str] | None = None) -> Places:
    return Places(policy=LOOPBACK, interest=INTEREST, environment=environment or {})


def test_a_folder_is_listed_below_itself(tmp_path: Path) -> None:
    write(tmp_path, {"a/one.gguf": MODEL, "two.gguf": MODEL, "notes.txt": b"", "README.md": b"x"})
    listing = list_folder(tmp_path, INTEREST)
    assert paths(listing) == ["README.md", "a/one.gguf", "two.gguf"]
    assert listing.texts == {"README.md": "x"}
    assert listing.entries[2].size == len(MODEL)
    with open_listed(group(listing.entries).items[0].files) as source:
        assert source.read(0, 4) == b"GGUF"
        assert source.sibling_names() == ["one.gguf"]


def test_a_tree_without_end_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folders, "MOST_VISITED", 10)
    write(tmp_path, {f"{number}.gguf": MODEL for number in range(20)})
    listing = list_folder(tmp_path, INTEREST)
    assert len(listing.entries) == 10
    assert "first 10 entries" in listing.problems[0].message


def test_links_neither_leave_the_folder_nor_run_in_circles(tmp_path: Path) -> None:
    outside, inside = tmp_path / "outside", tmp_path / "inside"
    write(outside, {"secret.gguf": MODEL, "deep/secret.gguf": MODEL})
    write(inside, {"a/one.gguf": MODEL})
    (inside / "a" / "loop").symlink_to(inside)
    (inside / "same.gguf").symlink_to(inside / "a" / "one.gguf")
    (inside / "out.gguf").symlink_to(outside / "secret.gguf")
    (inside / "out").symlink_to(outside)
    (inside / "gone.gguf").symlink_to(inside / "nothing")
    listing = list_folder(inside, INTEREST)
    assert "a/one.gguf" in paths(listing)
    assert "same.gguf" in paths(listing)
    assert not [path for path in paths(listing) if "secret" in path or "out" in path]
    assert sorted(problem.path for problem in listing.problems) == ["out", "out.gguf"]


def test_a_list_has_links_names_and_objects() -> None:
    digest = "ab" * 32
    text = "\n".join(
        [
            "# the models",
            "https://example.org/m/a.gguf?sig=secret",
            "ollama://llama3.2",
            json.dumps({"url": "https://example.org/b.gguf", "sha256": digest, "size": 7}),
            "https://example.org/m/a.gguf?sig=secret",
            "not a link",
            "{broken",
            "x" * 9_000,
        ]
    )
    listing = list_links(text, "a list", INTEREST)
    assert paths(listing) == ["example.org/m/a.gguf", "ollama://llama3.2", "example.org/b.gguf"]
    assert listing.entries[2].sha256 == digest
    assert listing.entries[2].size == 7
    assert [problem.path for problem in listing.problems] == ["line 6", "line 7", "line 8"]
    assert len(group(listing.entries).items) == 3


def test_a_checksum_file_names_files_beside_itself_only() -> None:
    digest = "cd" * 32
    lines = [
        f"{digest}  one.gguf",
        f"{digest} *sub/two.gguf",
        f"SHA256 (three.gguf) = {digest}",
        f"{digest}  ../secret.gguf",
        f"{digest}  /etc/secret.gguf",
        f"{digest}  notes.txt",
    ]
    listing = list_links("\n".join(lines), "x", INTEREST, "https://example.org/m/SHA256SUMS")
    assert [entry.locator for entry in listing.entries] == [
        "https://example.org/m/one.gguf",
        "https://example.org/m/sub/two.gguf",
        "https://example.org/m/three.gguf",
    ]
    assert len(listing.problems) == 2


def test_an_index_page_is_read_below_its_folder() -> None:
    page = b"""<a href="../">up</a><a href="one%20a.gguf">one</a>
    <a href="sub/two.gguf?x=1#y">two</a>
    <a href="/other/three.gguf">no</a><a href="https://example.org/four.gguf">no</a><a>x</a>"""

    def index(handler: Handler, data: bytes) -> None:
        handler.answer(200, page, **{"Content-Type": "text/html"})

    with RangeServer({}, {"m/": index}) as server:
        listing = places().listing(server.url("m/"))
        assert paths(listing) == ["one a.gguf", "sub/two.gguf"]
        assert listing.entries[0].locator == server.url("m/one a.gguf")


def test_a_list_behind_a_link() -> None:
    def text(handler: Handler, data: bytes) -> None:
        handler.answer(200, b"one.txt\n" + b"ab" * 32 + b"  one.gguf\n")

    with RangeServer({}, {"m/SHA256SUMS": text}) as server:
        listing = places().listing(server.url("m/SHA256SUMS"))
        assert [entry.locator for entry in listing.entries][1] == server.url("m/one.gguf")


def test_a_list_handed_over_as_text() -> None:
    assert paths(places().listing(f"{LINKS}https://example.org/a.gguf")) == ["example.org/a.gguf"]


def test_what_is_nothing_is_said_so(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="no folder, list or repository"):
        places().listing(str(tmp_path / "absent"))
    with pytest.raises(SourceError, match="no folder"):
        list_folder(tmp_path / "absent", INTEREST)


def test_an_organisation_is_its_repositories_page_by_page() -> None:
    with FakeOrganisation(230, MODEL) as hub:
        environment = {"HF_ENDPOINT": hub.endpoint}
        found = places(environment).repositories("hf://org")
        assert found == [f"hf://{name}" for name in hub.names]
        assert len(hub.server.requests) == 3
        collection = places(environment).repositories("hf://collections/org/best-1a2b")
        assert collection == ["hf://org/r000", "hf://org/r001"]
        assert places(environment).repositories("hf://org/r000") == ["hf://org/r000"]


def test_a_repository_is_listed_with_two_requests_and_opened_with_one() -> None:
    with FakeOrganisation(1, MODEL) as hub:
        environment = {"HF_ENDPOINT": hub.endpoint}
        listing = places(environment).listing("hf://org/r000")
        assert len(hub.server.requests) == 2
        assert listing.declared["cardData"] == {"license": "mit"}
        (item,) = group(listing.entries).items
        assert item.files[0].sha256 == hub.sha256
        with open_listed(item.files, policy=LOOPBACK, environment=environment) as source:
            assert source.read(0, 4) == b"GGUF"
            assert source.identity.size == len(MODEL)
        assert len(hub.server.requests) == 3
