"""The Memory tab: figures, what fits, wrong input."""

from collections.abc import Callable

import pytest
from django.urls import reverse

from ggufhub.hub.models import Inspection
from ggufhub.rules.model_samples import llama
from tests.builders import vocabulary
from tests.viewer.page import Page

Get = Callable[[str], Page]


@pytest.fixture
def address(inspected: Callable[[bytes], Inspection]) -> str:
    row = inspected(llama({"llama.context_length": 32_768}))
    return reverse("viewer:tab", args=[row.pk, "memory"])


def test_the_figures_and_what_they_rest_on(address: str, get: Get) -> None:
    page = get(address)
    facts = page.one("dl", class_="memory-facts").text
    assert "exact" in facts
    assert "formula" in facts
    assert "approximate" in facts
    assert len(page.all("tr")) == 7
    assert page.one("svg", class_="memory")


def test_a_larger_context_takes_more(address: str, get: Get) -> None:
    small = get(f"{address}?context=4096").one("dl", class_="memory-facts").text
    large = get(f"{address}?context=32768").one("dl", class_="memory-facts").text
    assert small != large


def test_what_fits_into_a_gibibyte(address: str, get: Get) -> None:
    text = get(f"{address}?gib=1").one("dl", class_="memory-facts").text
    assert "Largest context in 1 GiB32,768" in text.replace("\n", "").replace(" GiB ", " GiB")


@pytest.mark.parametrize(
    ("query", "says"),
    [
        ("context=99999999", "trained for 32,768"),
        ("kv=Q8_0&flash=off", "needs flash attention"),
        ("kv=Q8_0", "not whole blocks"),
    ],
)
def test_what_does_not_work_is_said(address: str, query: str, says: str, get: Get) -> None:
    assert says in get(f"{address}?{query}").one("p", class_="notice").text


@pytest.mark.parametrize(
    "query", ["context=-5", "context=x", "sequences=9999999", "kv=<b>", "gib=0"]
)
def test_nonsense_falls_back(address: str, query: str, get: Get) -> None:
    assert get(f"{address}?{query}").one("dl", class_="memory-facts")


def test_a_vocabulary_has_no_such_tab(inspected: Callable[[object], Inspection], get: Get) -> None:
    row = inspected(vocabulary())
    overview = get(reverse("viewer:inspection", args=[row.pk]))
    assert not any(link.endswith("/memory/") for link in overview.links)
    assert "no estimate" in get(reverse("viewer:tab", args=[row.pk, "memory"])).text
