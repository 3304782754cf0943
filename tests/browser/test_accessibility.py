"""axe-core finds nothing serious on any page: light and dark, on a phone and on a desk."""

from pathlib import Path

import pytest
from playwright.sync_api import Page

from ggufhub.rules.model_samples import llama
from tests.browser.axe import serious
from tests.browser.conftest import Opener
from tests.browser.test_report import inspect
from tests.browser.test_shards import report as report_of
from tests.browser.test_shards import write
from tests.core.rangeserver import RangeServer
from tests.viewer import samples

pytestmark = pytest.mark.browser

TABS = (
    "", "?severity=warning", "metadata/", "metadata/tokenizer.ggml.tokens", "tensors/",
    "tokenizer/", "template/", "layout/", "layout/?at=100", "integrity/", "raw/",
)  # fmt: skip
WHOLE = ("tensors/?show=values", "integrity/", "memory/?offload=2&gib=1")
PLAIN = ("/", "/rules/", "/rules/STR032/", "/webhooks/", "/audits/", "/signin", "/api/v1/docs")


@pytest.fixture
def pages(opened: Opener, models: RangeServer, tmp_path: Path) -> list[str]:
    """The address of one page of every kind."""
    page = opened()
    cut = inspect(page, models, "cut.gguf", samples.cut_model())
    hostile = inspect(page, models, "hostile.gguf", samples.hostile_model().build())
    page.goto("/")
    page.get_by_label("Drop model files here").set_input_files(write(tmp_path / "set"))
    report_of(page)
    split = page.url
    ids = [url.rstrip("/").rpartition("/")[2] for url in (cut, hostile)]
    reports = [url + tab for url in (cut, hostile) for tab in TABS]
    whole = read_whole(page, models)
    read = [whole + tab for tab in WHOLE]
    others = [split + "shards/", split + "layout/", f"/compare/{ids[0]}/{ids[1]}/", cut + "compare"]
    return [
        *PLAIN,
        *reports,
        *read,
        *others,
        stopped(page, models),
        audited(page, models) + "?gib=1",
    ]


def read_whole(page: Page, models: RangeServer) -> str:
    """The report of a model of which every byte was read."""
    models.files["whole.gguf"] = llama({"llama.context_length": 32_768})
    page.goto("/")
    page.get_by_label("Read every byte").check()
    page.get_by_label("Link, hub repository or registry name").fill(models.url("whole.gguf"))
    page.get_by_role("button", name="Inspect").click()
    page.wait_for_selector(".tabs")
    return page.url


def stopped(page: Page, models: RangeServer) -> str:
    """The page of a cancelled inspection."""
    models.behaviours["never.gguf"] = lambda handler, data: handler.pause(3)
    page.goto("/")
    page.get_by_label("Link, hub repository or registry name").fill(models.url("never.gguf"))
    page.get_by_role("button", name="Inspect").click()
    assert serious(page) == []
    page.get_by_role("button", name="Cancel").click()
    page.wait_for_selector("text=was cancelled")
    return page.url


def audited(page: Page, models: RangeServer) -> str:
    """The page of a finished audit of two links."""
    page.goto("/audits/")
    page.get_by_label("Or a list of links").fill(
        "\n".join(models.url(name) for name in ("cut.gguf", "hostile.gguf"))
    )
    page.get_by_role("button", name="Begin").click()
    page.wait_for_selector(".state[data-state=done]", timeout=60_000)
    return page.url


@pytest.mark.timeout(300)  # 111 looks at a page, each of up to a second
def test_nobody_is_kept_out(opened: Opener, pages: list[str]) -> None:
    """Light on a phone and on a desk. Of the colours only contrast depends, and on no width."""
    found = []
    for width in (390, 1440):
        page = opened(viewport={"width": width, "height": 900})
        for url in pages:
            page.emulate_media(color_scheme="light")
            page.goto(url)
            found += [(url, "light", width, one) for one in serious(page)]
            if width == 1440:
                page.emulate_media(color_scheme="dark")
                found += [(url, "dark", width, one) for one in serious(page, "color-contrast")]
    assert {one["id"]: (place, one["nodes"][:3]) for *place, one in found} == {}


def test_nobody_is_kept_out_of_a_conversation(opened: Opener, models: RangeServer) -> None:
    page = opened()
    report = inspect(page, models, "talk.gguf", samples.chat_model().build())
    page.goto(report + "template/?name=tool_use")
    page.get_by_role("textbox", name="Message 2").fill("ebb or flood?")
    page.get_by_role("button", name="Render").click()
    page.wait_for_selector("#rendered")
    assert serious(page) == []
