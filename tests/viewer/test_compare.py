"""Comparing two reports in the browser."""

from collections.abc import Callable
from uuid import uuid4

import pytest
from django.test import Client
from django.urls import reverse

from ggufhub.hub.models import Inspection
from ggufhub.rules.model_samples import llama
from tests.viewer.page import Page
from tests.viewer.samples import HOSTILE

Inspected = Callable[[bytes], Inspection]
Get = Callable[[str], Page]


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
