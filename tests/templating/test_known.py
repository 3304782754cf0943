"""A template that was seen lately is not run again."""

from dataclasses import replace
from datetime import date
from types import SimpleNamespace
from typing import Any

import pytest

from ggufhub.templating import known, render
from ggufhub.templating.known import KnownTemplates
from ggufhub.templating.render import analyse

TEXT = "{% for m in messages %}{{ bos_token }}{{ m.content }}{% endfor %}"


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The templates that were run, each in its process; nothing is known before."""
    seen: list[str] = []
    run = render._run

    def noted(facts: Any, *rest: Any, **request: Any) -> None:
        seen.append(facts.name)
        run(facts, *rest, **request)

    monkeypatch.setattr(render, "KNOWN", KnownTemplates())
    monkeypatch.setattr(render, "_run", noted)
    return seen


def test_the_same_template_is_run_once(runs: list[str]) -> None:
    first = analyse("default", TEXT, {"bos_token": "<s>"})
    again = analyse("tool_use", TEXT, {"bos_token": "<s>"})
    assert runs == ["default"]
    assert first.output("user") and again == replace(first, name="tool_use")


@pytest.mark.parametrize(
    ("text", "special"), [(TEXT + " ", {"bos_token": "<s>"}), (TEXT, {"bos_token": "<t>"})]
)
def test_anything_else_is_run(runs: list[str], text: str, special: dict[str, str]) -> None:
    first = analyse("default", TEXT, {"bos_token": "<s>"})
    other = analyse("default", text, special)
    assert runs == ["default", "default"]
    assert first.output("user") != other.output("user")


def test_another_day_is_another_date_to_print(
    runs: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "{{ strftime_now('%Y-%m-%d') }}"
    outputs = []
    for day in (date(2026, 1, 1), date(2026, 1, 2)):
        monkeypatch.setattr(render, "date", SimpleNamespace(today=lambda day=day: day))
        outputs.append(analyse("default", text, {}).output("user"))
    assert outputs == ["2026-01-01", "2026-01-02"]


def test_what_was_stopped_may_end_better_another_time(runs: list[str]) -> None:
    slow = "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}"
    for _ in range(2):
        assert analyse("default", slow, {}, seconds=0.3).stopped
    assert len(runs) == 2


def test_few_are_kept_and_no_large_ones(runs: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(known, "KEPT", 2)
    for text in ("a", "b", "a", "c", "a", "b"):
        analyse(text, text, {})
    assert runs == ["a", "b", "c", "b"]
    large = "{{ 'x' * 100000 }}"
    for _ in range(2):
        analyse("large", large, {})
    assert runs[4:] == ["large", "large"]
