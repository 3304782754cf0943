"""Signing in and out in a browser, and the page of tokens."""

import re
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.core.management import call_command
from django.test import Client

from ggufhub.hub.models import ApiToken
from tests.live import Broker

PASSWORD = "correct horse battery"
SIGN_IN = {"username": "user", "password": PASSWORD}

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _required(settings: Any, broker: Broker) -> None:
    settings.AUTH_MODE = "required"
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]


@pytest.fixture
def user(_required: None) -> User:
    return User.objects.create_user("user", password=PASSWORD)


def test_who_opens_a_page_signs_in_and_comes_back(client: Client, user: User) -> None:
    sent = client.get("/rules/?q=1")
    assert (sent.status_code, sent["Location"]) == (302, "/signin?next=/rules/%3Fq%3D1")
    form = client.get(sent["Location"]).content.decode()
    assert 'name="next" value="/rules/?q=1"' in form
    back = client.post("/signin", {**SIGN_IN, "next": "/rules/?q=1"})
    assert (back.status_code, back["Location"]) == (302, "/rules/?q=1")
    page = client.get("/rules/").content.decode()
    assert "Sign out" in page and 'href="/tokens/"' in page


def test_nobody_is_sent_to_another_site(client: Client, user: User) -> None:
    for place in ("https://elsewhere.example/", "//elsewhere.example", "javascript:x"):
        client.logout()
        assert client.post("/signin", {**SIGN_IN, "next": place})["Location"] == "/"


def test_a_wrong_password_and_a_wrong_name_look_the_same(client: Client, user: User) -> None:
    def pages(**change: str) -> str:
        text = client.post("/signin", SIGN_IN | change).content.decode()
        return re.sub(r'(?:name="csrfmiddlewaretoken" )?value="[^"]*"', "", text)

    wrong = pages(password="wrong")
    assert "The name or the password is wrong." in wrong and wrong == pages(username="nobody")
    assert "_auth_user_id" not in client.session


def test_guessing_is_slowed_down(client: Client, user: User) -> None:
    for _ in range(5):
        assert client.post("/signin", SIGN_IN | {"password": "x"}).status_code == 200
    answer = client.post("/signin", SIGN_IN)
    assert answer.status_code == 429 and 1 <= int(answer["Retry-After"]) <= 12
    assert "Too many attempts" in answer.content.decode()
    assert client.post("/signin", SIGN_IN | {"username": "else"}).status_code == 200


def test_sign_out_is_a_form(client: Client, user: User) -> None:
    client.force_login(user)
    assert client.get("/signout").status_code == 405
    assert client.get("/rules/").status_code == 200
    assert client.post("/signout").status_code == 302
    assert client.get("/rules/").status_code == 302


def test_the_forms_need_their_token(user: User) -> None:
    client = Client(enforce_csrf_checks=True)
    assert client.post("/signin", SIGN_IN).status_code == 403
    client.force_login(user)
    for page in ("/signout", "/tokens/"):
        assert client.post(page).status_code == 403


def test_a_token_is_shown_once(client: Client, user: User) -> None:
    client.force_login(user)
    made = client.post("/tokens/", {"name": "<b>ci", "scope": "submit", "days": "30"})
    text = re.search(r"ggh_[\w-]+", made.content.decode())
    assert text is not None and made["Cache-Control"] == "private, no-store"
    page = client.get("/tokens/").content.decode()
    assert text[0] not in page and "&lt;b&gt;ci" in page and "<b>ci" not in page
    stranger = Client(headers={"Authorization": f"Bearer {text[0]}"})
    assert stranger.get("/api/v1/inspections").status_code == 200
    assert stranger.get("/rules/").status_code == 302  # pages know sessions only
    row = ApiToken.objects.get()
    assert row.expires is not None
    assert client.post(f"/tokens/{row.pk}/revoke")["Location"] == "/tokens/"
    assert stranger.get("/api/v1/inspections").status_code == 401


@pytest.mark.parametrize(
    "form",
    [
        {},
        {"name": "x"},
        {"name": "x", "scope": "root"},
        {"name": " ", "scope": "read"},
        {"name": "x", "scope": "read", "days": "soon"},
        {"name": "x", "scope": "read", "days": "99999"},
    ],
)
def test_a_form_that_makes_no_token_says_why(client: Client, user: User, form: Any) -> None:
    client.force_login(user)
    answer = client.post("/tokens/", form)
    assert answer.status_code == 400 and "That did not work." in answer.content.decode()
    assert not ApiToken.objects.exists()


def test_others_tokens_cannot_be_revoked(client: Client, user: User) -> None:
    client.force_login(user)
    client.post("/tokens/", {"name": "x", "scope": "read"})
    client.force_login(User.objects.create_user("other"))
    assert client.post(f"/tokens/{ApiToken.objects.get().pk}/revoke").status_code == 404
    assert ApiToken.objects.exists()


def test_in_open_mode_tokens_ask_for_a_user(client: Client, settings: Any) -> None:
    settings.AUTH_MODE = "open"
    assert client.get("/tokens/")["Location"] == "/signin?next=/tokens/"
    assert "Sign out" not in client.get("/").content.decode()


def test_the_first_user_is_made_by_the_operator(client: Client, monkeypatch: Any) -> None:
    monkeypatch.setenv("DJANGO_SUPERUSER_PASSWORD", PASSWORD)
    call_command("createsuperuser", username="root", email="", interactive=False)
    answer = client.post("/signin", {"username": "root", "password": PASSWORD})
    assert answer["Location"] == "/"
    assert User.objects.get().is_superuser


@pytest.mark.parametrize("password", ["short", "password123456", "qwertyuiop"])
def test_weak_passwords_are_refused(password: str) -> None:
    with pytest.raises(ValidationError):
        validate_password(password)
