"""The vectorised index of string arrays equals a plain walk, whatever the strings."""

import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ggufhub.formats.cursor import Cursor, Halt
from ggufhub.formats.header import StopReason
from ggufhub.formats.string_index import BLOCK, index_strings
from ggufhub.formats.values import ByteOrder
from ggufhub.limits import Limits
from ggufhub.sources.window import Window
from tests.core.reading import source_of

LAYOUTS = [(order, prefix) for order in ByteOrder for prefix in (4, 8)]


def encode(strings: list[bytes], order: ByteOrder, prefix: int) -> bytes:
    return b"".join(len(s).to_bytes(prefix, order.value) + s for s in strings)


def plain_walk(strings: list[bytes], start: int, prefix: int) -> list[int]:
    positions = []
    for string in strings:
        positions.append(start)
        start += prefix + len(string)
    return positions


def check(strings: list[bytes], order: ByteOrder, prefix: int, lead: int = 0) -> None:
    data = b"\xff" * lead + encode(strings, order, prefix) + b"\x07"
    cursor = Cursor(Window(source_of(data), Limits()), order, prefix, lead)
    found = index_strings(cursor, len(strings), "a string")
    assert found.tolist() == plain_walk(strings, lead, prefix)
    assert cursor.position == len(data) - 1


short = st.binary(min_size=1, max_size=12)
odd = st.one_of(
    st.binary(max_size=20),
    st.sampled_from([b"", b"\0" * 7, b"\0" * 30, b"\1\0\0\0\0\0\0\0a", b"x" * 255, b"y" * 256]),
)


@settings(max_examples=300)
@given(
    st.lists(st.one_of(short, short, short, odd), max_size=200),
    st.sampled_from(LAYOUTS),
    st.integers(0, 9),
)
def test_equals_a_plain_walk(
    strings: list[bytes], layout: tuple[ByteOrder, int], lead: int
) -> None:
    check(strings, *layout, lead)


@pytest.mark.parametrize(("order", "prefix"), LAYOUTS)
@pytest.mark.parametrize("lead", range(9))
def test_long_runs_across_blocks(order: ByteOrder, prefix: int, lead: int) -> None:
    maker = random.Random(75)
    strings = [
        bytes(maker.randrange(32, 127) for _ in range(maker.randrange(1, 9))) for _ in range(40_000)
    ]
    for place in range(0, len(strings), 997):
        strings[place] = maker.choice([b"", b"\0\0\0\0\0\0\0\0\0", b"z" * 300, b"w" * 70_000])
    assert sum(map(len, strings)) > 3 * BLOCK
    check(strings, order, prefix, lead)


def test_a_million_empty_strings() -> None:
    check([b""] * 1_000_000, ByteOrder.LITTLE, 8)


@pytest.mark.parametrize(("order", "prefix"), LAYOUTS)
def test_a_length_beyond_the_file_is_refused_where_it_stands(order: ByteOrder, prefix: int) -> None:
    good = encode([b"token"] * 5_000, order, prefix)
    data = good + (1 << 30).to_bytes(prefix, order.value) + b"x" * 100
    cursor = Cursor(Window(source_of(data), Limits()), order, prefix, 0)
    with pytest.raises(Halt) as caught:
        index_strings(cursor, 5_001, "a string")
    assert caught.value.stop.reason is StopReason.LENGTH
    assert caught.value.stop.span.offset == len(good)


def test_truncated_arrays_stop_at_the_end() -> None:
    data = encode([b"token"] * 5_000, ByteOrder.LITTLE, 8)
    for cut in (1, 5, 6, 12, 13, 20):
        for sized in (True, False):
            window = Window(source_of(data[:-cut], sized=sized), Limits())
            cursor = Cursor(window, ByteOrder.LITTLE, 8, 0)
            with pytest.raises(Halt) as caught:
                index_strings(cursor, 5_000, "a string")
            assert caught.value.stop.span.end <= len(data) - cut


def test_positions_are_small_numbers() -> None:
    data = encode([b"token"] * 3_000, ByteOrder.LITTLE, 8)
    cursor = Cursor(Window(source_of(data), Limits()), ByteOrder.LITTLE, 8, 0)
    assert index_strings(cursor, 3_000, "a string").dtype == np.uint32
