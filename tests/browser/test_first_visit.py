"""From a link or a file to its report, as a visitor does it."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, Request, Route, expect

from tests.browser.conftest import Opener
from tests.core.rangeserver import Handler, RangeServer
from tests.viewer import samples

pytestmark = pytest.mark.browser
REPORT = re.compile(r"/i/[0-9a-f-]{36}/$")
GIB = 2**30


def slowly(handler: Handler, data: bytes) -> None:
    if handler.pause(2):
        handler.serve(data)


def submit(page: Page, link: str) -> None:
    page.get_by_label("Link, hub repository or registry name").fill(link)
    page.get_by_role("button", name="Inspect").click()


def big_file(directory: Path, tokens: int) -> Path:
    """A file that claims 3 GiB: a real header of a vocabulary, then a hole."""
    path = directory / "big.gguf"
    path.write_bytes(samples.large_vocabulary(tokens).tensor("token_embd.weight", (8,)).build())
    with path.open("r+b") as file:
        file.truncate(3 * GIB)
    return path


def sent_bytes(page: Page) -> list[int]:
    """The sizes of the uploads' bodies, filled as they are sent."""
    sizes: list[int] = []

    def note(request: Request) -> None:
        if request.method == "PATCH":
            sizes.append(int(request.headers["upload-offset"]))

    page.on("request", note)
    return sizes


def test_a_link_shows_progress_and_then_its_report(opened: Opener, models: RangeServer) -> None:
    models.files["slow.gguf"] = samples.chat_model().build()
    models.behaviours["slow.gguf"] = slowly
    page = opened()
    submit(page, models.url("slow.gguf"))
    expect(page.get_by_role("heading", name="Inspecting slow.gguf")).to_be_visible()
    expect(page.locator(".state[data-state=running]")).to_be_visible()
    expect(page.get_by_role("heading", name="Chat sample")).to_be_visible()
    expect(page).to_have_title(re.compile("Chat sample"))


def test_without_scripts_it_works_just_the_same(opened: Opener, models: RangeServer) -> None:
    models.files["plain.gguf"] = samples.chat_model().build()
    models.behaviours["plain.gguf"] = slowly
    page = opened(java_script_enabled=False)
    submit(page, models.url("plain.gguf"))
    page.wait_for_selector("h1:has-text('Chat sample')")
    for tab in ("Metadata", "Tensors", "Tokenizer", "Template", "Layout", "Raw"):
        page.get_by_label("Report").get_by_role("link", name=tab).click()
        page.wait_for_selector(f".tabs a.on:has-text('{tab}')")


def test_a_running_inspection_can_be_cancelled(opened: Opener, models: RangeServer) -> None:
    models.behaviours["never.gguf"] = lambda handler, data: handler.pause(3)
    page = opened()
    submit(page, models.url("never.gguf"))
    page.get_by_role("button", name="Cancel").click()
    expect(page.get_by_role("heading", name="This inspection was cancelled")).to_be_visible()


def test_a_large_file_sends_only_its_header(opened: Opener, tmp_path: Path) -> None:
    path = big_file(tmp_path, 200_000)
    header = samples.large_vocabulary(200_000).build()
    page = opened()
    offsets = sent_bytes(page)
    page.get_by_label("Drop model files here").set_input_files(path)
    page.wait_for_url(REPORT)
    expect(page.locator(".facts").get_by_text("3.2 GB")).to_be_visible()
    expect(page.locator(".facts").get_by_text("200,000")).to_be_visible()
    assert len(offsets) >= 2, "one read cannot have been enough"
    assert offsets[0] == 0 and offsets[1] == 2**20
    assert max(offsets) < len(header) + 2**20


def test_a_file_can_be_dropped(opened: Opener) -> None:
    page = opened()
    data = list(samples.cut_model())
    transfer = page.evaluate_handle(
        """(data) => {
            const transfer = new DataTransfer();
            transfer.items.add(new File([new Uint8Array(data)], "cut.gguf"));
            return transfer;
        }""",
        data,
    )
    page.dispatch_event(".zone", "drop", {"dataTransfer": transfer})
    page.wait_for_url(REPORT)
    expect(page.locator(".verdict")).to_contain_text("Does not load")


def test_everything_is_sent_on_request(opened: Opener, tmp_path: Path) -> None:
    path = tmp_path / "whole.gguf"
    path.write_bytes(samples.chat_model().build())
    page = opened()
    page.get_by_label("Send everything").check()
    page.get_by_label("Drop model files here").set_input_files(path)
    page.wait_for_url(REPORT)
    expect(page.get_by_role("heading", name="Chat sample")).to_be_visible()
    expect(page.locator(".facts")).to_contain_text("computed from all bytes")


def test_several_files_each_get_a_link(opened: Opener, tmp_path: Path) -> None:
    paths = [tmp_path / "one.gguf", tmp_path / "two.gguf"]
    for path in paths:
        path.write_bytes(samples.chat_model().build())
    page = opened()
    page.get_by_label("Drop model files here").set_input_files(paths)
    expect(page.get_by_role("link", name="Open the report")).to_have_count(2)


def test_a_broken_connection_is_taken_up_again(
    opened: Opener, complaints: list[str], tmp_path: Path
) -> None:
    path = tmp_path / "model.gguf"
    path.write_bytes(samples.chat_model().build())
    page = opened()
    broken: list[str] = []

    def break_once(route: Route) -> None:
        if route.request.method == "PATCH" and not broken:
            broken.append(route.request.url)
            route.fulfill(status=503, body="")
        else:
            route.continue_()

    page.route("**/api/v1/uploads/*", break_once)
    page.get_by_label("Drop model files here").set_input_files(path)
    page.wait_for_url(REPORT)
    assert len(broken) == 1
    assert complaints.pop().startswith(
        "Failed to load resource: the server responded with a status of 503"
    )
