"""What holds for every page: the policy, the outline, names for controls, links that lead on."""

import re
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest
from django.contrib.staticfiles import finders
from django.test import Client

from ggufhub.hub.models import Inspection
from ggufhub.rules.model_samples import llama
from tests.viewer import samples
from tests.viewer.conftest import Inspected
from tests.viewer.page import Element, Page

Get = Callable[[str], Page]
TABS = (
    "",
    "metadata/",
    "tensors/",
    "tensors/?show=values",
    "tokenizer/",
    "template/",
    "memory/?gib=1&offload=1",
    "layout/",
    "integrity/",
    "raw/",
)
ASSET_BYTES = 150_000


def pages_of(row: Inspection) -> list[str]:
    own = [f"/i/{row.pk}/{tab}" for tab in TABS]
    return ["/", "/rules/", "/rules/STR032/", f"/i/{row.pk}/metadata/tokenizer.ggml.tokens", *own]


@pytest.fixture(params=[samples.chat_model, samples.hostile_model, llama])
def pages(request, get: Get, inspected: Inspected) -> dict[str, Page]:
    return {url: get(url) for url in pages_of(inspected(request.param()))}


def test_nothing_is_inline(pages: dict[str, Page]) -> None:
    for url, page in pages.items():
        assert not page.all("style"), url
        assert all(script.attributes.get("src") for script in page.all("script")), url
        for element in page.root:
            loud = [name for name in element.attributes if name == "style" or name.startswith("on")]
            assert not loud, (url, element.tag, loud)


def test_ids_are_unique_and_named_things_exist(pages: dict[str, Page]) -> None:
    for url, page in pages.items():
        ids = [e.attributes["id"] for e in page.root if "id" in e.attributes]
        assert _repeats_only_names_of_the_file(ids), url
        for element in page.all("section"):
            name = element.attributes.get("aria-labelledby")
            assert name is None or name in ids, (url, name)


def _repeats_only_names_of_the_file(ids: list[str]) -> bool:
    """A file may name two tensors or keys alike; an address then finds the first."""
    repeated = {name for name in ids if ids.count(name) > 1}
    return all(name.startswith(("t-", "key-")) for name in repeated)


def test_the_outline_is_sound(pages: dict[str, Page]) -> None:
    for url, page in pages.items():
        levels = [int(e.tag[1]) for e in page.root if re.fullmatch("h[1-6]", e.tag)]
        assert levels[0] == 1 and levels.count(1) == 1, url
        assert all(after <= before + 1 for before, after in pairwise(levels)), url
        assert len(page.all("main")) == len(page.all("header")) == 1, url


def test_every_control_has_a_name(pages: dict[str, Page]) -> None:
    for url, page in pages.items():
        labelled = {label.attributes.get("for") for label in page.all("label")}
        for control in [*page.all("input"), *page.all("select")]:
            if control.attributes.get("type") == "hidden":
                continue
            named = control.attributes.get("aria-label") or control.attributes.get("id") in labelled
            assert named or _inside(control, "label"), (url, control.attributes)
        for button in page.all("button"):
            assert button.text.strip(), url
        for picture in page.all("svg"):
            assert {"aria-label", "aria-hidden"} & set(picture.attributes), url


def _inside(element: Element, tag: str) -> bool:
    parent = element.parent
    return parent is not None and (parent.tag == tag or _inside(parent, tag))


def test_foreign_strings_are_isolated_and_inert(get: Get, inspected: Inspected) -> None:
    row = inspected(samples.hostile_model())
    for url in pages_of(row):
        page = get(url)
        assert "<script>alert" not in page.html and "<img" not in page.html, url
        assert not re.search("[\u202e\u200b\x1b]", _without_urls(page.html)), url
    metadata = get(f"/i/{row.pk}/metadata/")
    assert all(_inside(span, "bdi") for span in metadata.all("span", class_="esc"))


def _without_urls(html: str) -> str:
    """A form field has to carry the text as it is; everything else must show it."""
    return re.sub(r'value="[^"]*"', "", html)


def test_every_link_of_a_report_leads_somewhere(
    client: Client, get: Get, inspected: Inspected
) -> None:
    row = inspected(samples.hostile_model())
    seen: set[str] = set()
    for url in pages_of(row):
        for link in get(url).links:
            address = link.partition("#")[0]
            if not address or address in seen:
                continue
            seen.add(address)
            target = url.partition("?")[0] + address if address.startswith("?") else address
            assert client.get(target, follow=True).status_code == 200, (url, link)
    assert len(seen) > 60


def test_each_key_has_the_page_of_its_own_array(get: Get, inspected: Inspected) -> None:
    row = inspected(samples.hostile_model())
    cells = get(f"/i/{row.pk}/metadata/").all("span", class_="arr")
    arrays = [link.attributes["href"] for cell in cells for link in cell if link.tag == "a"]
    assert len(arrays) == len(samples.HOSTILE_KEYS) + 1
    names = {get(url).one("h2", id="array").text.split(" / ")[1] for url in arrays}
    assert len(names) == len(arrays)


def test_the_assets_of_a_page_are_small(pages: dict[str, Page]) -> None:
    for url, page in pages.items():
        hrefs = [link.attributes["href"] for link in page.all("link")]
        paths = [*hrefs, *(script.attributes["src"] for script in page.all("script"))]
        files = [finders.find(path.removeprefix("/static/")) for path in paths]
        assert all(files), (url, paths)
        assert sum(Path(file).stat().st_size for file in files) < ASSET_BYTES, url


def test_pages_of_an_owner_stay_out_of_caches(client: Client, chat: Inspection) -> None:
    for url in ("/", f"/i/{chat.pk}/", f"/i/{chat.pk}/tensors/"):
        assert client.get(url).headers["Cache-Control"] == "private, no-store"


def test_every_rule_has_its_page(get: Get) -> None:
    links = [link for link in get("/rules/").links if re.fullmatch(r"/rules/[A-Z]{3}\d{3}/", link)]
    assert len(links) >= 28
    for link in links:
        page = get(link)
        assert len(page.one("section", class_="prose").text) > 40, link


@pytest.mark.parametrize(
    "url", ["/nothing", "/rules/STR999/", "/i/00000000-0000-4000-8000-000000000000/"]
)
def test_what_is_not_there_is_404(client: Client, db: None, url: str) -> None:
    assert client.get(url).status_code == 404
