"""What people come for, from the first page to the answer: on a phone in the dark, at a desk."""

import csv
import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import Opener
from tests.browser.test_report import inspect
from tests.builders import vocabulary
from tests.core.rangeserver import RangeServer
from tests.viewer import samples

pytestmark = pytest.mark.browser
SCREENS = [("dark", 390), ("light", 1440)]


@pytest.fixture(params=SCREENS, ids=[f"{scheme}-{width}" for scheme, width in SCREENS])
def page(request: pytest.FixtureRequest, opened: Opener) -> Page:
    scheme, width = request.param
    return opened(color_scheme=scheme, viewport={"width": width, "height": 844})


def tab(page: Page, name: str) -> None:
    page.get_by_label("Report").get_by_role("link", name=name, exact=True).click()


def test_a_token_is_found_by_its_text_and_by_its_id(page: Page, models: RangeServer) -> None:
    inspect(page, models, "words.gguf", samples.chat_model().build())
    tab(page, "Tokenizer")
    search = page.get_by_label("Search tokens by text or id")
    rows = page.locator("table.tokens tbody tr")
    search.fill("w29")
    search.press("Enter")
    expect(rows).to_have_count(11)
    expect(page.locator("#token-290")).to_contain_text("w290")
    search.fill("2")
    search.press("Enter")
    expect(page.locator("#token-2")).to_contain_text("hello")


def test_a_link_to_an_operation_of_the_api_opens_it(page: Page) -> None:
    page.goto("/api/v1/docs#uploads_append")
    operation = page.locator("details.operation", has=page.locator("#uploads_append"))
    expect(operation.get_by_role("heading", name="Answers")).to_be_in_viewport()
    expect(page.locator("details.operation[open]")).to_have_count(1)


def test_two_reports_are_compared(page: Page, models: RangeServer) -> None:
    inspect(page, models, "before.gguf", samples.chat_model().build())
    inspect(page, models, "after.gguf", samples.chat_model(5).build()[:-100])
    page.get_by_role("link", name="Compare").click()
    page.get_by_role("link", name="before.gguf").first.click()
    expect(page.get_by_role("heading", level=1)).to_have_text("What changed")
    expect(page.get_by_role("region", name="Findings")).to_contain_text("STR032")
    expect(page.get_by_role("region", name=re.compile(r"^Tensors \d"))).to_contain_text("blk.4.")


def test_a_whole_folder_of_links_is_audited(
    page: Page, models: RangeServer, tmp_path: Path
) -> None:
    models.files |= {
        "good.gguf": vocabulary().build(),
        "cut.gguf": samples.cut_model(),
    }
    page.goto("/audits/")
    links = "\n".join(models.url(name) for name in models.files)
    page.get_by_label("Or a list of links").fill(links)
    page.get_by_role("button", name="Begin").click()
    page.wait_for_selector(".state[data-state=done]", timeout=60_000)
    matrix = page.get_by_role("region", name="Models and checks")
    expect(matrix.locator("tbody tr")).to_have_count(2)
    page.get_by_label("Verdict").select_option("fail")
    page.get_by_role("button", name="Show").click()
    expect(matrix.locator("tbody tr")).to_have_count(1)
    with page.expect_download() as download:
        page.get_by_role("link", name="csv", exact=True).click()
    download.value.save_as(tmp_path / "audit.csv")
    lines = list(csv.DictReader((tmp_path / "audit.csv").open(newline="")))
    assert [line["path"].rpartition("/")[2] for line in lines if line["verdict"] == "fail"] == [
        "cut.gguf"
    ]
    matrix.get_by_role("link", name="cut.gguf").click()
    expect(page.locator(".f", has_text="STR032")).to_be_visible()
