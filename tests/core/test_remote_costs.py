"""What reading a header over a network costs: counted on real vocabularies."""

import pytest

from ggufhub.limits import Limits
from ggufhub.report.build import inspect
from ggufhub.sources.http import HttpSource
from tests.bench.remote import MODELS, measure
from tests.builders import vocabulary
from tests.core import rangeserver
from tests.core.rangeserver import LOOPBACK, RangeServer
from tests.core.reading import read
from tests.corpus import SHARED, needs_corpus


@needs_corpus
@pytest.mark.parametrize("name", MODELS)
def test_few_requests_and_hardly_a_byte_too_many(name: str) -> None:
    cost = measure(SHARED / "models" / name)
    assert cost.good, cost
    assert cost.sent == cost.bytes


def test_a_server_that_ignores_ranges_costs_one_request_and_the_header() -> None:
    data = vocabulary(100_000).build()
    model = data + bytes(30 << 20)
    behaviour = {"m.gguf": rangeserver.ignore_range}
    with (
        RangeServer({"m.gguf": model}, behaviour) as server,
        HttpSource(server.url("m.gguf"), policy=LOOPBACK) as source,
    ):
        document = inspect(source).document
    assert document["error"] is None
    assert document["summary"]["vocabulary"] == 100_000
    assert document["files"][0]["size"] == len(model)
    assert source.reads.requests == 1
    assert source.reads.bytes < len(data) + (1 << 20)


def test_where_the_windows_end_changes_nothing() -> None:
    data = vocabulary(30).tensor("token_embd.weight", (32, 30)).build()
    whole = read(data)
    assert whole.complete
    for size in range(1, len(data)):
        part = read(data, Limits(first_read=size, largest_read=size))
        assert (part.keys_end, part.data_offset) == (whole.keys_end, whole.data_offset)
        assert [key.end for key in part.keys] == [key.end for key in whole.keys]
        assert [tensor.name for tensor in part.tensors] == ["token_embd.weight"]
