"""Large files have quick pages. The bounds are ten times what a quiet machine needs."""

from collections.abc import Callable

import pytest
from django.core.cache import cache
from django.test import Client

from ggufhub.hub import shared
from ggufhub.hub.models import Inspection
from ggufhub.report import codec
from tests.builders import Gguf
from tests.effort import cpu_seconds
from tests.viewer import samples
from tests.viewer.conftest import Inspected
from tests.viewer.page import Page

Get = Callable[[str], Page]

SECONDS = 1.5
PAGE_BYTES = 400_000


def check(client: Client, url: str) -> None:
    client.get(url)  # the first request decodes the document, which is kept
    cache.clear()  # of drawn pages
    with cpu_seconds(SECONDS):
        answer = client.get(url)
    assert answer.status_code == 200
    assert len(answer.content) < PAGE_BYTES, (url, len(answer.content))


@pytest.mark.parametrize(
    "tab",
    [
        "",
        "tensors/",
        "tensors/?sort=-bytes&start=9800",
        "tensors/?show=values",
        "integrity/",
        "layout/?at=700000",
    ],
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


def wide_metadata(count: int) -> Gguf:
    """``count`` keys, one of them with a name of a megabyte."""
    file = Gguf().key("general.architecture", "llama").key("x" * 2**20, 1)
    for number in range(count):
        file.key(f"key.{number}", number)
    return file


@pytest.mark.parametrize("tab", ["", "metadata/", "metadata/?q=key.777", "layout/", "raw/"])
def test_very_many_keys_and_a_name_of_a_megabyte(
    client: Client, inspected: Inspected, tab: str
) -> None:
    row = inspected(wide_metadata(60_000))
    check(client, f"/i/{row.pk}/{tab}")


@pytest.mark.parametrize("tab", ["", "?severity=error", "?start=9900"])
def test_ten_thousand_findings(client: Client, get: Get, chat: Inspection, tab: str) -> None:
    report = chat.report
    document = codec.decode_document(bytes(report.document.data))
    one = next(finding for finding in document["findings"])
    document["findings"] = [
        one | {"severity": "error", "message": f"<script>{number}</script>"}
        for number in range(10_000)
    ]
    digest = shared.store_document(codec.encode_document(document))
    type(report).objects.filter(pk=report.pk).update(document=digest)
    check(client, f"/i/{chat.pk}/{tab}")
    page = get(f"/i/{chat.pk}/{tab}")
    assert len(page.all("li", class_="f")) == 100
    assert not [script for script in page.all("script") if "src" not in script.attributes]


@pytest.mark.parametrize("tab", ["", "tensors/?q=<script>", "layout/"])
def test_a_tensor_called_script(get: Get, inspected: Inspected, tab: str) -> None:
    name = "<script>alert(1)</script>"
    row = inspected(Gguf().key("general.architecture", "llama").tensor(name, (8,)))
    page = get(f"/i/{row.pk}/{tab}")
    assert name in page.text or not tab  # the overview names no tensor
    assert name not in page.html
