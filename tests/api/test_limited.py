"""Who asks too often is told when to come back."""

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from rest_framework.test import APIClient

from ggufhub.api.views.inspections import Inspections
from ggufhub.hub import budgets
from ggufhub.hub.budgets import Budget
from ggufhub.hub.models import Inspection
from tests.live import Broker

LIST = "/api/v1/inspections"
LINK = {"source": "https://host.example/a.gguf"}

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _two(broker: Broker, monkeypatch: Any) -> None:
    budget = Budget("submit", 2)
    monkeypatch.setattr(Inspections, "budgets", {"POST": budget})
    monkeypatch.setattr(budgets, "SUBMIT", budget)


def test_submitting(api: APIClient) -> None:
    answers = [api.post(LIST, LINK) for _ in range(3)]
    assert [answer.status_code for answer in answers] == [202, 202, 429]
    assert [answer["RateLimit"] for answer in answers] == [
        '"submit";r=1;t=0',
        '"submit";r=0;t=30',
        f'"submit";r=0;t={answers[2]["Retry-After"]}',
    ]
    assert {answer["RateLimit-Policy"] for answer in answers} == {'"submit";q=2;w=60'}
    assert 25 <= int(answers[2]["Retry-After"]) <= 30
    assert answers[2].json()["type"] == "/problems/too-many-requests"
    assert Inspection.objects.count() == 2
    assert api.get(LIST).status_code == 200 and "RateLimit" not in api.get(LIST)


def test_each_user_has_their_own(api: APIClient) -> None:
    for name in ("one", "two"):
        api.force_login(User.objects.create_user(name))
        found = [api.post(LIST, LINK).status_code for _ in range(3)]
        assert found == [202, 202, 429]


def test_a_dead_broker_lets_in(api: APIClient, broker: Broker) -> None:
    broker.kill()
    try:
        answers = [api.post(LIST, LINK) for _ in range(3)]
    finally:
        broker.start()
    assert {answer.status_code for answer in answers} == {202}
    assert "RateLimit" not in answers[0]


def test_tokens(api: APIClient) -> None:
    api.force_login(User.objects.create_user("user"))
    body = {"name": "x", "scopes": ["read"]}
    answers = [api.post("/api/v1/tokens", body).status_code for _ in range(6)]
    assert answers == [201] * 5 + [429]
    page = api.post("/tokens/", {"name": "x", "scope": "read"}, format="multipart")
    assert page.status_code == 429 and int(page["Retry-After"]) <= 12


def test_the_link_box_of_the_pages(client: Client) -> None:
    answers = [client.post("/inspect", {"link": LINK["source"]}) for _ in range(3)]
    assert [answer.status_code for answer in answers] == [302, 302, 429]
    assert "At most 2 a minute" in answers[2].content.decode()
