"""Files of a split model, dropped or chosen together: one inspection, one report."""

import re
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, Request, expect

from tests.browser.conftest import Opener
from tests.shards import three_shards
from tests.viewer import samples

pytestmark = pytest.mark.browser
REPORT = re.compile(r"/i/[0-9a-f-]{36}/$")
MIB = 2**20


def write(directory: Path, size: int = 64 * MIB) -> list[Path]:
    """The three shards as files that claim ``size`` bytes each: a real header, then a hole."""
    directory.mkdir(exist_ok=True)
    paths = []
    for name, data in three_shards().items():
        path = directory / name
        path.write_bytes(data)
        with path.open("r+b") as file:
            file.truncate(size)
        paths.append(path)
    return paths


def drop(page: Page, *paths: Path) -> None:
    """What a visitor does with a file manager: only this way are folders real ones."""
    box = page.locator(".zone").bounding_box()
    assert box is not None
    place = {"x": box["x"] + 10, "y": box["y"] + 10}
    data = {"items": [], "files": [str(path) for path in paths], "dragOperationsMask": 1}
    session = page.context.new_cdp_session(page)
    for kind in ("dragEnter", "dragOver", "drop"):
        session.send("Input.dispatchDragEvent", {"type": kind, "data": data, **place})


def bodies(page: Page) -> list[tuple[str, int]]:
    """The upload and the offset of every body sent."""
    seen: list[tuple[str, int]] = []

    def note(request: Request) -> None:
        if request.method == "PATCH":
            seen.append((request.url.rpartition("/")[2], int(request.headers["upload-offset"])))

    page.on("request", note)
    return seen


def report(page: Page) -> dict[str, Any]:
    page.wait_for_url(REPORT)
    found: dict[str, Any] = page.request.get(
        f"/api/v1/reports/{page.url.rstrip('/').rpartition('/')[2]}"
    ).json()
    return found


def names(document: dict[str, Any]) -> list[str]:
    return [file["name"] for file in document["files"]]


def test_three_shards_make_one_report_for_the_price_of_their_headers(
    opened: Opener, tmp_path: Path
) -> None:
    paths = write(tmp_path / "set")
    page = opened()
    seen = bodies(page)
    drop(page, *reversed(paths))
    document = report(page)
    assert names(document) == [path.name for path in paths]
    assert {file["size"] for file in document["files"]} == {64 * MIB}
    assert len(document["tensors"]) == 3
    assert len({upload for upload, _ in seen}) == 3
    assert {offset for _, offset in seen} == {0}, "the first mebibyte of each was enough"


def test_a_shard_with_a_long_header_sends_what_it_needs(opened: Opener, tmp_path: Path) -> None:
    paths = write(tmp_path / "set")
    long = samples.large_vocabulary(200_000).tensor("blk.1.attn_norm.weight", (8,)).build()
    with paths[1].open("r+b") as file:
        file.write(long)
    page = opened()
    seen = bodies(page)
    page.get_by_label("Drop model files here").set_input_files(paths)
    assert names(report(page)) == [path.name for path in paths]
    again = {upload for upload, offset in seen if offset > 0}
    assert len(again) == 1 and all(offset < len(long) + MIB for _, offset in seen)


def test_whole_shards_can_be_sent(opened: Opener, tmp_path: Path) -> None:
    paths = write(tmp_path / "set", size=3 * MIB)
    page = opened()
    page.get_by_label("Send everything").check()
    drop(page, *paths)
    assert names(report(page)) == [path.name for path in paths]


def test_a_set_without_one_shard_is_not_called_broken_for_it(
    opened: Opener, tmp_path: Path
) -> None:
    first, absent, third = write(tmp_path / "set")
    page = opened()
    drop(page, first, third)
    document = report(page)
    assert names(document) == [first.name, third.name]
    assert "SPL003" not in {finding["rule"] for finding in document["findings"]}
    assert any(absent.name in entry["reason"] for entry in document["not_evaluated"])


def test_a_folder_is_walked_and_its_models_are_told_apart(opened: Opener, tmp_path: Path) -> None:
    folder = tmp_path / "models"
    folder.mkdir()
    write(folder / "one")
    write(folder / "two")
    (folder / "alone.gguf").write_bytes(samples.chat_model().build())
    (folder / "README.md").write_text("no model")
    page = opened()
    drop(page, folder)
    expect(page.get_by_role("link", name="Open the report")).to_have_count(3)
    expect(page.locator(".sending")).to_contain_text("m-00001-of-00003.gguf (3 shards)")
    expect(page.locator(".sending")).not_to_contain_text("README.md")


def test_a_folder_without_a_model_says_so(opened: Opener, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    page = opened()
    drop(page, tmp_path / "empty")
    expect(page.get_by_text("there is no model file in this folder")).to_be_visible()
