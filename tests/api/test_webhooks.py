"""Webhooks over HTTP."""

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.utils import timezone
from rest_framework.test import APIClient

from ggufhub.hub import services, webhooks
from ggufhub.hub.models import Webhook
from tests import rows

URL = "/api/v1/webhooks"
BODY = {"url": "https://ci.example/hook?key=secret"}

pytestmark = pytest.mark.django_db


def test_a_webhook_is_made_listed_and_forgotten(api: APIClient) -> None:
    made = api.post(URL, BODY)
    assert (made.status_code, made["Cache-Control"]) == (201, "no-store")
    body = made.json()
    assert body["secret"].startswith("whsec_") and len(body["secret"]) == 50
    assert "key=secret" not in made.content.decode()
    (listed,) = api.get(URL).json()["items"]
    assert listed == {name: value for name, value in body.items() if name != "secret"}
    assert listed["url"] == "https://ci.example/hook?…"
    assert Webhook.objects.get().url == BODY["url"]
    assert api.delete(f"{URL}/{body['id']}").status_code == 204
    assert api.delete(f"{URL}/{body['id']}").status_code == 404


def test_its_deliveries_are_listed(api: APIClient) -> None:
    made = api.post(URL, BODY).json()
    row = rows.queued()
    services.cancel(row)
    webhooks.announce(timezone.now())
    (delivery,) = api.get(f"{URL}/{made['id']}/deliveries").json()["items"]
    assert delivery["inspection"] == str(row.pk) and delivery["id"].startswith("msg_")
    assert (delivery["state"], delivery["attempts"], delivery["status"]) == ("pending", 0, None)


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"url": ""},
        {"url": "ftp://ci.example/x"},
        {"url": "https://user:pw@ci.example/x"},
        {"url": "https://ci.example/a b"},
        {"url": "https://"},
        {"url": "x" * 5000},
        {"url": 5},
    ],
)
def test_what_is_no_address_is_refused(api: APIClient, body: Any) -> None:
    assert api.post(URL, body).status_code == 400
    assert not Webhook.objects.exists()


def test_there_is_a_most(api: APIClient) -> None:
    answers = [api.post(URL, BODY).status_code for _ in range(webhooks.MOST_PER_USER + 1)]
    assert answers == [201] * webhooks.MOST_PER_USER + [400]


def test_they_belong_to_their_user(api: APIClient, settings: Any) -> None:
    settings.AUTH_MODE = "required"
    one, two = (User.objects.create_user(name) for name in ("one", "two"))
    api.force_login(one)
    made = api.post(URL, BODY).json()
    api.force_login(two)
    assert api.get(URL).json() == {"items": []}
    assert api.get(f"{URL}/{made['id']}/deliveries").status_code == 404
    assert api.delete(f"{URL}/{made['id']}").status_code == 404
    assert Webhook.objects.get().owner == one


def test_deliveries_come_in_pages(api: APIClient) -> None:
    made = api.post(URL, BODY).json()
    for _ in range(3):
        assert api.post(f"{URL}/{made['id']}/ping").status_code == 202
    first = api.get(f"{URL}/{made['id']}/deliveries?limit=2").json()
    second = api.get(first["next"]).json()
    found = [one["id"] for page in (first, second) for one in page["items"]]
    assert len(set(found)) == 3 and second["next"] is None
    assert {one["inspection"] for one in first["items"]} == {None}


def test_a_ping_is_answered_with_its_delivery(api: APIClient) -> None:
    made = api.post(URL, BODY).json()
    answer = api.post(f"{URL}/{made['id']}/ping")
    assert answer.status_code == 202 and answer["Location"] == f"{URL}/{made['id']}/deliveries"
    assert answer.json() == api.get(answer["Location"]).json()["items"][0]


def test_a_secret_is_changed_and_shown_once(api: APIClient) -> None:
    made = api.post(URL, BODY).json()
    answer = api.post(f"{URL}/{made['id']}/rotate")
    assert (answer.status_code, answer["Cache-Control"]) == (200, "no-store")
    webhook = Webhook.objects.get()
    assert answer.json()["secret"] == webhook.secret != made["secret"] == webhook.old_secret
    assert "secret" not in api.get(URL).json()["items"][0]
