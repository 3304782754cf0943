"""What reading a header over a network costs: counted on real vocabularies."""

import pytest

from ggufhub.formats.header import Header
from ggufhub.limits import Limits
from ggufhub.report.build import inspect
from ggufhub.sources.http import HttpSource
from tests.bench.remote import MODELS, SMALL, Served
from tests.builders import vocabulary
from tests.core import rangeserver
from tests.core.rangeserver import LOOPBACK, RangeServer
from tests.core.reading import read
from tests.corpus import needs_corpus


@needs_corpus
@pytest.mark.parametrize("name", MODELS)
def test_few_requests_and_hardly_a_byte_too_many(name: str) -> None:
    cost = Served(name).ours()
    if cost.header > 10**6:
        assert cost.requests <= 3
        assert cost.bytes <= 1.05 * cost.header
    else:
        assert cost.requests == 1
    assert cost.good
    assert cost.sent == cost.bytes


def test_a_small_header_comes_with_the_first_request() -> None:
    cost = Served(SMALL).ours()
    assert (cost.requests, cost.bytes, cost.sent) == (1, 1 << 20, 1 << 20)
    assert cost.header < 2000 and cost.good


def test_a_small_file_costs_its_own_bytes() -> None:
    data = vocabulary(30).build()
    with (
        RangeServer({"m.gguf": data}) as server,
        HttpSource(server.url("m.gguf"), policy=LOOPBACK) as source,
    ):
        document = inspect(source).document
    assert document["reads"] == {"requests": 1, "bytes": len(data)}
    hops = document["files"][0]["hops"]
    assert [(hop["host"], hop["status"]) for hop in hops] == [("127.0.0.1", 206)]
    assert 0 < hops[0]["seconds"] < document["seconds"]["read"] + 0.01


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


def values(header: Header) -> list[object]:
    """Every value of the header, arrays in full."""
    return [
        key.value if key.array is None else [key.array[i] for i in range(len(key.array))]
        for key in header.keys
    ]


def test_where_the_windows_end_changes_nothing() -> None:
    data = vocabulary(30).tensor("token_embd.weight", (32, 30)).build()
    whole = read(data)
    assert whole.complete
    expected = values(whole)
    for size in range(1, len(data)):
        part = read(data, Limits(first_read=size, largest_read=size))
        assert (part.keys_end, part.data_offset) == (whole.keys_end, whole.data_offset)
        assert [key.end for key in part.keys] == [key.end for key in whole.keys]
        assert values(part) == expected
        assert [tensor.name for tensor in part.tensors] == ["token_embd.weight"]
