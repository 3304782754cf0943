"""The Memory tab: figures, what fits, wrong input."""

from collections.abc import Callable

import pytest
from django.test import Client
from django.urls import reverse

from ggufhub.estimate.quants import NOTES
from ggufhub.hub.models import Inspection
from ggufhub.rules.model_samples import llama, llama_keys
from tests.builders import Gguf, vocabulary
from tests.viewer.page import Page

Get = Callable[[str], Page]
Inspected = Callable[[bytes], Inspection]


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
    assert len([row for row in page.all("table")[0] if row.tag == "tr"]) == 7
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


def test_what_is_loaded_beside_it_counts(inspected: Inspected, get: Get) -> None:
    row = inspected(llama({"llama.context_length": 32_768}))
    address = reverse("viewer:tab", args=[row.pk, "memory"])
    assert not [one for one in get(address).all("select") if one.attributes["name"] == "draft"]
    other = inspected(llama())
    page = get(f"{address}?gib=1&draft={other.pk}")
    facts = page.one("dl", class_="memory-facts").text
    assert "Draft model" in facts
    assert facts != get(f"{address}?gib=1").one("dl", class_="memory-facts").text
    assert page.one("option", value=str(other.pk)).attributes.get("selected") is not None
    problem = get(f"{address}?adapter={other.pk}").one("p", class_="notice")
    assert "could be the adapter" in problem.text


def quants(page: Page) -> dict[str, str]:
    """The rows of the other quants by their names."""
    rows = [row for row in page.one("table", class_="quants") if row.tag == "tr"][1:]
    return {next(part for part in row if part.tag == "b").text: row.text for row in rows}


def test_every_quant_has_its_size_and_what_it_is_good_for(address: str, get: Get) -> None:
    page = get(address)
    rows = quants(page)
    assert {"F32", "BF16", "Q8_0"} <= set(rows)
    assert all(note in rows[mix] for mix, note in NOTES.items() if mix in rows)
    assert "this file" in rows["F32"]
    assert "fits" not in rows["F32"]
    assert "exactly the size of its quant" in page.text


def test_the_best_that_fits_is_named(address: str, get: Get) -> None:
    page = get(f"{address}?gib=1")
    assert "The best that fits in 1 GiB" in page.text
    assert all("fits" in row for row in quants(page).values())
    assert page.one("tr", class_="here").text.startswith("BF16")


def test_what_is_too_large_is_said(address: str, get: Get) -> None:
    page = get(f"{address}?gib=0.001")
    assert "None fits in 0.001 GiB" in page.text
    assert all("too large" in row for row in quants(page).values())


def test_sizes_that_cannot_be_told_are_not(
    inspected: Callable[[bytes], Inspection], get: Get
) -> None:
    row = inspected(llama({}, {"blk.0.attn_q.weight": ((32, 32), 99)}))
    page = get(reverse("viewer:tab", args=[row.pk, "memory"]))
    assert "cannot be predicted" in page.text


def test_another_mix_than_the_usual_is_told(
    inspected: Callable[[bytes], Inspection], get: Get
) -> None:
    row = inspected(llama({}, {"blk.0.attn_q.weight": ((32, 32), 1)}))
    page = get(reverse("viewer:tab", args=[row.pk, "memory"]))
    assert "some were given other types by hand" in page.text


def test_places_are_shown_where_they_were_asked_for(address: str, get: Get) -> None:
    assert not get(address).all("h2", id="places")
    page = get(f"{address}?offload=2&split=3,1")
    table = next(one for one in page.all("table") if "Processor" in one.text)
    names = [head.text for head in table if head.tag == "th"]
    assert names[-3:] == ["Processor", "Device 1", "Device 2"]
    assert page.one("input", name="offload").attributes["value"] == "2"
    assert page.one("input", name="split").attributes["value"] == "3,1"
    assert "open" in page.one("details").attributes


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("context=300&sequences=4", "context=300&sequences=4&unified=off"),
        ("kv_values=BF16", "kv_values=F32"),
    ],
)
def test_the_rarer_settings_count(address: str, get: Get, one: str, other: str) -> None:
    first, second = (get(f"{address}?{query}") for query in (one, other))
    facts = [page.one("dl", class_="memory-facts").text for page in (first, second)]
    assert facts[0] != facts[1]


@pytest.mark.parametrize("split", ["x", "1,", "0,0", ",".join("1" * 17), "-1", "1e9"])
def test_a_split_that_makes_no_sense_is_said(address: str, get: Get, split: str) -> None:
    page = get(f"{address}?split={split}")
    assert page.one("p", class_="notice")
    assert page.one("dl", class_="memory-facts")


def test_ten_thousand_tensors_are_worked_out_once(
    client: Client, inspected: Callable[[Gguf], Inspection], monkeypatch: pytest.MonkeyPatch
) -> None:
    row = inspected(llama_of(10_000))
    address = reverse("viewer:tab", args=[row.pk, "memory"])
    assert "Other quants" in client.get(address).content.decode()
    monkeypatch.setattr("viewer.sizes.sizes", lambda document: pytest.fail("asked again"))
    assert client.get(f"{address}?gib=1").status_code == 200


def llama_of(count: int) -> Gguf:
    """The header of a llama with ``count`` matrices more than it needs, and no data."""
    keys = llama_keys()
    model = Gguf(data=b"")
    for name in ("general.architecture", "general.file_type", *(k for k in keys if "llama." in k)):
        model.key(name, keys[name])
    for number in range(count):
        model.tensor(f"blk.{number % 2}.ffn_up.{number}.weight", (256, 32))
    return model


def test_a_vocabulary_has_no_such_tab(inspected: Callable[[object], Inspection], get: Get) -> None:
    row = inspected(vocabulary())
    overview = get(reverse("viewer:inspection", args=[row.pk]))
    assert not any(link.endswith("/memory/") for link in overview.links)
    assert "no estimate" in get(reverse("viewer:tab", args=[row.pk, "memory"])).text
