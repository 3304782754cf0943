"""The pages of webhooks: all of it by forms."""

from collections.abc import Callable

import pytest
from django.test import Client

from ggufhub.hub import budgets, queue, webhooks
from ggufhub.hub.budgets import Turn
from ggufhub.hub.models import Delivery, Webhook
from tests.rows import queued
from tests.viewer.page import Page

pytestmark = pytest.mark.django_db
Get = Callable[[str], Page]
URL = "https://ci.example/hooks?token=secret"


@pytest.fixture(autouse=True)
def no_messages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queue, "send_deliver", lambda: True)


@pytest.fixture
def row() -> Webhook:
    return webhooks.create(owner=None, url=URL)


def test_one_is_added_and_its_secret_is_shown_once(client: Client, get: Get) -> None:
    made = Page(client.post("/webhooks/", {"url": f" {URL} "}).content.decode())
    secret = made.one("pre", id="secret").text
    assert secret == Webhook.objects.get().secret and secret.startswith("whsec_")
    again = get("/webhooks/")
    assert secret not in again.html
    assert "token=secret" not in again.html and "https://ci.example/hooks?…" in again.text


@pytest.mark.parametrize("url", ["", "ftp://a/b", "https://user:pw@host/"])
def test_a_bad_address_comes_back_with_the_reason(client: Client, url: str) -> None:
    answer = client.post("/webhooks/", {"url": url})
    page = Page(answer.content.decode())
    assert answer.status_code == 400
    assert page.one("input", id="url").attributes["value"] == url
    assert page.one("p", role="alert").text.startswith("That did not work.")
    assert not Webhook.objects.exists()


def test_a_test_is_sent_and_listed(client: Client, get: Get, row: Webhook) -> None:
    form = get("/webhooks/").one("form", action=f"/webhooks/{row.pk}/ping")
    assert client.post(form.attributes["action"]).headers["Location"] == f"/webhooks/{row.pk}/"
    webhooks.note(Delivery.objects.get(), status=503, error="busy <b>")
    text = get(f"/webhooks/{row.pk}/").one("table", class_="deliveries").text
    for part in ("test", "pending", "503", "busy <b>"):
        assert part in text


def test_a_delivery_leads_to_its_inspection(get: Get, row: Webhook) -> None:
    inspection = queued(name="told.gguf")
    delivery = Delivery.objects.create(webhook=row, inspection=inspection)
    webhooks.note(delivery, status=204)
    page = get(f"/webhooks/{row.pk}/")
    assert f"/i/{inspection.pk}/" in page.links
    assert "delivered" in page.text and "told.gguf" in page.text


def test_deliveries_come_in_pages(get: Get, row: Webhook) -> None:
    Delivery.objects.bulk_create(Delivery(webhook=row) for _ in range(60))
    page = get(f"/webhooks/{row.pk}/")
    following = page.one("a", rel="next").attributes["href"]
    assert len(page.all("th", scope="row")) == 50
    assert len(get(f"/webhooks/{row.pk}/{following}").all("th", scope="row")) == 10


def test_a_new_secret_replaces_the_old_one_slowly(client: Client, row: Webhook) -> None:
    page = Page(client.post(f"/webhooks/{row.pk}/rotate").content.decode())
    fresh = Webhook.objects.get()
    assert page.one("pre", id="secret").text == fresh.secret != row.secret
    assert "the secret before signs too" in page.text


def test_it_is_deleted(client: Client, row: Webhook) -> None:
    assert client.post(f"/webhooks/{row.pk}/delete").headers["Location"] == "/webhooks/"
    assert not Webhook.objects.exists()


def test_others_webhooks_do_not_exist(client: Client, settings, django_user_model) -> None:
    settings.AUTH_MODE = "required"
    owner, other = map(django_user_model.objects.create_user, ("owner", "other"))
    row = webhooks.create(owner=owner, url=URL)
    client.force_login(other)
    assert client.get(f"/webhooks/{row.pk}/").status_code == 404
    for action in ("ping", "rotate", "delete"):
        assert client.post(f"/webhooks/{row.pk}/{action}").status_code == 404
    assert "hooks?…" not in client.get("/webhooks/").content.decode()


def test_actions_are_forms_and_only_those_there_are(client: Client, row: Webhook) -> None:
    assert client.get(f"/webhooks/{row.pk}/delete").status_code == 405
    assert client.post(f"/webhooks/{row.pk}/explode").status_code == 404


def test_too_many_tests_are_told_when_to_come_back(
    client: Client, row: Webhook, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(budgets, "take", lambda budget, who: Turn(budget, False, 0, 7))
    answer = client.post(f"/webhooks/{row.pk}/ping")
    assert (answer.status_code, answer.headers["Retry-After"]) == (429, "7")
    assert not Delivery.objects.exists()
