"""Reports over HTTP: whole, in parts, and not again when the client has them."""

import uuid
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from rest_framework.test import APIClient

from ggufhub.hub import selectors
from ggufhub.hub.models import Report
from tests import rows
from tests.builders import Gguf, ValueType

TOKENS = "tokenizer.ggml.tokens"
PARTS = ("", "/metadata", f"/metadata/{TOKENS}", "/tensors", "/findings", "/layout")

pytestmark = pytest.mark.django_db


def url(report: Report, part: str = "") -> str:
    return f"/api/v1/reports/{report.pk}{part}"


def test_the_document_is_what_was_stored(api: APIClient, model: Report) -> None:
    answer = api.get(url(model))
    assert answer.json() == selectors.document(model)
    assert answer.json()["schema"] == "ggufhub.report/1"


@pytest.mark.parametrize("part", PARTS)
def test_who_has_it_gets_no_body(api: APIClient, vocabulary: Report, part: str) -> None:
    answer = api.get(url(vocabulary, part))
    assert answer.status_code == 200
    assert answer["ETag"] == f'"{vocabulary.digest}"'
    assert "immutable" in answer["Cache-Control"]
    again = api.get(url(vocabulary, part), headers={"If-None-Match": f'"x", {answer["ETag"]}'})
    assert (again.status_code, again.content) == (304, b"")
    assert api.get(url(vocabulary, part), headers={"If-None-Match": '"x"'}).status_code == 200


@pytest.mark.parametrize("part", PARTS)
def test_an_unknown_report_is_not_found(api: APIClient, part: str) -> None:
    assert api.get(f"/api/v1/reports/{uuid.uuid4()}{part}").status_code == 404


def test_an_unfinished_inspection_has_no_report(api: APIClient) -> None:
    answer = api.get(f"/api/v1/reports/{rows.queued().pk}")
    assert (answer.status_code, answer.json()["type"]) == (404, "/problems/no-report")


def test_keys_are_searched_and_paged(api: APIClient, vocabulary: Report) -> None:
    body = api.get(url(vocabulary, "/metadata?q=ggml&start=1&limit=2")).json()
    assert (body["start"], len(body["items"])) == (1, 2)
    assert body["total"] == len(selectors.metadata(vocabulary, q="ggml"))


def test_an_array_is_paged(api: APIClient, vocabulary: Report) -> None:
    body = api.get(url(vocabulary, f"/metadata/{TOKENS}?start=4094&limit=4")).json()
    assert body["items"] == ["token4094", "token4095", "token4096", "token4097"]
    assert (body["count"], body["total"], body["type"]) == (10_000, 10_000, "string[]")


def test_an_array_is_searched(api: APIClient, vocabulary: Report) -> None:
    body = api.get(url(vocabulary, f"/metadata/{TOKENS}?q=oken9999")).json()
    assert (body["total"], body["items"]) == (1, [[9999, "token9999"]])


@pytest.mark.parametrize("key", ["missing", "general.name", "a/b", quote("ü\n")])
def test_a_key_without_an_array_is_not_found(api: APIClient, vocabulary: Report, key: str) -> None:
    assert api.get(url(vocabulary, f"/metadata/{key}")).status_code == 404


@pytest.mark.parametrize("key", ["a/b", "line\nfeed", "per%cent", "ü", "a//b", " "])
def test_a_strange_key_has_an_address(api: APIClient, tmp_path: Path, key: str) -> None:
    file = Gguf().key("general.architecture", "llama").array(key, ValueType.UINT8, [1, 2, 3])
    report = rows.finished(rows.built(file.build(), tmp_path))
    body = api.get(url(report, f"/metadata/{quote(key)}")).json()
    assert (body["key"], body["items"]) == (key, [1, 2, 3])


@pytest.mark.parametrize(
    "query",
    ["start=-1", "limit=0", "limit=1001", "start=x", "sort=colour", "block=-1", "block=x"],
)
def test_a_query_out_of_range_is_a_problem(api: APIClient, model: Report, query: str) -> None:
    answer = api.get(url(model, f"/tensors?{query}"))
    assert answer.status_code == 400
    assert answer.json()["errors"][0]["pointer"] == "/" + query.partition("=")[0]


def test_tensors_are_filtered(api: APIClient, model: Report) -> None:
    body = api.get(url(model, "/tensors?q=EMBD&type=F32&sort=-bytes")).json()
    assert [item["name"] for item in body["items"]] == ["token_embd.weight"]


def test_findings_are_filtered(api: APIClient, vocabulary: Report) -> None:
    every = api.get(url(vocabulary, "/findings")).json()
    for severity in ("error", "warning", "info"):
        body = api.get(url(vocabulary, f"/findings?severity={severity}")).json()
        assert body["total"] == sum(item["severity"] == severity for item in every["items"])


def test_the_document_costs_one_query_once_it_is_known(
    api: APIClient, model: Report, django_assert_num_queries: Any
) -> None:
    api.get(url(model))
    with django_assert_num_queries(1):
        api.get(url(model, "/layout"))
