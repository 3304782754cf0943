"""Strings of files: nothing hidden stays hidden, nothing becomes markup."""

import sys
import unicodedata

import pytest

from viewer.text import foreign_html, visible, visible_html

HIDDEN_CATEGORIES = {"Cc", "Cf", "Cs", "Zl", "Zp", "Zs"}


def test_every_character_without_a_picture_is_written_out() -> None:
    for code in range(sys.maxunicode + 1):
        character = chr(code)
        if unicodedata.category(character) in HIDDEN_CATEGORIES and character != " ":
            assert visible(character) == f"\\u{{{code:04X}}}", hex(code)


@pytest.mark.parametrize("character", ["\u3164", "\u115f", "\uffa0", "\u2800", "\ufe0f", "\u034f"])
def test_fillers_that_unicode_calls_letters_or_marks_are_written_out(character: str) -> None:
    assert visible(character) == f"\\u{{{ord(character):04X}}}"


@pytest.mark.parametrize(
    "text", ["plain text", "日本語 العربية", "e\u0301 \U0001f600", "\u2581a\u0120"]
)
def test_what_can_be_seen_is_left_alone(text: str) -> None:
    assert visible(text) == text


def test_a_bidirectional_override_is_shown_in_its_own_span() -> None:
    assert visible_html("a\u202eb") == 'a<span class="esc">\\u{202E}</span>b'


def test_a_run_of_one_character_is_counted() -> None:
    assert visible("a" + "\n" * 31) == "a\\u{000A}×31"
    assert visible("\n\n\t") == "\\u{000A}×2\\u{0009}"


def test_markup_is_escaped() -> None:
    assert visible_html("<b>&\"'") == "&lt;b&gt;&amp;&quot;&#x27;"


def test_a_literal_escape_is_not_mistaken_for_a_hidden_character() -> None:
    assert "esc" not in visible_html("\\u{202E}")


def test_line_feeds_and_tabs_keep_their_meaning_in_blocks_of_text() -> None:
    shown = visible_html("a\n\tb\r", lines=True)
    assert shown == 'a\n\tb<span class="esc">\\u{000D}</span>'


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (True, "true"),
        (1.5, "1.5"),
        ({"b64": "AA==", "why": "nul", "text": "\\x00<"}, "\\x00&lt;"),
        ({"text": "long", "bytes": 9, "why": "long"}, "long"),
        ({"count": 3, "first": [1, {"count": 1, "first": ["<"]}]}, "[1, [&lt;], …]"),
    ],
)
def test_every_kind_of_value_is_isolated(value: object, shown: str) -> None:
    assert foreign_html(value) == f"<bdi>{shown}</bdi>"
