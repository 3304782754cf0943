"""What the tensors hold, as a second view of their table."""

import struct
from collections.abc import Callable

import pytest
from django.test import Client

from ggufhub.hub.models import Inspection
from ggufhub.integrity.sampling import ELEMENTS
from tests.builders import Gguf
from tests.viewer import samples
from tests.viewer.conftest import Inspected
from tests.viewer.page import Element, Page
from viewer.tensor_values import SAMPLE

Get = Callable[[str], Page]
ReadWhole = Callable[..., Inspection]

NAN = float("nan")
COLUMNS = ("mean", "deviation", "least", "greatest", "zeros", "sampled", "zero blocks",
           "constant rows", "largest scale")  # fmt: skip


def three(last: float = 1.0) -> Gguf:
    """``up`` counts from -16 to 15, ``down`` is the same, ``norm`` is ``last`` and zeros."""
    counting = [float(n) for n in range(-16, 16)]
    values = [*counting, *counting, last, *[0.0] * 31]
    model = Gguf(data=struct.pack(f"<{len(values)}f", *values)).key("general.architecture", "llama")
    for name in ("up", "down", "norm"):
        model.tensor(f"blk.0.{name}.weight", (32,))
    return model


def table(page: Page) -> dict[str, dict[str, str]]:
    """The values by the words of the columns, by the name of the tensor."""
    return {_name(row): _cells(row) for row in page.one("table", class_="values") if _is_row(row)}


def _is_row(element: Element) -> bool:
    return element.tag == "tr" and element.attributes.get("id", "").startswith("t-")


def _name(row: Element) -> str:
    return next(link.text for link in row if link.tag == "a")


def _cells(row: Element) -> dict[str, str]:
    return {cell.attributes["data-label"]: cell.text for cell in row if cell.tag == "td"}


def test_the_numbers_of_each_tensor(get: Get, read_whole: ReadWhole) -> None:
    found = table(get(f"/i/{read_whole(model_gguf=three()).pk}/tensors/?show=values"))
    up, norm = found["blk.0.up.weight"], found["blk.0.norm.weight"]
    assert tuple(up) == COLUMNS
    assert list(up.values())[:7] == ["-0.5", "9.233", "-16", "15", "3.1 %", "100.0 %", "3.1 %"]
    assert (norm["zeros"], norm["greatest"], norm["largest scale"]) == ("96.9 %", "1", "1")


def test_equal_tensors_name_the_first(get: Get, read_whole: ReadWhole) -> None:
    page = get(f"/i/{read_whole(model_gguf=three()).pk}/tensors/?show=values")
    notes = [row.text for row in page.all("tr") if "the same data as" in row.text]
    (note,) = notes
    assert note.startswith("blk.0.down.weight")
    assert "the same data as blk.0.up.weight" in note
    assert any("q=blk.0.up.weight" in link for link in page.links)


def test_what_is_no_number_is_told_by_its_finding(get: Get, read_whole: ReadWhole) -> None:
    page = get(f"/i/{read_whole(model_gguf=three(NAN)).pk}/tensors/?show=values")
    row = next(row for row in page.all("tr") if row.text.startswith("blk.0.norm.weight"))
    assert _cells(row)["largest scale"] == "–"
    assert _cells(row)["greatest"] == "0"
    tags = [link for link in row if "tag" in link.attributes.get("class", "").split()]
    assert [link.attributes["href"] for link in tags] == ["/rules/QNT010/"]


@pytest.mark.parametrize(
    ("sort", "first"),
    [("mean", "blk.0.up.weight"), ("-mean", "blk.0.norm.weight"), ("-zeros", "blk.0.norm.weight"),
     ("name", "blk.0.down.weight"), ("-scale", "blk.0.up.weight"), ("nonsense", "blk.0.up.weight")],
)  # fmt: skip
def test_every_column_sorts(get: Get, read_whole: ReadWhole, sort: str, first: str) -> None:
    page = get(f"/i/{read_whole(model_gguf=three()).pk}/tensors/?show=values&sort={sort}")
    assert next(iter(table(page))) == first
    marked = [head for head in page.all("th") if "aria-sort" in head.attributes]
    assert len(marked) == (sort != "nonsense")


def test_a_filter_keeps_the_view(get: Get, read_whole: ReadWhole) -> None:
    page = get(f"/i/{read_whole(model_gguf=three()).pk}/tensors/?show=values&q=norm")
    assert list(table(page)) == ["blk.0.norm.weight"]
    assert page.one("input", name="show").attributes["value"] == "values"
    assert "1 of 3 tensors" in page.text
    assert "?show=values" in page.links


def test_a_header_says_how_to_get_them(get: Get, chat: Inspection) -> None:
    page = get(f"/i/{chat.pk}/tensors/?show=values")
    assert "only the header was read" in page.text
    assert "ggufhub check ./model.gguf --profile publish --depth full" in page.text
    assert not page.all("table", class_="values")


def test_a_link_is_read_whole_by_a_button(client: Client, get: Get, chat: Inspection) -> None:
    link = "https://example.org/model.gguf"
    Inspection.objects.filter(pk=chat.pk).update(source_kind="url", locator=link)
    form = get(f"/i/{chat.pk}/tensors/?show=values").one("form", class_="every")
    fields = {one.attributes["name"]: one.attributes["value"] for one in form if one.tag == "input"}
    assert client.post(form.attributes["action"], fields).status_code == 302
    row = Inspection.objects.exclude(pk=chat.pk).get()
    assert (row.locator, row.depth) == (link, "full")


def test_the_first_page_offers_every_byte_and_remembers(client: Client, db: None) -> None:
    client.post("/inspect", {"link": "https://example.org/m.gguf", "depth": "full"})
    client.post("/inspect", {"link": "https://example.org/n.gguf", "depth": "<b>"})
    depths = Inspection.objects.order_by("locator").values_list("depth", flat=True)
    assert list(depths) == ["full", "header"]
    refused = Page(client.post("/inspect", {"link": "no link", "depth": "full"}).content.decode())
    assert "checked" in refused.one("input", name="depth", value="full").attributes


def test_names_of_a_hostile_file_stay_text(get: Get, read_whole: ReadWhole) -> None:
    page = get(f"/i/{read_whole(model_gguf=samples.hostile_model()).pk}/tensors/?show=values")
    assert "<script>alert" not in page.html
    assert "\u202e" not in page.html.partition("<table")[2]


def test_a_file_without_tensors_has_no_values(get: Get, inspected: Inspected) -> None:
    row = inspected(Gguf().key("general.architecture", "llama"))
    assert "no tensors" in get(f"/i/{row.pk}/tensors/?show=values").text


def test_the_sample_is_as_large_as_the_page_says() -> None:
    assert SAMPLE == ELEMENTS
