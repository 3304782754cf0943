"""Tokens: made once, shown once, worth what their scopes say."""

import io
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.utils import timezone
from rest_framework.test import APIClient

from ggufhub.errors import UsageError
from ggufhub.hub import tokens
from ggufhub.hub.models import ApiToken, Inspection
from tests import rows
from tests.live import Broker

TOKENS = "/api/v1/tokens"
LIST = "/api/v1/inspections"
LINK = {"source": "https://host.example/a.gguf"}

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _required(settings: Any, broker: Broker) -> None:
    settings.AUTH_MODE = "required"


@pytest.fixture
def user() -> User:
    return User.objects.create_user("user")


def bearer(text: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {text}"}


def token(user: User, *scopes: str, **more: Any) -> str:
    return tokens.create(owner=user, name="t", scopes=scopes or ("read",), **more)[1]


def test_a_token_is_made_shown_once_listed_and_revoked(api: APIClient, user: User) -> None:
    api.force_login(user)
    made = api.post(TOKENS, {"name": "release", "scopes": ["submit"], "days": 90})
    assert (made.status_code, made["Cache-Control"]) == (201, "no-store")
    text = made.json()["token"]
    assert text.startswith(f"ggh_{made.json()['id']}_") and len(text) > 50
    (listed,) = api.get(TOKENS).json()["items"]
    assert listed == {name: value for name, value in made.json().items() if name != "token"}
    assert not ApiToken.objects.filter(digest__contains=text[-20:]).exists()
    api.logout()
    assert api.get(LIST, headers=bearer(text)).status_code == 200
    api.force_login(user)
    assert api.delete(f"{TOKENS}/{listed['id']}").status_code == 204
    assert api.delete(f"{TOKENS}/{listed['id']}").status_code == 404
    api.logout()
    assert api.get(LIST, headers=bearer(text)).status_code == 401


def test_nobody_is_told_how_to_come_in(api: APIClient) -> None:
    answer = api.get(LIST)
    assert (answer.status_code, answer["WWW-Authenticate"]) == (401, 'Bearer realm="ggufhub"')
    assert answer.json()["type"] == "/problems/not-authenticated"
    assert answer["Content-Type"] == "application/problem+json"


def test_what_opens_nothing_is_401(api: APIClient, user: User) -> None:
    good = token(user, "admin")
    expired = token(user, days=1)
    ApiToken.objects.filter(expires__isnull=False).update(expires=timezone.now())
    disabled = User.objects.create_user("gone", is_active=False)
    wrong = [expired, token(disabled), good[:-1], good + "x", good.upper(), "ggh_", "ggh__x", "é"]
    for text in [*wrong, "", "ghp_" + good, good.replace("ggh_", "ggh_0")]:
        answer = api.get(LIST, headers=bearer(text))
        assert (answer.status_code, answer.json()["status"]) == (401, 401), text
    assert api.get(LIST, headers=bearer(good)).status_code == 200


def test_a_wrong_token_is_not_saved_by_a_session(api: APIClient, user: User) -> None:
    api.force_login(user)
    assert api.get(LIST).status_code == 200
    assert api.get(LIST, headers=bearer("ggh_no_token")).status_code == 401


def test_a_token_acts_for_its_user_not_for_the_session(api: APIClient, user: User) -> None:
    other = User.objects.create_user("other")
    mine = rows.queued(owner=user)
    api.force_login(other)
    assert api.get(f"{LIST}/{mine.pk}").status_code == 404
    assert api.get(f"{LIST}/{mine.pk}", headers=bearer(token(user))).status_code == 200


def test_a_token_needs_no_csrf_token(user: User) -> None:
    client = APIClient(enforce_csrf_checks=True)
    headers = bearer(token(user, "submit"))
    answer = client.post(LIST, LINK, format="json", headers=headers)
    assert answer.status_code == 202
    assert not answer.cookies
    assert Inspection.objects.get().owner == user


@pytest.mark.parametrize(
    ("scope", "read", "submit", "admin"),
    [("read", 200, 403, 403), ("submit", 200, 202, 403), ("admin", 200, 202, 200)],
)
def test_scopes(api: APIClient, user: User, scope: str, read: int, submit: int, admin: int) -> None:
    headers = bearer(token(user, scope))
    row = rows.queued(owner=user)
    assert api.get(LIST, headers=headers).status_code == read
    assert api.post(LIST, LINK, headers=headers).status_code == submit
    assert api.delete(f"{LIST}/{row.pk}", headers=headers).status_code == submit
    answer = api.get(TOKENS, headers=headers)
    assert answer.status_code == admin
    if admin == 403:
        assert answer.json()["type"] == "/problems/insufficient-scope"


def test_the_last_use_is_noted_once_a_minute(api: APIClient, user: User) -> None:
    headers = bearer(token(user))
    api.get(LIST, headers=headers)
    first = ApiToken.objects.get().last_used
    assert first is not None
    api.get(LIST, headers=headers)
    assert ApiToken.objects.get().last_used == first
    ApiToken.objects.update(last_used=first - timedelta(minutes=2))
    api.get(LIST, headers=headers)
    assert ApiToken.objects.get().last_used >= first


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"name": "x"},
        {"name": "x", "scopes": []},
        {"name": "x", "scopes": ["root"]},
        {"name": "x", "scopes": "read"},
        {"name": "", "scopes": ["read"]},
        {"name": "x", "scopes": ["read"], "days": 0},
        {"name": "x", "scopes": ["read"], "days": 99999},
    ],
)
def test_what_is_no_token_is_invalid(api: APIClient, user: User, body: Any) -> None:
    api.force_login(user)
    answer = api.post(TOKENS, body)
    assert (answer.status_code, answer.json()["type"]) == (400, "/problems/invalid")
    assert not ApiToken.objects.exists()


def test_the_local_user_of_open_mode_has_no_tokens(api: APIClient, settings: Any) -> None:
    settings.AUTH_MODE = "open"
    assert api.get(TOKENS).status_code == 401
    assert api.post(TOKENS, {"name": "x", "scopes": ["read"]}).status_code == 401
    assert api.get(LIST, headers=bearer("ggh_no_token")).status_code == 401


def test_there_is_a_most(user: User, monkeypatch: Any) -> None:
    monkeypatch.setattr(tokens, "MOST_PER_USER", 2)
    for _ in range(2):
        token(user)
    with pytest.raises(UsageError):
        token(user)


def test_the_operator_makes_one(api: APIClient, user: User) -> None:
    out = io.StringIO()
    call_command("create-token", "user", "--scope", "submit", "--days", "7", stdout=out)
    text = out.getvalue().strip()
    assert api.post(LIST, LINK, headers=bearer(text)).status_code == 202
    assert ApiToken.objects.get().expires is not None


def test_the_operator_is_told_what_is_wrong(user: User) -> None:
    with pytest.raises(CommandError, match="no user 'nobody'"):
        call_command("create-token", "nobody", "--scope", "read")
    with pytest.raises(CommandError, match="valid for 1 to"):
        call_command("create-token", "user", "--scope", "read", "--days", "0")
    assert not ApiToken.objects.exists()
