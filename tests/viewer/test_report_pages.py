"""The tabs of a report, made by the real core from real files."""

import uuid
from collections.abc import Callable

from django.test import Client

from ggufhub.hub import selectors
from ggufhub.hub.models import Inspection
from ggufhub.report.render.words import verdict_words
from ggufhub.rules.legacy_samples import small_llama
from tests.viewer import samples
from tests.viewer.conftest import Inspected
from tests.viewer.page import Page
from viewer import present

Get = Callable[[str], Page]


def url(row: Inspection, tab: str = "", query: str = "") -> str:
    return f"/i/{row.pk}/{tab}{'/' if tab else ''}{query}"


def test_a_good_file_has_a_calm_overview(get: Get, chat: Inspection) -> None:
    page = get(url(chat))
    assert page.one("h1").text == "Chat sample"
    for fact in ("llama", "GGUF v3", "4,096", "apache-2.0"):
        assert fact in page.all("dl", class_="facts")[0].text
    assert page.one("a", aria_current="page").text == "Overview"


def test_a_cut_download_does_not_load_and_says_where(get: Get, inspected: Inspected) -> None:
    row = inspected(samples.cut_model())
    page = get(url(row))
    assert page.one("div", class_="verdict").text.startswith("Does not load")
    finding = next(item for item in page.all("li", class_="f") if "STR032" in item.text)
    assert "output_norm.weight" in finding.text
    hrefs = [a.attributes["href"] for a in finding if a.tag == "a"]
    assert any("/tensors/?q=output_norm.weight#t-output_norm.weight" in href for href in hrefs)
    assert any("/layout/?at=" in href for href in hrefs)
    assert "/rules/STR032/" in hrefs


def test_every_place_a_finding_names_is_there(get: Get, inspected: Inspected) -> None:
    row = inspected(samples.hostile_model())
    findings = get(url(row)).all("li", class_="f")
    assert findings
    wanted: dict[str, set[str]] = {}
    for link in [a.attributes["href"] for item in findings for a in item if a.tag == "a"]:
        page, _, fragment = link.partition("#")
        wanted.setdefault(page, set()).add(fragment)
    for page, fragments in wanted.items():
        there = {element.attributes.get("id") for element in get(page).root}
        assert fragments - {""} <= there, page


def test_the_heat_map_has_a_table_beside_it(get: Get, chat: Inspection) -> None:
    page = get(url(chat))
    assert "4 blocks, 3 roles" in page.one("svg", class_="heat").attributes["aria-label"]
    table = page.one("details", class_="alt").text
    assert "Q4_K: 0, 2–3; Q6_K: 1" in table


def test_metadata_is_searched_in_keys_and_values(get: Get, chat: Inspection) -> None:
    rows = get(url(chat, "metadata", "?q=APACHE")).all("th", scope="row")
    assert [row.text for row in rows] == ["general.license"]
    assert "No key or value holds “zzz”" in get(url(chat, "metadata", "?q=zzz")).text


def test_a_long_string_is_folded(get: Get, chat: Inspection) -> None:
    fold = next(
        d for d in get(url(chat, "metadata")).all("details", class_="long") if "Once" in d.text
    )
    assert "1,800 characters" in fold.text
    assert [len(element.text) for element in fold if element.tag == "pre"] == [1800]


def test_a_key_that_is_not_there_is_named(get: Get, chat: Inspection) -> None:
    assert (
        "general.nothing is not in this file"
        in get(url(chat, "metadata", "?key=general.nothing")).text
    )


def test_an_array_is_paged_and_searched(get: Get, chat: Inspection) -> None:
    first = get(url(chat) + "metadata/tokenizer.ggml.tokens")
    assert len(first.all("th", scope="row")) == 200
    last = get(
        url(chat) + "metadata/tokenizer.ggml.tokens" + first.one("a", rel="next").attributes["href"]
    )
    assert last.all("th", scope="row")[-1].text == "299"
    found = get(url(chat) + "metadata/tokenizer.ggml.tokens?q=w299")
    assert [row.text for row in found.all("th", scope="row")] == ["299"]


def test_a_short_array_has_a_page_too(get: Get, chat: Inspection) -> None:
    assert len(get(url(chat) + "metadata/sample.few").all("th", scope="row")) == 12


def test_tensors_are_filtered_and_sorted_by_links(get: Get, chat: Inspection) -> None:
    page = get(url(chat, "tensors", "?q=attn_v&type=Q6_K"))
    assert [row.text for row in page.all("th", scope="row")] == ["blk.1.attn_v.weight"]
    assert "1 of 14 tensors" in page.text
    names = [row.text for row in get(url(chat, "tensors", "?block=2")).all("th", scope="row")]
    assert names == ["blk.2.attn_norm.weight", "blk.2.attn_v.weight", "blk.2.ffn_up.weight"]
    by_bytes = get(url(chat, "tensors", "?sort=-bytes"))
    assert by_bytes.all("th", scope="row")[0].text == "token_embd.weight"
    assert by_bytes.one("th", aria_sort="descending").text == "Bytes"


def test_the_place_of_a_tensor_is_where_its_data_lies(get: Get, chat: Inspection) -> None:
    page = get(url(chat, "tensors", "?q=ffn_up&block=3"))
    link = next(href for href in page.links if "/layout/?at=" in href)
    assert "blk.3.ffn_up.weight" in get(link).one("h2", id="at").text


def test_the_tokenizer_shows_bytes_as_text(get: Get, chat: Inspection) -> None:
    page = get(url(chat, "tokenizer"))
    cells = [[cell.text for cell in page.one("tr", id=f"token-{n}").children] for n in range(5)]
    assert [row[2] for row in cells[2:]] == [" hello", "\\u{000A}", "bytes E2 82"]
    assert cells[0][3] == "control"


def test_special_tokens_have_their_text(get: Get, chat: Inspection) -> None:
    table = get(url(chat, "tokenizer")).one("table", class_="specials")
    assert [row.text for row in table if row.tag == "tr"][1:] == [
        "bos0<s>", "eos1</s>", "padding4000000outside the list",
    ]  # fmt: skip


def test_tokens_are_found_by_text_and_by_id(get: Get, chat: Inspection) -> None:
    by_id = get(url(chat, "tokenizer", "?q=299")).all("tr", id="token-299")
    assert "w299" in by_id[0].text
    rows = get(url(chat, "tokenizer", "?q=w29")).all("tr")
    ids = [row.attributes["id"] for row in rows if "id" in row.attributes]
    assert ids == ["token-29", *(f"token-{n}" for n in range(290, 300))]


def test_without_tokens_there_is_no_tokenizer_tab(
    client: Client, inspected: Inspected, get: Get
) -> None:
    row = inspected(samples.many_tensors(3))
    assert not any("/tokenizer/" in link for link in get(url(row)).links)
    assert client.get(url(row, "tokenizer")).status_code == 404


def test_templates_have_line_numbers_and_variants(get: Get, chat: Inspection) -> None:
    page = get(url(chat, "template"))
    assert page.one("li", id="L2").text.strip() == "{% for message in messages %}"
    variant = next(href for href in page.links if href.startswith("?name=tool_use"))
    assert get(url(chat, "template") + variant).one("li", id="L1").text.strip() == "{{ tools }}"


def test_the_layout_opens_at_a_byte(get: Get, chat: Inspection) -> None:
    page = get(url(chat, "layout", "?at=30"))
    assert "general.architecture" in page.one("h2", id="at").text
    assert any("byte 30" in row.text for row in page.all("tr", class_="here"))


def test_raw_says_how_to_get_the_same_again(client: Client, get: Get, chat: Inspection) -> None:
    page = get(url(chat, "raw"))
    command = "ggufhub check ./model.gguf --profile publish --format json"
    assert command in page.one("pre", id="cli").text
    answer = client.get(page.one("a", href=f"/api/v1/reports/{chat.pk}").attributes["href"])
    assert answer.json()["schema"] == "ggufhub.report/1"


def test_what_is_no_model_says_so(get: Get, inspected: Inspected) -> None:
    page = get(url(inspected(b"PK\x03\x04" + bytes(100))))
    assert page.one("div", class_="verdict").text.startswith("Could not be read")
    assert "Not read as a model." in page.text


def test_a_template_finding_stands_at_its_line(get: Get, inspected: Inspected) -> None:
    file = samples.chat_model().key("tokenizer.chat_template.broken", "fine\n{% if %}\n")
    overview = get(url(inspected(file)))
    link = next(href for href in overview.links if "name=broken#L" in href)
    line = get(link).one("li", class_="marked")
    assert line.attributes["id"] == link.partition("#")[2]
    assert line.text.strip().startswith("{% if %}")


def test_the_byte_of_another_shard_leads_into_that_shard() -> None:
    piece = {"what": "header", "name": "", "offset": 0, "length": 24}
    document = {
        "files": [{"name": "a-1.gguf"}, {"name": "a-2.gguf"}, {"name": "a-3.gguf"}],
        "metadata": [], "tensors": [], "layout": [piece], "shard_layouts": {"a-2.gguf": [piece]},
    }  # fmt: skip
    rows = [{"file": f"a-{n}.gguf", "place": {"offset": 5, "length": 2}} for n in (1, 2, 3)]
    inspection_id = uuid.uuid4()
    links = [row["links"].get("byte") for row in present.findings(inspection_id, document, rows)]
    assert links == [
        f"/i/{inspection_id}/layout/?file=a-1.gguf&at=5&length=2#at",
        f"/i/{inspection_id}/layout/?file=a-2.gguf&at=5&length=2#at",
        None,
    ]


def test_what_is_missing_has_no_link() -> None:
    document = {
        "files": [{"name": "a.gguf"}],
        "layout": [],
        "metadata": [{"key": "here"}],
        "tensors": [{"name": "there"}],
    }
    places = [{"key": "here"}, {"key": "gone"}, {"tensor": "there"}, {"tensor": "gone"}]
    rows = [{"file": "a.gguf", "place": place} for place in places]
    links = [row["links"] for row in present.findings(uuid.uuid4(), document, rows)]
    assert [list(link) for link in links] == [["key"], [], ["tensor"], []]


def test_a_template_shows_what_it_can_do_and_what_it_makes(get: Get, inspected: Inspected) -> None:
    source = "{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}"
    file = samples.vocabulary_with_template(source)
    page = get(url(inspected(file), "template"))
    assert "Systemshown" in page.one("dl", class_="abilities").text
    assert "Toolsnot shown" in page.one("dl", class_="abilities").text
    renders = [element.text for element in page.all("details", class_="render")]
    assert any(text.startswith("user") and "<user>" in text for text in renders)


def test_findings_are_narrowed_to_a_severity(get: Get, inspected: Inspected) -> None:
    row = inspected(samples.hostile_model())
    page = get(url(row))
    pills = page.one("nav", aria_label="Severity")
    links = {a.text.strip(): a.attributes["href"] for a in pills if a.tag == "a"}
    assert next(iter(links)) == "all" and len(links) > 2
    for words, href in links.items():
        shown = get(url(row) + href).all("li", class_="f")
        assert words == "all" or len(shown) == int(words.split()[0])
        kinds = {item.attributes["class"].split()[1] for item in shown}
        assert words == "all" or len(kinds) == 1


def test_a_legacy_file_has_the_words_of_every_render(get: Get, inspected: Inspected) -> None:
    row = inspected(small_llama().build())
    words = verdict_words(selectors.document(row.report))
    assert get(url(row)).one("div", class_="verdict").text.startswith(words)


def test_a_preview_of_the_link_says_what_it_is(get: Get, chat: Inspection) -> None:
    page = get(url(chat, "tensors"))
    said = page.one("meta", property="og:description").attributes["content"]
    assert "llama" in said and "GGUF v3" in said
    assert page.one("meta", property="og:title").attributes["content"] == "Chat sample"
    assert page.one("meta", property="og:url").attributes["content"].endswith(url(chat, "tensors"))
