"""Rendering a conversation of one's own from the Template tab, without JavaScript."""

from collections.abc import Callable
from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from ggufhub.hub import budgets, queue, renders
from ggufhub.hub.budgets import Turn
from ggufhub.hub.models import Inspection
from ggufhub.hub.render_models import RenderJob
from tests.viewer import samples
from tests.viewer.conftest import Inspected
from tests.viewer.page import Page
from workers import render as tasks

Get = Callable[[str], Page]


@pytest.fixture(autouse=True)
def no_messages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queue, "send_render", lambda _: True)


def sent(client: Client, row: Inspection, **fields: object) -> str:
    """Sends the form; returns the address that the answer leads to."""
    answer = client.post(f"/i/{row.pk}/render", fields)
    assert answer.status_code == 302, answer.content
    return answer.headers["Location"]


def test_rows_become_messages_and_the_result_is_shown(
    client: Client, get: Get, inspected: Inspected
) -> None:
    source = (
        "{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}{{ tools is defined }}"
    )
    row = inspected(samples.vocabulary_with_template(source))
    form = get(f"/i/{row.pk}/template/").one("form", action=f"/i/{row.pk}/render")
    assert {area.attributes["name"] for area in form if area.tag == "textarea"} == {
        "content", "messages", "tools",
    }  # fmt: skip
    place = sent(
        client, row, role=["system", "user", "user"], content=["Be brief", " ", "a\r\n<b>"]
    )
    waiting = get(place)
    assert "Rendering" in waiting.text
    assert waiting.one("meta", http_equiv="refresh").parent.tag == "noscript"
    tasks.render(str(RenderJob.objects.get().pk))
    page = get(place)
    assert page.one("pre", id="rendered").text == "<system>Be brief<user>a\n<b>False"
    texts = [area.text for area in page.all("textarea", name="content")]
    assert texts[:2] == ["Be brief", "a\n<b>"]


def test_json_replaces_the_rows_and_comes_back(
    client: Client, get: Get, inspected: Inspected
) -> None:
    row = inspected(samples.vocabulary_with_template("{{ messages[0].x }}{{ tools|length }}"))
    messages = '[{"role": "user", "content": null, "x": "\\u202e<script>"}]'
    place = sent(client, row, messages=messages, tools='[{"type": "function"}]', content="ignored")
    tasks.render(str(RenderJob.objects.get().pk))
    page = get(place)
    assert "\\u{202E}<script>1" in page.one("pre", id="rendered").text
    assert "\\u202e<script>" in page.one("textarea", name="messages").text
    assert "<script>1" not in page.html.replace("&lt;", "")


def test_what_no_text_field_holds_comes_back_as_json(
    client: Client, get: Get, chat: Inspection
) -> None:
    """Half a character: JSON can say it, a page cannot."""
    place = sent(client, chat, messages='[{"role": "user", "content": "a\\ud800\\u0000"}]')
    page = get(place)
    assert "a\\ud800\\u0000" in page.one("textarea", name="messages").text
    assert not any(area.text for area in page.all("textarea", name="content"))


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({}, "at least one"),
        ({"messages": "{"}, "not JSON"),
        ({"messages": "[" * 100_000}, "not JSON"),
        ({"messages": '[{"content": "x"}]'}, "role"),
        ({"role": "user", "content": "x", "template": "none"}, "no such template"),
        ({"role": "user", "content": "x" * 70_000}, "at most"),
        ({"role": "user", "content": "x", "tools": "[1]"}, "object"),
    ],
)
def test_what_makes_no_sense_is_said(
    client: Client, chat: Inspection, fields: dict[str, str], says: str
) -> None:
    answer = client.post(f"/i/{chat.pk}/render", fields)
    assert answer.status_code == 400
    assert says in Page(answer.content.decode()).one("p", role="alert").text


def test_the_templates_own_refusal_is_shown(client: Client, get: Get, inspected: Inspected) -> None:
    row = inspected(samples.vocabulary_with_template("{{ raise_exception('only <users>') }}"))
    place = sent(client, row, role="user", content="x")
    tasks.render(str(RenderJob.objects.get().pk))
    notices = [note.text for note in get(place).all("p", role="alert")]
    assert any("refused the conversation" in text and "only <users>" in text for text in notices)


def test_a_variant_is_rendered_by_its_own_source(
    client: Client, get: Get, chat: Inspection
) -> None:
    place = sent(client, chat, role="user", content="x", template="tool_use", tools='[{"a": 1}]')
    assert "name=tool_use" in place
    tasks.render(str(RenderJob.objects.get().pk))
    assert "'a': 1" in get(place).one("pre", id="rendered").text


def test_the_status_ends_the_polling(client: Client, chat: Inspection) -> None:
    sent(client, chat, role="user", content="x")
    job = RenderJob.objects.get()
    url = f"/i/{chat.pk}/render/{job.pk}"
    assert client.get(url).status_code == 200
    renders.finish(job, output="x")
    assert client.get(url).status_code == 286
    assert client.get(url.replace(str(job.pk), str(chat.pk))).status_code == 404


def test_without_a_worker_the_page_stops_waiting(
    client: Client, get: Get, chat: Inspection
) -> None:
    place = sent(client, chat, role="user", content="x")
    RenderJob.objects.update(created=timezone.now() - timedelta(minutes=1))
    page = get(place)
    assert "No worker" in page.text
    assert not page.all("meta", http_equiv="refresh")


@pytest.mark.parametrize("render", ["x", "00000000-0000-4000-8000-000000000000"])
def test_a_forgotten_conversation_leaves_an_empty_form(
    get: Get, chat: Inspection, render: str
) -> None:
    page = get(f"/i/{chat.pk}/template/?render={render}")
    assert not page.all("pre", id="rendered")


def test_too_many_are_told_when_to_come_back(
    client: Client, chat: Inspection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(budgets, "take", lambda budget, who: Turn(budget, False, 0, 7))
    answer = client.post(f"/i/{chat.pk}/render", {"role": "user", "content": "x"})
    assert (answer.status_code, answer.headers["Retry-After"]) == (429, "7")
