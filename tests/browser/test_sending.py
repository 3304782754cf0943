"""Sending files: digests computed in the browser, pausing, cancelling, going on after a reload."""

import base64
import hashlib
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, Route, expect

from tests.browser.conftest import Opener
from tests.browser.test_report import inspect
from tests.core.rangeserver import RangeServer
from tests.viewer import samples

pytestmark = pytest.mark.browser
REPORT = re.compile(r"/i/[0-9a-f-]{36}/$")
MIB = 2**20

MODULE = """() => performance.getEntriesByType("resource").map(({ name }) => name)
  .find((name) => /[/]hash[^/]*[.]js$/.test(name))"""

DIGESTS = """async ([module, worker, texts]) => {
  const { sha256 } = await import(module);
  const bytes = (text) => Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  const digest = (text) => sha256(new File([bytes(text)], "x"), { worker, onDone() {} });
  return Promise.all(texts.map(digest));
}"""


def hash_module(page: Page) -> str:
    """The address of the module that has loaded on this page to compute digests."""
    return str(page.evaluate(MODULE))


def whole_file(directory: Path, size: int = 12 * MIB) -> Path:
    """A real model of ``size`` bytes, most of it one tensor."""
    file = samples.chat_model()
    file.tensor("output.weight", (256, (size - 200_000) // 1024))
    path = directory / "whole.gguf"
    path.write_bytes(file.build())
    return path


def choose(page: Page, path: Path) -> None:
    page.get_by_label("Drop model files here").set_input_files(path)


def report_of(opened: Opener, path: Path, ticked: str) -> Page:
    """The report of a file that was sent with one box of the form ticked."""
    page = opened()
    page.get_by_label(ticked).check()
    choose(page, path)
    page.wait_for_url(REPORT)
    return page


def offsets(page: Page) -> list[int]:
    """Where each body sent from now on begins."""
    seen: list[int] = []

    def note(request: Any) -> None:
        if request.method == "PATCH":
            seen.append(int(request.headers["upload-offset"]))

    page.on("request", note)
    return seen


def hold_after(page: Page, arrived: int) -> Callable[[], None]:
    """Let the server have the first ``arrived`` bytes of an upload, then hold its body back.

    Call what it returns to wait until they are there.
    """
    there: list[str] = []

    def half(route: Route) -> None:
        request = route.request
        if request.method != "PATCH" or int(request.headers["upload-offset"]) > 0:
            route.continue_()
            return
        body = (request.post_data_buffer or b"")[:arrived]
        page.request.fetch(request.url, method="PATCH", headers=sent_headers(request), data=body)
        there.append(request.url)  # never answered: as a slow connection looks

    def wait() -> None:
        for _ in range(200):
            if there:
                return
            page.wait_for_timeout(50)
        raise AssertionError("nothing was sent")

    page.route("**/api/v1/uploads/*", half)
    return wait


def sent_headers(request: Any) -> dict[str, str]:
    names = ("tus-resumable", "content-type", "upload-offset", "x-csrftoken", "cookie", "referer")
    headers = request.all_headers()
    return {name: headers[name] for name in names if name in headers}


def test_the_worker_computes_what_the_standard_says(opened: Opener) -> None:
    texts = [bytes(range(256)) * 9 + b"x"] + [
        b"a" * n for n in (0, 1, 55, 56, 63, 64, 65, 119, 120)
    ]
    texts.append(bytes(17) * (MIB // 2))
    page = opened()
    worker = page.locator("[data-worker]").get_attribute("data-worker")
    sent = [base64.b64encode(text).decode() for text in texts]
    found = page.evaluate(DIGESTS, [hash_module(page), worker, sent])
    assert found == [hashlib.sha256(text).hexdigest() for text in texts]


def test_a_copy_is_compared_with_the_report(opened: Opener, tmp_path: Path) -> None:
    path = whole_file(tmp_path)
    page = report_of(opened, path, "Send everything")
    page.get_by_label("Compare with a copy").set_input_files(path)
    expect(page.get_by_text("The same as in the report.")).to_be_visible()
    expect(page.locator("[data-digest]")).to_have_text(
        hashlib.sha256(path.read_bytes()).hexdigest()
    )
    other = tmp_path / "other.gguf"
    other.write_bytes(path.read_bytes()[:-1] + b"x")
    page.get_by_label("Compare with a copy").set_input_files(other)
    expect(page.get_by_text("this is another file, or it is damaged")).to_be_visible()


def test_a_digest_computed_here_is_shown_on_the_report(opened: Opener, tmp_path: Path) -> None:
    path = whole_file(tmp_path)
    page = report_of(opened, path, "Compute the SHA-256 here")
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    expect(page.locator("[data-digest]")).to_have_text(digest)
    expect(page.get_by_text("knows no SHA-256 to compare with")).to_be_visible()


def test_a_digest_computed_here_must_be_what_the_server_gets(
    opened: Opener, tmp_path: Path
) -> None:
    path = whole_file(tmp_path)
    page = opened()
    page.get_by_label("Send everything").check()
    page.get_by_label("Compute the SHA-256 here").check()
    with page.expect_request(lambda r: r.method == "POST" and "inspections" in r.url) as asked:
        choose(page, path)
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    assert asked.value.post_data_json["expected"] == {"sha256": digest}
    page.wait_for_url(REPORT)
    expect(page.get_by_text("The same as in the report.")).to_be_visible()


def test_an_upload_is_paused_and_goes_on(opened: Opener, tmp_path: Path) -> None:
    path = whole_file(tmp_path)
    page = opened()
    page.get_by_label("Send everything").check()
    sent = hold_after(page, 5 * MIB)
    seen = offsets(page)
    choose(page, path)
    sent()
    page.get_by_role("button", name="Pause").click()
    expect(page.get_by_text("paused")).to_be_visible()
    page.get_by_role("button", name="Go on").click()
    page.wait_for_url(REPORT)
    assert seen == [0, 5 * MIB]
    expect(page.locator(".facts")).to_contain_text("computed from all bytes")


def test_an_upload_goes_on_after_a_reload(
    opened: Opener, complaints: list[str], tmp_path: Path
) -> None:
    path = whole_file(tmp_path)
    page = opened()
    page.get_by_label("Send everything").check()
    sent = hold_after(page, 5 * MIB)
    choose(page, path)
    sent()
    page.reload()
    page.unroute_all(behavior="ignoreErrors")
    expect(page.get_by_text("drop the file again and it goes on")).to_be_visible()
    expect(page.get_by_label("Send everything")).to_be_checked()
    seen = offsets(page)
    choose(page, path)
    page.wait_for_url(REPORT)
    assert seen and set(seen) == {5 * MIB}
    complaints[:] = [text for text in complaints if "423" not in text]  # the old request was ending
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    expect(page.locator("[data-sha256]").first).to_contain_text(digest)
    page.goto("/")
    expect(page.get_by_text("not finished")).to_have_count(0)


def test_what_was_not_finished_can_be_forgotten(opened: Opener, tmp_path: Path) -> None:
    page = opened()
    page.get_by_label("Send everything").check()
    sent = hold_after(page, MIB)
    choose(page, whole_file(tmp_path))
    sent()
    page.get_by_role("button", name="Pause").click()
    page.reload()
    page.unroute_all(behavior="ignoreErrors")
    page.get_by_role("button", name="Forget").click()
    page.reload()
    expect(page.get_by_text("not finished")).to_have_count(0)


def test_cancelling_deletes_what_was_sent(opened: Opener, tmp_path: Path) -> None:
    page = opened()
    page.get_by_label("Send everything").check()
    hold_after(page, MIB)
    with page.expect_request(lambda r: r.method == "DELETE") as deleted:
        choose(page, whole_file(tmp_path))
        page.get_by_role("button", name="Cancel").click()
    expect(page.locator(".sending")).to_contain_text("Cancelled.")
    deleted.value.response()
    asked = page.request.head(deleted.value.url, headers={"Tus-Resumable": "1.0.0"})
    assert asked.status == 404
    page.reload()
    page.unroute_all(behavior="ignoreErrors")
    expect(page.get_by_text("not finished")).to_have_count(0)


def test_the_theme_button_is_not_the_one_that_signs_out(opened: Opener) -> None:
    page = opened()
    page.evaluate("""() => {
      const out = document.createElement("button");
      out.className = "quiet";
      out.textContent = "Sign out";
      document.querySelector("nav").prepend(out);
    }""")
    page.get_by_role("button", name="Theme").click()
    expect(page.get_by_role("button", name="Sign out")).to_have_text("Sign out")


def test_a_finding_leads_to_its_bytes(opened: Opener, models: RangeServer) -> None:
    page = opened()
    file = samples.chat_model().key("tokenizer.ggml.eot_token_id", 9_000_000)
    report = inspect(page, models, "bytes.gguf", file.build())
    page.goto(report)
    place = page.locator(".f .where a", has_text=re.compile("^0x")).first
    shown = place.inner_text()
    place.click()
    expect(page.locator("#at")).to_be_in_viewport()
    expect(page.locator("#at .mono").first).to_have_text(shown)
    expect(page.locator(".hex .at").first).to_be_visible()


def test_a_conversation_of_ones_own(opened: Opener, models: RangeServer) -> None:
    page = opened()
    source = "{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}"
    data = samples.vocabulary_with_template(source).build()
    page.goto(inspect(page, models, "talk.gguf", data) + "template/")
    page.get_by_role("textbox", name="Message 2").fill("ebb or <b>flood</b>?")
    page.get_by_role("button", name="Render").click()
    expect(page.locator("#rendered")).to_have_text("<user>ebb or <b>flood</b>?")
