"""Characters that cannot be seen: each kind is found, at its line, however many there are."""

import pytest

from ggufhub.templating.hidden import CONTROL, HIDDEN, hidden_characters
from tests.effort import cpu_seconds


@pytest.mark.parametrize(
    ("character", "words"),
    [
        ("\u202e", "a character that reorders text (U+202E)"),
        ("\U000e0041", "an invisible tag character (U+E0041)"),
        ("\u200b", "an invisible character (U+200B)"),
        ("\u00ad", "an invisible character (U+00AD)"),
    ],
)
def test_hidden(character: str, words: str) -> None:
    text = f"one\ntwo {character} \u00e9\n{character}"
    assert list(hidden_characters(text, HIDDEN)) == [(2, words), (3, words)]
    assert list(hidden_characters(text, CONTROL)) == []


def test_control() -> None:
    said = "a control character"
    text = "a\x1b\n\tb\r\nc\x9f"
    assert list(hidden_characters(text, CONTROL)) == [
        (1, f"{said} (U+001B)"),
        (3, f"{said} (U+009F)"),
    ]
    assert list(hidden_characters(text, HIDDEN)) == []


def test_nothing_is_found_in_ordinary_text() -> None:
    for text in ("", "plain", "two\nlines\t\u00e9\U0001f600", "\u4e2d\u6587"):
        for kind in (HIDDEN, CONTROL):
            assert list(hidden_characters(text, kind)) == []


def test_many_lines_and_many_characters_take_no_time_each() -> None:
    text = "\u200b\n" * 300_000
    with cpu_seconds(5):
        found = list(hidden_characters(text, HIDDEN))
    assert (len(found), found[-1][0]) == (300_000, 300_000)
