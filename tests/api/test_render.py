"""Rendering a conversation over the API."""

from pathlib import Path
from typing import Any

import pytest
from rest_framework.test import APIClient

from ggufhub.hub import queue, renders
from ggufhub.hub.budgets import Budget
from ggufhub.hub.models import Report
from ggufhub.hub.render_models import RenderJob
from tests import rows
from tests.live import Broker
from tests.viewer import samples

pytestmark = pytest.mark.django_db
MESSAGES = [{"role": "user", "content": "ebb or flood?"}]


@pytest.fixture(autouse=True)
def no_messages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queue, "send_render", lambda _: True)


@pytest.fixture
def chat(tmp_path: Path) -> Report:
    return rows.finished(rows.built(samples.chat_model().build(), tmp_path))


def url(report: Report) -> str:
    return f"/api/v1/reports/{report.pk}/render"


def test_the_answer_names_the_place_of_the_result(api: APIClient, chat: Report) -> None:
    answer = api.post(url(chat), {"messages": MESSAGES})
    assert (answer.status_code, answer.json()["state"]) == (202, "queued")
    renders.finish(RenderJob.objects.get(), output="<s>ebb")
    body = api.get(answer.headers["Location"]).json()
    assert (body["state"], body["output"], body["failure"]) == ("done", "<s>ebb", None)


def test_a_failure_has_no_output(api: APIClient, chat: Report) -> None:
    place = api.post(url(chat), {"messages": MESSAGES}).headers["Location"]
    renders.finish(RenderJob.objects.get(), failure="raised", message="no tools")
    body = api.get(place).json()
    assert (body["state"], body["output"], body["message"]) == ("failed", None, "no tools")


@pytest.mark.parametrize(
    "body",
    [
        {}, {"messages": []}, {"messages": "hello"}, {"messages": ["hello"]},
        {"messages": [{"content": "no role"}]}, {"messages": [{"role": 7}]},
        {"messages": [{"role": "user", "content": 7}]},
        {"messages": MESSAGES, "tools": {"a": 1}},
        {"messages": MESSAGES, "template": "no such"},
    ],
)  # fmt: skip
def test_what_is_no_conversation_is_refused(
    api: APIClient, chat: Report, body: dict[str, Any]
) -> None:
    answer = api.post(url(chat), body)
    assert answer.status_code == 400
    assert answer.headers["Content-Type"] == "application/problem+json"
    assert not RenderJob.objects.exists()


def test_depth_and_size_are_bounded(api: APIClient, chat: Report) -> None:
    deep: Any = "x"
    for _ in range(renders.MOST_NESTING + 1):
        deep = [deep]
    message = {"role": "user", "content": deep}
    assert api.post(url(chat), {"messages": [message]}).status_code == 400
    large = [{"role": "user", "content": "x" * renders.MOST_GIVEN}]
    assert api.post(url(chat), {"messages": large}).status_code == 413


def test_the_job_of_another_report_is_not_there(
    api: APIClient, chat: Report, model: Report
) -> None:
    place = api.post(url(chat), {"messages": MESSAGES}).headers["Location"]
    assert api.get(place.replace(str(chat.pk), str(model.pk))).status_code == 404


def test_a_stranger_may_not_render(api: APIClient, chat: Report, settings: Any) -> None:
    settings.AUTH_MODE = "required"
    assert api.post(url(chat), {"messages": MESSAGES}).status_code in (401, 403)


def test_it_takes_turns_like_a_submission(
    api: APIClient, chat: Report, broker: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    from ggufhub.api.views.render import Render

    monkeypatch.setattr(Render, "budgets", {"POST": Budget("submit-test", 1)})
    assert api.post(url(chat), {"messages": MESSAGES}).status_code == 202
    refused = api.post(url(chat), {"messages": MESSAGES})
    assert refused.status_code == 429
    assert int(refused.headers["Retry-After"]) > 0
