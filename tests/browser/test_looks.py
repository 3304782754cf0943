"""Light and dark, phone and desk, paper: readable everywhere, nothing runs off the side."""

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import Opener
from tests.browser.test_report import inspect
from tests.core.rangeserver import RangeServer
from tests.viewer import samples

pytestmark = pytest.mark.browser
TABS = (
    "", "metadata/", "tensors/", "tokenizer/", "template/", "layout/?at=100", "integrity/", "raw/",
)  # fmt: skip

CONTRAST = """() => {
  const canvas = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
  const rgb = (colour) => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = colour;
    canvas.fillRect(0, 0, 1, 1);
    return [...canvas.getImageData(0, 0, 1, 1).data];
  };
  const linear = (v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
  const light = ([r, g, b]) =>
    0.2126 * linear(r / 255) + 0.7152 * linear(g / 255) + 0.0722 * linear(b / 255);
  const behind = (element) => {
    for (let e = element; e; e = e.parentElement) {
      const colour = rgb(getComputedStyle(e).backgroundColor);
      if (colour[3] === 255) return colour;
    }
    return [255, 255, 255, 255];
  };
  const poor = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const text = walker.currentNode.data.trim();
    const element = walker.currentNode.parentElement;
    if (!text || element.closest("svg, .pager span") || !element.checkVisibility()) continue;
    const pair = [light(rgb(getComputedStyle(element).color)), light(behind(element))];
    const [darker, lighter] = pair.sort((x, y) => x - y);
    const ratio = (lighter + 0.05) / (darker + 0.05);
    if (ratio < 4.5) poor.push(`${ratio.toFixed(2)} ${element.className} ${text}`);
  }
  return poor;
}"""
"""Texts with less contrast than WCAG's AA asks of small text; a pager's dead ends are exempt."""


def background(page: Page) -> str:
    return page.evaluate("getComputedStyle(document.body).backgroundColor")


@pytest.fixture
def report(opened: Opener, models: RangeServer) -> str:
    return inspect(opened(), models, "looks.gguf", samples.cut_model())


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_stands_out_from_what_is_behind_it(opened: Opener, report: str, scheme: str) -> None:
    page = opened(color_scheme=scheme)
    for url in ("/", "/rules/", "/rules/STR032/", *(report + tab for tab in TABS)):
        page.goto(url)
        assert page.evaluate(CONTRAST) == [], url


@pytest.mark.parametrize("width", [320, 390, 768, 1440, 2560])
def test_nothing_runs_off_the_side(
    opened: Opener, models: RangeServer, report: str, width: int
) -> None:
    page = opened(viewport={"width": width, "height": 900})
    hostile = inspect(page, models, "hostile.gguf", samples.hostile_model().build())
    for url in ("/", "/rules/", *(base + tab for base in (report, hostile) for tab in TABS)):
        page.goto(url)
        assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0, url


def test_the_system_decides_until_the_visitor_does(opened: Opener) -> None:
    page = opened(color_scheme="dark")
    assert background(page) == "rgb(19, 20, 22)"
    button = page.get_by_role("button", name="Theme")
    button.click()
    expect(button).to_have_text("Light")
    assert background(page) == "rgb(247, 247, 245)"
    page.goto("/rules/")
    assert background(page) == "rgb(247, 247, 245)"
    button.click()
    button.click()
    expect(button).to_have_text("Auto")
    assert background(page) == "rgb(19, 20, 22)"


def test_paper_is_white_and_has_no_controls(opened: Opener, report: str) -> None:
    page = opened(report, color_scheme="dark")
    page.emulate_media(media="print")
    assert background(page) == "rgb(255, 255, 255)"
    expect(page.locator(".tabs")).to_be_hidden()
    expect(page.locator(".findings")).to_be_visible()


def test_nothing_moves_for_those_who_asked(opened: Opener, models: RangeServer) -> None:
    models.behaviours["still.gguf"] = lambda handler, data: handler.pause(3)
    page = opened(reduced_motion="reduce")
    page.get_by_label("Link, hub repository or registry name").fill(models.url("still.gguf"))
    page.get_by_role("button", name="Inspect").click()
    name = page.locator(".pulse i").first.evaluate("e => getComputedStyle(e).animationName")
    assert name == "none"
    page.get_by_role("button", name="Cancel").click()
