"""Reading a report: findings lead to their places, ten thousand rows scroll, keys are enough."""

import itertools
import re
import unicodedata

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import Opener
from tests.core.rangeserver import RangeServer
from tests.viewer import samples
from viewer.text import visible

pytestmark = pytest.mark.browser


def inspect(page: Page, models: RangeServer, name: str, data: bytes) -> str:
    """Submits ``data`` as a link; returns the path of the finished report."""
    models.files[name] = data
    page.goto("/")
    page.get_by_label("Link, hub repository or registry name").fill(models.url(name))
    page.get_by_role("button", name="Inspect").click()
    page.wait_for_selector(".tabs")
    return page.url


def test_a_finding_leads_to_its_tensor_its_byte_and_its_rule(
    opened: Opener, models: RangeServer
) -> None:
    page = opened()
    report = inspect(page, models, "cut.gguf", samples.cut_model())
    finding = page.locator(".f", has_text="STR032")
    finding.get_by_role("link", name="output_norm.weight").click()
    expect(page.locator("tr:target")).to_contain_text("output_norm.weight")
    expect(page.locator("tr:target")).to_be_in_viewport()
    page.goto(report)
    finding.get_by_role("link", name=re.compile("^0x")).click()
    expect(page.locator("#at")).to_be_in_viewport()
    page.goto(report)
    finding.get_by_role("link", name="STR032").click()
    expect(page.get_by_role("heading", level=1)).to_have_text(
        "Tensor data ends beyond the end of the file"
    )


def test_ten_thousand_tensors_scroll_in_one_table(opened: Opener, models: RangeServer) -> None:
    page = opened(viewport={"width": 1440, "height": 900})
    inspect(page, models, "many.gguf", samples.many_tensors(10_000).build())
    page.get_by_label("Report").get_by_role("link", name="Tensors").click()
    table = page.get_by_role("region", name="Tensors, scrolling")
    expect(table.get_by_text("blk.0.attn_norm.weight")).to_be_visible()
    assert table.locator("tr").count() < 120
    table.focus()
    page.keyboard.press("End")
    expect(table.get_by_text("blk.999.post_norm.weight")).to_be_visible()
    assert table.locator("tr").count() < 120
    table.get_by_role("link", name="Name").focus()
    page.keyboard.press("Enter")
    expect(page.locator("th[aria-sort=ascending]")).to_have_text("Name")


def test_the_scrolling_table_agrees_with_the_pages(opened: Opener, models: RangeServer) -> None:
    page = opened(viewport={"width": 1440, "height": 900})
    report = inspect(page, models, "same.gguf", samples.many_tensors(500).build())
    plain = opened(report + "tensors/", java_script_enabled=False)
    page.goto(report + "tensors/")
    scrolling = page.locator(".window tbody tr:not(.gap)")
    expect(scrolling.nth(5)).not_to_contain_text("…")
    for index in range(6):
        cells = plain.locator("tbody tr").nth(index).locator("th, td").all_inner_texts()
        assert scrolling.nth(index).locator("th, td").all_inner_texts() == cells


def test_keys_alone_are_enough(opened: Opener, models: RangeServer) -> None:
    models.files["keys.gguf"] = samples.chat_model().build()
    page = opened()
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to the content")).to_be_focused()
    page.keyboard.press("Enter")
    tab_to(page, "input[name=link]")
    page.keyboard.type(models.url("keys.gguf"))
    page.keyboard.press("Enter")
    page.wait_for_selector(".tabs")
    tab_to(page, ".tabs a:has-text('Metadata')")
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    page.keyboard.press("Enter")
    page.wait_for_selector(".tabs a.on:has-text('Metadata')")
    tab_to(page, "input[name=q]")
    page.keyboard.type("story")
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile(r"\?q=story"))
    tab_to(page, "details.long summary")
    page.keyboard.press("Enter")
    expect(page.locator("details.long pre")).to_be_visible()


def tab_to(page: Page, selector: str) -> None:
    """Presses Tab until the element has the focus; 60 stops are more than any page has above it."""
    for _ in range(60):
        page.keyboard.press("Tab")
        if page.locator(selector).first.evaluate("e => e === document.activeElement"):
            return
    raise AssertionError(f"Tab never reaches {selector}")


def test_hostile_strings_run_nothing(opened: Opener, models: RangeServer) -> None:
    page = opened(viewport={"width": 1440, "height": 900})
    page.on("dialog", lambda dialog: pytest.fail(f"a dialog: {dialog.message}"))
    report = inspect(page, models, "hostile.gguf", samples.hostile_model().build())
    for tab in ("", "metadata/", "tensors/", "tokenizer/", "template/", "layout/", "raw/"):
        page.goto(report + tab)
        assert page.locator("img, main script").count() == 0
        assert "\u202e" not in page.locator("body").inner_text()


def test_browser_and_server_show_the_same_characters(opened: Opener) -> None:
    page = opened()
    by_category = itertools.groupby(
        sorted(map(chr, [*range(0xD800), *range(0xE000, 0x110000)]), key=unicodedata.category),
        unicodedata.category,
    )
    sample = [c for _, group in by_category for c in itertools.islice(group, 300)]
    sample += [c for c in map(chr, range(0xD800)) if visible(c) != c]
    sample += ["\n" * 31, "a\u202e\u202eb", "\U000e0041\U000e0041", "<b>&"]
    address = page.locator("script[src*=drop]").evaluate("e => e.src.replace(/drop[^/]*$/, '')")
    shown = page.evaluate(
        """async ([address, sample]) => {
            const script = document.querySelector("script[src*=drop]");
            const imported = async (url, name) => {
                const source = await (await fetch(url)).text();
                return address + source.match(new RegExp(`"[.]/(${name}[^"]*[.]js)"`))[1];
            };
            const { visible } = await import(
                await imported(await imported(script.src, "sending"), "text")
            );
            return sample.map(visible);
        }""",
        [address, sample],
    )
    assert dict(zip(sample, shown, strict=True)) == {c: visible(c) for c in sample}
