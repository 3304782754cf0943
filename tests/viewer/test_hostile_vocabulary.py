"""The tokenizer tab of files whose vocabulary is not what its keys promise."""

import copy
import struct
from collections.abc import Callable

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from tests.builders import Gguf, ValueType
from tests.viewer import samples
from tests.viewer.conftest import Inspected
from tests.viewer.page import Page

Get = Callable[[str], Page]
TOKENS = "tokenizer.ggml.tokens"
TYPES = "tokenizer.ggml.token_type"
SCORES = "tokenizer.ggml.scores"
U32, STRING = ValueType.UINT32, ValueType.STRING


def nested(count: int) -> bytes:
    """An array of arrays of one number."""
    inner = struct.pack("<IQI", U32, 1, 7)
    return struct.pack("<IQ", ValueType.ARRAY, count) + count * inner


def base() -> Gguf:
    return Gguf().key("general.architecture", "llama").key("tokenizer.ggml.model", 7)


def some_tokens() -> Gguf:
    return base().array(TOKENS, STRING, [f"w{n}" for n in range(100)])


@pytest.mark.parametrize(
    "file",
    [
        base().array(TOKENS, U32, list(range(100))),
        base().array(TOKENS, ValueType.FLOAT32, [1.5, 2.5]),
        base().raw_key(TOKENS, ValueType.ARRAY, nested(100)),
        some_tokens().key(SCORES, 5).key(TYPES, 6),
        some_tokens().array(TYPES, STRING, ["normal"] * 100).array(SCORES, STRING, ["<img>"] * 100),
        some_tokens().raw_key(TYPES, ValueType.ARRAY, nested(100)),
        some_tokens().array(TYPES, ValueType.INT32, [1] * 3),
        some_tokens().key(TOKENS, "twice"),
    ],
    ids=["numbers", "floats", "nested", "scalars", "texts", "nested types", "few types", "twice"],
)
@pytest.mark.parametrize("query", ["", "?q=1", "?q=99", "?start=64", "?start=9999"])
def test_whatever_the_types_are_there_is_a_page(
    get: Get, inspected: Inspected, file: Gguf, query: str
) -> None:
    file = (
        copy.deepcopy(file)
        .key("tokenizer.ggml.bos_token_id", 1)
        .key("tokenizer.ggml.eos_token_id", True)
    )
    page = get(f"/i/{inspected(file).pk}/tokenizer/{query}")
    assert page.one("h2", id="tokens")
    assert "<img" not in page.html


def test_a_scalar_is_no_vocabulary(client: Client, get: Get, inspected: Inspected) -> None:
    row = inspected(base().key(TOKENS, 5))
    assert client.get(f"/i/{row.pk}/tokenizer/").status_code == 404
    assert not any("/tokenizer/" in link for link in get(f"/i/{row.pk}/").links)


def test_an_id_that_stands_for_none_is_no_error(get: Get, inspected: Inspected) -> None:
    file = some_tokens().key("tokenizer.ggml.bos_token_id", 2**32 - 1)
    table = get(f"/i/{inspected(file).pk}/tokenizer/").one("table", class_="specials")
    assert table.text.endswith("none")
    assert "outside" not in table.text


def test_special_tokens_take_no_query_each(client: Client, inspected: Inspected) -> None:
    counts = []
    for roles in (2, 40):
        file = samples.large_vocabulary(9_000)
        for number in range(roles):
            file.key(f"tokenizer.ggml.role{number}_token_id", number)
        url = f"/i/{inspected(file).pk}/tokenizer/"
        client.get(url)
        with CaptureQueriesContext(connection) as queries:
            assert client.get(url).status_code == 200
        counts.append(len(queries))
    assert counts[0] == counts[1]


def test_an_array_under_an_empty_name_has_a_page(get: Get, inspected: Inspected) -> None:
    row = inspected(samples.chat_model().array("", U32, [7, 8, 9]))
    page = get(f"/i/{row.pk}/metadata/")
    link = next(href for href in page.links if href.endswith("/metadata/%25"))
    assert [cell.text for cell in get(link).all("td", class_="mono")] == ["7", "8", "9"]
