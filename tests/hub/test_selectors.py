"""Who sees what, and the parts of a report."""

import json
import zlib
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import AnonymousUser, User

from ggufhub.hub import selectors
from ggufhub.hub.models import Document, Inspection, Report, Upload
from tests import rows
from tests.builders import ValueType, small_model

pytestmark = pytest.mark.django_db

TOKENS = "tokenizer.ggml.tokens"


@pytest.fixture
def vocabulary(tmp_path: Path) -> Report:
    return rows.finished_vocabulary(tmp_path)


@pytest.fixture
def model(tmp_path: Path) -> Report:
    return rows.finished(rows.built(small_model().build(), tmp_path))


def test_in_open_mode_everything_is_seen() -> None:
    row = rows.queued()
    assert selectors.recent(AnonymousUser(), 10) == [row]
    assert selectors.get_inspection(None, row.pk) == row


def test_signed_in_users_see_their_own(settings: Any) -> None:
    settings.AUTH_MODE = "required"
    owner, other = (User.objects.create_user(name) for name in ("owner", "other"))
    root = User.objects.create_superuser("root")
    row = rows.queued(owner=owner)
    assert selectors.get_inspection(owner, row.pk) == row
    assert selectors.get_inspection(root, row.pk) == row
    assert selectors.get_upload(owner, row.upload_id) == row.upload
    for stranger in (other, AnonymousUser(), None):
        assert selectors.recent(stranger, 10) == []
        with pytest.raises(Inspection.DoesNotExist):
            selectors.get_inspection(stranger, row.pk)
        with pytest.raises(Upload.DoesNotExist):
            selectors.get_upload(stranger, row.upload_id)


def test_the_newest_come_first_with_one_query(django_assert_num_queries: Any) -> None:
    made = [rows.queued() for _ in range(4)]
    with django_assert_num_queries(1):
        seen = selectors.recent(None, 3)
        assert [row.pk for row in seen] == [row.pk for row in reversed(made)][:3]
        assert all(row.needs is None for row in seen)


def test_a_document_is_decoded_once(vocabulary: Report, django_assert_num_queries: Any) -> None:
    selectors.document(vocabulary)
    with django_assert_num_queries(0):
        selectors.document(vocabulary)


def test_a_large_document_is_decoded_once_for_each_request(
    vocabulary: Report, monkeypatch: pytest.MonkeyPatch, django_assert_num_queries: Any
) -> None:
    monkeypatch.setattr(selectors, "LARGE", 100)
    selectors.document(vocabulary)  # which tells that it is large
    for _ in range(2):
        report = selectors.get_report(None, vocabulary.pk)
        with django_assert_num_queries(1):
            first = selectors.document(report)
            assert selectors.document(report) is first
    with django_assert_num_queries(1):
        assert json.loads(selectors.document_json(report)) == first


def test_the_json_of_a_document_is_what_was_stored(vocabulary: Report) -> None:
    text = selectors.document_json(vocabulary)
    assert json.loads(text) == selectors.document(vocabulary)
    assert zlib.compress(text, 1) == bytes(Document.objects.get().data)


@pytest.mark.parametrize(
    ("start", "limit", "first", "count"),
    [(0, 3, "token0", 3), (4095, 2, "token4095", 2), (9990, 100, "token9990", 10)],
)
def test_a_page_of_an_array(
    vocabulary: Report, start: int, limit: int, first: str, count: int
) -> None:
    page = selectors.array_page(vocabulary, TOKENS, start=start, limit=limit)
    assert page["count"] == 10_000
    assert len(page["items"]) == count and page["items"][0] == first


def test_a_page_past_the_end_is_empty(vocabulary: Report) -> None:
    assert selectors.array_page(vocabulary, TOKENS, start=10**9)["items"] == []


def test_an_array_is_searched_across_its_chunks(vocabulary: Report) -> None:
    found = selectors.array_search(vocabulary, TOKENS, q="TOKEN999", start=1, limit=2)
    assert found["total"] == 11
    assert found["items"] == [[9990, "token9990"], [9991, "token9991"]]


@pytest.mark.parametrize("key", ["general.name", "missing"])
def test_what_is_no_array_is_not_found(vocabulary: Report, key: str) -> None:
    with pytest.raises(selectors.NoSuchArray):
        selectors.array_page(vocabulary, key)


def test_a_short_array_needs_no_stored_chunks(tmp_path: Path) -> None:
    report = rows.finished_vocabulary(tmp_path, count=10)
    assert not report.arrays.exists()
    page = selectors.array_page(report, TOKENS, start=8, limit=5)
    assert page["items"] == ["token8", "token9"]
    found = selectors.array_search(report, TOKENS, q="Token3")
    assert found["items"] == [[3, "token3"]]


def test_elements_of_an_array_are_picked_by_index(
    vocabulary: Report, django_assert_num_queries: Any
) -> None:
    selectors.document(vocabulary)
    wanted = [9_999, 0, 4_096, 4_095, 10_000, 3]
    with django_assert_num_queries(2):
        found = selectors.array_elements(vocabulary, TOKENS, wanted)
    assert found == {index: f"token{index}" for index in wanted if index < 10_000}


def test_elements_of_a_short_array_and_of_none(tmp_path: Path) -> None:
    report = rows.finished_vocabulary(tmp_path, count=10)
    assert selectors.array_elements(report, TOKENS, [9, 10]) == {9: "token9"}
    assert selectors.array_elements(report, "general.name", [0]) == {}


def test_keys_are_found_by_name_and_by_text(vocabulary: Report) -> None:
    by_name = selectors.metadata(vocabulary, q="GENERAL.NAME")
    by_text = selectors.metadata(vocabulary, q="sample vocab")
    assert (
        [entry["key"] for entry in by_name]
        == ["general.name"]
        == [entry["key"] for entry in by_text]
    )
    assert selectors.metadata(vocabulary, q="no such thing") == []


def test_tensors_are_filtered_sorted_and_paged(model: Report) -> None:
    every = selectors.tensors(model)["items"]
    assert len(every) == 2
    names = [tensor["name"] for tensor in selectors.tensors(model, sort="-name")["items"]]
    assert names == sorted(names, reverse=True)
    page = selectors.tensors(model, start=1, limit=1)
    assert page["total"] == len(every) and page["items"] == every[1:2]
    one = every[0]
    assert one in selectors.tensors(model, q=one["name"].upper())["items"]
    same_type = selectors.tensors(model, type=one["type"])["items"]
    assert {tensor["type"] for tensor in same_type} == {one["type"]}
    in_block = selectors.tensors(model, block=0)["items"]
    assert all(tensor["block"] == 0 for tensor in in_block)


def test_a_null_sorts_with_numbers(model: Report) -> None:
    selectors.document(model)["tensors"][0]["bytes"] = None
    items = selectors.tensors(model, sort="bytes")["items"]
    assert items[0]["bytes"] is None


def test_short_and_long_arrays_are_searched_alike(tmp_path: Path) -> None:
    words = [b"Caf\xc3\xa9", b"\xff\xfe a", b"HELLO", b"hello", b"ab", b"\xc3\x89"]
    numbers = [1, 11, 21, 1, 300]
    file = (
        small_model()
        .array("words", ValueType.STRING, words)
        .array("many.words", ValueType.STRING, words * 20)
        .array("numbers", ValueType.UINT32, numbers)
        .array("many.numbers", ValueType.UINT32, numbers * 20)
    )
    stored = rows.finished(rows.built(file.build(), tmp_path))
    for key, queries in {"words": ["hello", "é", "É", "a", "b64", "why"], "numbers": ["1"]}.items():
        for q in queries:
            short = selectors.array_search(stored, key, q=q)
            long = selectors.array_search(stored, f"many.{key}", q=q, limit=1000)
            assert long["total"] == 20 * short["total"], q
            assert long["items"][: short["total"]] == short["items"]
