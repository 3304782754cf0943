"""The Layout tab: a map with zoom, bytes of any place, and what they mean."""

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest

from ggufhub.formats.values import SCALAR_SIZE
from ggufhub.hub import selectors
from ggufhub.hub.models import Inspection
from tests.builders import ByteOrder, Gguf
from tests.rows import built, finished
from tests.viewer import samples
from tests.viewer.conftest import Inspected
from tests.viewer.page import Element, Page
from viewer import hexdump
from viewer.fields import SIZES, Field, Meaning, field_at
from viewer.views.layout import NOT_KEPT, NOT_READ, byte_number
from viewer.zoom import LEAST, Stretch

Get = Callable[[str], Page]


def layout(row: Inspection, query: str = "") -> str:
    return f"/i/{row.pk}/layout/{query}"


def cells(table: Element) -> list[list[str]]:
    rows = [element for element in table if element.tag == "tr"]
    return [[part.text for part in row.children if isinstance(part, Element)] for row in rows[1:]]


def place(row: Inspection, key: str) -> int:
    entries = selectors.document(row.report)["metadata"]
    return next(entry["offset"] for entry in entries if entry["key"] == key)


def test_a_page_of_bytes_with_their_characters(get: Get, chat: Inspection) -> None:
    table = cells(get(layout(chat)).one("table", class_="hex"))
    assert len(table) == 16
    assert table[0][0] == "0x00000000"
    assert table[0][1].startswith("47 47 55 46 03 00 00 00")
    assert table[0][2].startswith("GGUF\u00b7")


def test_the_bytes_of_a_key_are_taken_apart(get: Get, chat: Inspection) -> None:
    at = place(chat, "llama.context_length")
    fields = cells(get(layout(chat, f"?at={at}")).one("table", class_="parts"))
    assert [(row[0], row[2], row[3]) for row in fields] == [
        ("length of the name", "8", "20"),
        ("name", "20", "llama.context_length"),
        ("type", "4", "uint32"),
        ("value", "4", "4096"),
    ]
    assert fields[3][1] == f"0x{at + 32:08X}"


def test_strings_and_arrays_have_their_lengths_apart(get: Get, chat: Inspection) -> None:
    text = get(layout(chat, f"?at={place(chat, 'general.license')}")).one("table", class_="parts")
    assert [(row[0], row[3]) for row in cells(text)][3:] == [
        ("length of the text", "10"), ("text", "apache-2.0"),
    ]  # fmt: skip
    array = get(layout(chat, f"?at={place(chat, 'sample.few')}")).one("table", class_="parts")
    assert [(row[0], row[2], row[3]) for row in cells(array)][3:] == [
        ("type of the elements", "4", "uint32"), ("number of elements", "8", "12"),
        ("elements", "48", ""),
    ]  # fmt: skip


def test_a_tensor_entry_is_taken_apart(get: Get, chat: Inspection) -> None:
    tensor = selectors.document(chat.report)["tensors"][0]
    page = get(layout(chat, f"?at={tensor['place']['offset']}"))
    assert [(row[0], row[3]) for row in cells(page.one("table", class_="parts"))] == [
        ("length of the name", "17"), ("name", "token_embd.weight"), ("number of dimensions", "2"),
        ("dimension 1", "256"), ("dimension 2", "300"), ("type", "Q8_0"),
        ("place in the data", "0"),
    ]  # fmt: skip


@pytest.mark.parametrize("version", [1, 2, 3])
@pytest.mark.parametrize("order", list(ByteOrder))
def test_fields_fill_their_piece_in_every_version_and_order(
    tmp_path: Path, version: int, order: ByteOrder
) -> None:
    file = Gguf(version=version, order=order).key("general.architecture", "llama")
    file.key("a.flag", True).key("a.number", 7).tensor("one.weight", (8, 4))
    data = file.build()
    document = built(data, tmp_path).document
    meaning = Meaning(document, document["name"], lambda at, length: data[at : at + length])
    for piece in document["layout"]:
        fields = meaning.fields(piece, piece["offset"])
        assert fields[0].offset == piece["offset"]
        assert all(a.offset + a.length == b.offset for a, b in pairwise(fields))
        last = fields[-1]
        assert last.offset + last.length == piece["offset"] + piece["length"], piece
        if piece["what"] == "tensor table":
            assert [one.value for one in fields][:4] == ["10", "one.weight", "2", "8"]


def test_a_length_that_leaves_its_piece_is_not_followed(tmp_path: Path) -> None:
    data = Gguf().key("general.architecture", "llama").build()
    document = built(data, tmp_path).document
    lying = Meaning(document, document["name"], lambda at, length: b"\xff" * length)
    piece = next(piece for piece in document["layout"] if piece["what"] == "key")
    assert [one.name for one in lying.fields(piece, piece["offset"])] == ["key"]


def test_the_sizes_are_those_of_the_format() -> None:
    assert {kind.label: size for kind, size in SCALAR_SIZE.items()} == SIZES


def test_the_field_asked_for_is_marked(get: Get, chat: Inspection) -> None:
    at = place(chat, "llama.context_length") + 32
    page = get(layout(chat, f"?at={at}"))
    assert any("value" in row.text for row in page.all("tr", class_="here"))
    assert "".join(run.text for run in page.all("span", class_="at")) == "00\u00b7"


def test_a_length_marks_that_many_bytes(get: Get, chat: Inspection) -> None:
    page = get(layout(chat, "?at=4&length=4"))
    shown = [run.text for run in page.all("span", class_="sel")]
    assert shown == ["00 00 00", "\u00b7\u00b7\u00b7"]


def test_pages_lead_on_and_back(get: Get, chat: Inspection) -> None:
    page = get(layout(chat, "?at=300"))
    assert cells(page.one("table", class_="hex"))[0][0] == "0x00000100"
    for rel, first in (("next", "0x00000200"), ("prev", "0x00000000")):
        link = page.one("a", rel=rel).attributes["href"]
        assert cells(get(layout(chat) + link).one("table", class_="hex"))[0][0] == first


def test_the_data_of_tensors_is_not_kept_and_the_page_says_so(
    get: Get, inspected: Inspected
) -> None:
    row = inspected(samples.chat_model(blocks=400))
    last = selectors.document(row.report)["layout"][-1]
    page = get(layout(row, f"?at={last['offset']}"))
    assert NOT_READ in page.text
    assert not page.all("table", class_="hex")
    assert last["name"] in page.one("h2", id="at").text


def test_a_report_without_its_header_says_so(get: Get, db: None, tmp_path: Path) -> None:
    row = finished(built(samples.chat_model().build(), tmp_path)).inspection
    page = get(layout(row, "?at=0"))
    assert NOT_KEPT in page.text
    assert cells(page.one("table", class_="parts"))[0][0] == "magic"


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("4096", 4096), (" 0x1000 ", 4096), ("4,096", 4096), ("0XfF", 255), ("", None),
        (None, None), ("-1", None), ("0x", None), ("x", None), ("0x" + "f" * 16, 2**40),
    ],
)  # fmt: skip
def test_a_byte_is_read_as_people_write_it(text: str | None, number: int | None) -> None:
    assert byte_number(text) == number


@pytest.mark.parametrize(
    "query",
    [
        "?at=zzz", "?at=99999999999", "?from=9&to=3", "?file=no", "?length=x", "?tensor=none",
        "?start=99999", "?from=0&to=1",
    ],
)  # fmt: skip
def test_nonsense_shows_something_sensible(get: Get, chat: Inspection, query: str) -> None:
    assert get(layout(chat, query)).one("h2", id="at")


def test_the_map_zooms_by_links(get: Get, chat: Inspection) -> None:
    page = get(layout(chat, "?at=200"))
    names = steps(page)
    assert list(names) == ["Header", "Zoom in"]
    header = get(names["Header"])
    rects = header.one("svg", class_="bar")
    assert not any("m-d" in part.attributes.get("class", "") for part in rects)
    nearer = get(names["Zoom in"])
    assert {"Whole file", "Zoom out", "Later"} <= set(steps(nearer))
    assert all("at=200" in href for href in steps(nearer).values())


def steps(page: Page) -> dict[str, str]:
    """Where the map can go from here."""
    links = [link for link in page.one("nav", class_="zoom") if link.tag == "a"]
    return {link.text: link.attributes["href"] for link in links}


def test_a_stretch_stays_inside_the_file() -> None:
    whole = Stretch.of(None, None, 10_000)
    assert whole.whole and whole.zoomed(1_000, 5) == Stretch(0, 1_000, 10_000)
    assert whole.zoomed(1_000, 9_999) == Stretch(9_000, 10_000, 10_000)
    assert Stretch.of(0, 10, 10_000).whole, "fewer bytes than can be told apart"
    assert Stretch.of(100, 200, 10_000).zoomed(1, None).end - 100 <= LEAST + 50
    for stretch in (whole, Stretch(9_000, 10_000, 10_000), Stretch(0, 64, 10_000)):
        for _, step in stretch.steps(50, 512):
            assert 0 <= step.begin < step.end <= 10_000


def test_every_file_of_a_split_model_has_its_layout(get: Get, split: Inspection) -> None:
    document = selectors.document(split.report)
    page = get(f"/i/{split.pk}/shards/")
    for file in document["files"]:
        link = next(href for href in page.links if f"file={file['name']}" in href)
        shown = get(link)
        assert cells(shown.one("table", class_="hex"))[0][2].startswith("GGUF")
        mine = [one["name"] for one in document["tensors"] if one["file"] == file["name"]]
        assert mine and all(name in shown.one("table", class_="places").text for name in mine)
        assert len(shown.one("nav", aria_label="Files").text.split("gguf")) == 4


def test_a_tensor_of_a_later_shard_leads_to_its_byte(get: Get, split: Inspection) -> None:
    tensor = selectors.document(split.report)["tensors"][-1]
    page = get(f"/i/{split.pk}/tensors/?q={tensor['name']}")
    link = next(href for href in page.links if f"tensor={tensor['name']}" in href)
    assert tensor["name"] in get(link).one("h2", id="at").text


def test_one_file_has_no_shards_tab(get: Get, chat: Inspection, client) -> None:
    assert not any("/shards/" in link for link in get(f"/i/{chat.pk}/").links)
    assert client.get(f"/i/{chat.pk}/shards/").status_code == 404


def test_marks_of_bytes_the_later_wins() -> None:
    row = hexdump.rows(b"abcd", 32, [(32, 36, "even"), (33, 34, "at")])[0]
    assert [(run.hex, run.text, run.mark) for run in row.runs] == [
        ("61", "a", "even"), ("62", "b", "at"), ("63 64", "cd", "even"),
    ]  # fmt: skip


def test_a_field_is_found_by_its_byte() -> None:
    fields = [Field("a", 0, 4), Field("b", 4, 2)]
    assert [field and field.name for field in (field_at(fields, at) for at in (0, 3, 5, 6))] == [
        "a", "a", "b", None,
    ]  # fmt: skip
