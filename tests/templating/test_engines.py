"""What llama.cpp's engine refuses, against the table measured with three engines."""

from datetime import date

import pytest

from ggufhub.templating.environment import build_environment
from ggufhub.templating.source import look
from tests.corpus import SHARED, needs_corpus

pytestmark = needs_corpus


def rows() -> list[tuple[str, str, str, str]]:
    table = SHARED / "data" / "jinja_features.tsv"
    if not table.exists():
        return []
    lines = table.read_text().splitlines()[1:]
    return [tuple(line.split("\t")[:4]) for line in lines if line.count("\t") >= 3]


def kinds(snippet: str) -> set[str]:
    environment = build_environment(date(2026, 1, 1))
    return {note["what"] for note in look(environment, snippet, environment.parse(snippet))}


PARSE_ERRORS = ("Unknown statement", "Unexpected token", "^")


@pytest.mark.parametrize(
    ("feature", "snippet"),
    [(r[0], r[1]) for r in rows() if r[2].startswith("ok") and r[3] == "same"],
)
def test_what_both_engines_take_is_not_refused(feature: str, snippet: str) -> None:
    assert "refused" not in kinds(snippet)


@pytest.mark.parametrize(
    ("feature", "snippet"),
    [
        (r[0], r[1])
        for r in rows()
        if r[2].startswith("ok") and r[3].startswith("ERR") and any(p in r[3] for p in PARSE_ERRORS)
    ],
)
def test_what_its_parser_refuses_is_noted(feature: str, snippet: str) -> None:
    assert kinds(snippet) & {"refused", "risky"}, snippet
