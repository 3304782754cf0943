"""The reader: what it reads, where it stops, and that it stops within its budgets."""

import math

import pytest

from ggufhub.formats.header import StopReason
from ggufhub.formats.values import SCALAR_SIZE
from ggufhub.limits import Limits
from tests.builders import ByteOrder, Gguf, ValueType, small_model, vocabulary
from tests.core.reading import read

VARIANTS = [
    (version, order) for version in (1, 2, 3) for order in (ByteOrder.LITTLE, ByteOrder.BIG)
]


@pytest.mark.parametrize(("version", "order"), VARIANTS)
def test_reads_every_version_in_both_byte_orders(version: int, order: ByteOrder) -> None:
    header = read(
        Gguf(version=version, order=order)
        .key("general.architecture", "llama")
        .array("names", ValueType.STRING, ["a", "", "ccc"])
        .tensor("a", (32, 4), 2)
        .build()
    )
    assert (header.version, header.byte_order, header.stop) == (version, order, None)
    assert header.text("general.architecture") == "llama"
    names = header.array("names")
    assert names is not None
    assert list(names) == [b"a", b"", b"ccc"]
    assert header.tensors[0].shape == (32, 4)
    assert header.tensors[0].bytes == 72


@pytest.mark.parametrize("order", list(ByteOrder))
@pytest.mark.parametrize("kind", list(SCALAR_SIZE))
def test_decodes_every_scalar_type(kind: ValueType, order: ByteOrder) -> None:
    value = 1 if kind is ValueType.BOOL else 100
    sample = Gguf(order=order).key("x", value, kind).array("xs", kind, [value, 0])
    header = read(sample.build())
    assert header.find("x").value == value
    numbers = header.array("xs")
    assert numbers is not None
    assert list(numbers) == [value, 0]
    assert numbers.numbers().tolist() == [value, 0]


def test_keeps_floats_that_are_not_numbers() -> None:
    header = read(Gguf().key("x", math.nan).build())
    assert math.isnan(header.find("x").value)


def test_truncation_at_every_byte_stops_cleanly() -> None:
    data = small_model().array("xs", ValueType.UINT32, [1, 2, 3]).build()
    whole = read(data)
    assert whole.tables_end is not None
    for length in range(len(data)):
        for sized in (True, False):
            header = read(data[:length], sized=sized)
            if length < whole.tables_end:
                assert header.stop is not None, length
                assert header.stop.span.end <= length
            else:
                assert header.complete, length


def test_a_version_with_swapped_bytes_is_big_endian() -> None:
    assert read(b"GGUF\0\0\0\3" + bytes(16)).byte_order is ByteOrder.BIG


@pytest.mark.parametrize("version", [0, 4, 65536, 0x00030000])
def test_unknown_versions_stop_the_reader(version: int) -> None:
    stop = read(b"GGUF" + version.to_bytes(4, "little") + bytes(16)).stop
    assert stop is not None
    assert stop.reason is StopReason.VERSION


@pytest.mark.parametrize("count", [1_000, 1 << 40, 1 << 63, (1 << 64) - 1])
def test_counts_that_cannot_fit_stop_at_once(count: int) -> None:
    for sample in (Gguf(kv_count=count), Gguf(tensor_count=count)):
        stop = read(sample.key("a", 1).build()).stop
        assert stop is not None
        assert stop.reason is StopReason.COUNT


def test_an_array_count_that_cannot_fit_stops_at_once() -> None:
    payload = (0).to_bytes(4, "little") + (1 << 40).to_bytes(8, "little")
    stop = read(Gguf().raw_key("x", 9, payload).build()).stop
    assert stop is not None
    assert (stop.reason, stop.key) == (StopReason.LENGTH, "x")


def test_nested_arrays_are_read() -> None:
    inner = (4).to_bytes(4, "little") + (1).to_bytes(8, "little") + (7).to_bytes(4, "little")
    payload = (9).to_bytes(4, "little") + (2).to_bytes(8, "little") + inner * 2
    header = read(Gguf().raw_key("x", 9, payload).key("after", 5).build())
    outer = header.array("x")
    assert outer is not None
    assert [list(child) for child in outer] == [[7], [7]]
    assert header.number("after") == 5


def test_deep_nesting_stops_without_recursion() -> None:
    level = (9).to_bytes(4, "little") + (1).to_bytes(8, "little")
    stop = read(Gguf().raw_key("x", 9, level * 100_000).build()).stop
    assert stop is not None
    assert stop.reason is StopReason.VALUE_TYPE


@pytest.mark.parametrize(
    ("limits", "name"),
    [
        (Limits(keys=2), "keys"),
        (Limits(tensors=1), "tensors"),
        (Limits(array_elements=100), "array_elements"),
        (Limits(string_bytes=3), "string_bytes"),
        (Limits(header_bytes=64), "header_bytes"),
    ],
)
def test_every_budget_ends_as_a_limit_and_not_as_invalid(limits: Limits, name: str) -> None:
    sample = vocabulary(200).tensor("a").tensor("b")
    header = read(sample.build(), limits)
    assert header.stop is None
    assert header.limit is not None
    assert header.limit.limit == name


def test_without_tensors_nothing_is_padded() -> None:
    header = read(Gguf().key("a", "b").build())
    assert header.data_offset == header.keys_end


def test_alignment_is_taken_from_a_name_cut_at_nul() -> None:
    header = read(Gguf().key(b"general.alignment\0x", 64).tensor("a").build())
    assert header.alignment == 64


def test_one_megabyte_is_read_at_first_and_more_only_when_needed() -> None:
    source_size = 5_000_000
    data = Gguf().key("x", "y" * source_size).key("z", 1).build()
    header = read(data)
    assert header.number("z") == 1
    assert header.size == len(data)
