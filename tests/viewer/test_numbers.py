"""Sizes, counts and places as people read them."""

import pytest

from viewer.numbers import human_bytes, human_place, human_seconds, human_share, ranges
from viewer.paging import LARGEST_INDEX, Page, whole_number


@pytest.mark.parametrize(
    ("count", "shown"),
    [
        (0, "0 bytes"),
        (1, "1 byte"),
        (999, "999 bytes"),
        (1000, "1.0 kB"),
        (6_558_720, "6.6 MB"),
        (999_949, "999.9 kB"),
        (999_950, "1.0 MB"),
        (2**63, "9.2 EB"),
        (10**24, "1,000.0 ZB"),
    ],
)
def test_bytes(count: int, shown: str) -> None:
    assert human_bytes(count) == shown


def test_places_are_hexadecimal() -> None:
    assert human_place(0x0F12A3C0) == "0x0F12A3C0"
    assert human_place(2**40) == "0x10000000000"


def test_what_rounds_to_nothing_is_not_called_nothing() -> None:
    assert human_share(1, 10**6) == "< 0.1 %"
    assert [human_share(0, 10), human_share(0, 0)] == ["0.0 %", "0 %"]


def test_seconds() -> None:
    assert [human_seconds(0.413), human_seconds(75)] == ["0.41 s", "1 min 15 s"]


def test_ranges() -> None:
    assert ranges([0, 1, 2, 5, 7, 8]) == "0–2, 5, 7–8"
    assert ranges([]) == ""


def test_a_page_knows_its_neighbours() -> None:
    page = Page(start=200, limit=200, total=450)
    assert (page.first, page.last, page.previous, page.next, page.end) == (201, 400, 0, 400, 400)
    assert Page(0, 200, 200).many is False
    assert Page(0, 200, 0).first == 0


@pytest.mark.parametrize("text", [None, "", "-1", "x", "1.5", "²", "1" * 21])
def test_what_is_no_whole_number_is_ignored(text: str | None) -> None:
    assert whole_number(text, 7) == 7


def test_a_huge_start_is_clamped() -> None:
    assert whole_number("9" * 19) == LARGEST_INDEX
