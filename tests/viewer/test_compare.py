"""Comparing two reports in the browser."""

import struct
from collections.abc import Callable
from uuid import uuid4

import pytest
from django.test import Client
from django.urls import reverse

from ggufhub.hub.models import Inspection
from ggufhub.rules.model_samples import llama
from tests.builders import Gguf
from tests.viewer.page import Page
from tests.viewer.samples import HOSTILE

Inspected = Callable[[bytes], Inspection]
Get = Callable[[str], Page]
ReadWhole = Callable[..., Inspection]


def address(before: Inspection, after: Inspection) -> str:
    return reverse("viewer:compare", args=[before.pk, after.pk])


def test_a_report_leads_to_the_others(inspected: Inspected, get: Get) -> None:
    before, after = inspected(llama()), inspected(llama({"general.name": "Newer"}))
    report = get(reverse("viewer:inspection", args=[after.pk]))
    chooser = reverse("viewer:choose", args=[after.pk])
    assert chooser in report.links
    assert address(before, after) in get(chooser).links


def test_changes_are_listed(inspected: Inspected, get: Get) -> None:
    before = inspected(llama())
    after = inspected(
        llama(
            {"general.name": "Newer", "llama.context_length": None, "new.key": 7},
            {"output.weight": None, "blk.0.attn_q.weight": ((32, 32), 1)},
        )
    )
    page = get(address(before, after))
    for part in ("Newer", "llama.context_length", "new.key", "output.weight", "HYP002"):
        assert part in page.text, part
    assert {"added", "removed", "changed"} <= {
        span.attributes.get("aria-label", "") for span in page.all("span", class_="sign")
    }


def test_equal_models_are_said_to_be_equal(inspected: Inspected, get: Get) -> None:
    assert "No differences" in get(address(inspected(llama()), inspected(llama()))).text


def test_a_template_is_shown_as_a_difference(inspected: Inspected, get: Get) -> None:
    key = "tokenizer.chat_template"
    before, after = (
        inspected(llama({key: "{{ 1 }}\nsame"})),
        inspected(llama({key: "{{ 2 }}\nsame"})),
    )
    page = get(address(before, after))
    assert "{{ 1 }}" in page.one("pre", class_="diff").text
    assert any("{{ 2 }}" in ins.text for ins in page.all("ins"))


def test_hostile_values_stay_text(inspected: Inspected, get: Get) -> None:
    page = get(address(inspected(llama()), inspected(llama({"general.name": HOSTILE}))))
    assert "<script>alert" not in page.html
    assert "\u202e" not in page.html


@pytest.mark.django_db
def test_an_unknown_report_is_not_there(client: Client, inspected: Inspected) -> None:
    row = inspected(llama())
    assert client.get(reverse("viewer:compare", args=[row.pk, uuid4()])).status_code == 404


@pytest.mark.django_db
def test_an_unfinished_one_says_so(client: Client, inspected: Inspected) -> None:
    queued = Inspection.objects.create(
        source_kind="url", locator="https://example.org/m.gguf", name="m"
    )
    answer = client.get(address(inspected(llama()), queued))
    assert answer.status_code == 409
    assert "has no report" in answer.content.decode()


def test_every_kind_of_value_is_shown_as_itself(inspected: Inspected, get: Get) -> None:
    before = inspected(llama({"a.text": "old", "a.flag": True, "a.number": 1}))
    after = inspected(llama({"a.text": "", "a.flag": False, "a.number": 0, "a.new": "None"}))
    table = get(address(before, after)).all("table", class_="changes")[0]
    rows = {
        row.children[0].text.strip(): [cell.text.strip() for cell in row.children[1:]]
        for row in table
        if row.tag == "tr"
    }
    assert rows["~ a.text"] == ["string old", "string  empty"]
    assert rows["~ a.flag"] == ["bool true", "bool false"]
    assert rows["~ a.number"] == ["uint32 1", "uint32 0"]
    assert rows["+ a.new"] == ["", "string None"]


def test_what_one_side_lacks_is_a_dash(inspected: Inspected, get: Get) -> None:
    before = inspected(llama())
    after = inspected(llama({}, {"blk.0.attn_q.weight": ((32, 32), 1)}))
    page = get(address(before, after))
    row = next(row for row in page.all("tr") if row.text.startswith("F16"))
    amounts = [cell.text for cell in row.children][1:]
    assert amounts == ["–", "1", "–", "2,048"]


def halves(**first: float) -> Gguf:
    """Three tensors; those named in ``first`` begin with another value than a half."""
    values = [value for name in "abc" for value in (first.get(name, ord(name)), *[0.5] * 7)]
    model = Gguf(data=struct.pack("<24f", *values)).key("general.architecture", "llama")
    for name in "abc":
        model.tensor(name, (8,))
    return model


def test_other_data_is_told_where_every_byte_was_read(read_whole: ReadWhole, get: Get) -> None:
    page = get(address(read_whole(m=halves()), read_whole(m=halves(b=7.0))))
    text = page.one("section", aria_labelledby="weights").text
    assert "2 of the 3 tensors in both hold the same data." in text
    assert "1 holds other data in the same shape and type: see" in text
    changed = page.all("table", class_="changes")[-1].text
    assert "~ b" in changed and changed.count(", data ") == 2


def test_the_same_data_is_said_to_be_the_same(read_whole: ReadWhole, get: Get) -> None:
    page = get(address(read_whole(m=halves()), read_whole(m=halves())))
    assert "nor in the data of any tensor" in page.text
    assert "3 of the 3 tensors" in page.text


def test_a_tensor_with_another_name_is_told(read_whole: ReadWhole, get: Get) -> None:
    renamed = Gguf(data=halves().build()[-96:]).key("general.architecture", "llama")
    for name in ("a", "b", "d"):
        renamed.tensor(name, (8,))
    page = get(address(read_whole(m=halves()), read_whole(m=renamed)))
    card = page.one("section", aria_labelledby="weights")
    (row,) = [one.text for one in card if one.tag == "tr" and one.text != "BeforeAfter"]
    assert row == "cd"


def test_headers_alone_say_nothing_of_the_data(inspected: Inspected, get: Get) -> None:
    before, after = inspected(llama()), inspected(llama())
    text = get(address(before, after))
    assert "is not known" in text.one("section", aria_labelledby="weights").text
    assert f"/i/{before.pk}/integrity/" in text.links
