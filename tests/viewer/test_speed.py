"""Large files have quick pages. The bounds are ten times what a quiet machine needs."""

import time

import pytest
from django.test import Client

from tests.viewer import samples
from tests.viewer.conftest import Inspected

SECONDS = 1.5
PAGE_BYTES = 400_000


def check(client: Client, url: str) -> None:
    client.get(url)  # the first request decodes the document and fills its cache
    began = time.perf_counter()
    answer = client.get(url)
    took = time.perf_counter() - began
    assert answer.status_code == 200
    assert took < SECONDS, (url, took)
    assert len(answer.content) < PAGE_BYTES, (url, len(answer.content))


@pytest.mark.parametrize(
    "tab", ["", "tensors/", "tensors/?sort=-bytes&start=9800", "layout/?at=700000"]
)
def test_ten_thousand_tensors(client: Client, inspected: Inspected, tab: str) -> None:
    row = inspected(samples.many_tensors(10_000))
    check(client, f"/i/{row.pk}/{tab}")


@pytest.mark.parametrize(
    "tab",
    [
        "tokenizer/",
        "tokenizer/?start=262000",
        "tokenizer/?q=word2621",
        "metadata/tokenizer.ggml.scores",
    ],
)
def test_a_vocabulary_of_262144(client: Client, inspected: Inspected, tab: str) -> None:
    row = inspected(samples.large_vocabulary(262_144))
    check(client, f"/i/{row.pk}/{tab}")
