"""The administration: who comes in, what it shows, what its actions do."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.contrib import admin
from django.contrib.auth.models import User
from django.test import Client

from ggufhub.hub import services, tokens, webhooks
from ggufhub.hub.audit_log_models import SecurityEvent
from ggufhub.hub.models import ApiToken, Inspection, State
from tests import rows
from tests.live import Broker

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _required(settings: Any, broker: Broker) -> None:
    settings.AUTH_MODE = "required"


@pytest.fixture
def operator() -> Client:
    client = Client()
    client.force_login(User.objects.create_superuser("root"))
    return client


@pytest.fixture
def owner() -> User:
    return User.objects.create_user("owner")


def pages() -> Iterator[str]:
    yield "/admin/"
    for model in admin.site._registry:
        yield f"/admin/{model._meta.app_label}/{model._meta.model_name}/"


def test_strangers_and_users_stay_outside(owner: User) -> None:
    user = Client()
    user.force_login(owner)
    for page in [*pages(), "/admin/login/", "/admin/logout/"]:
        assert Client().get(page).status_code == 302, page
        assert Client().get(page)["Location"].startswith("/signin"), page
    for page in pages():
        assert user.get(page, follow=True).status_code == 403, page


def test_there_is_no_second_sign_in_form(settings: Any) -> None:
    settings.AUTH_MODE = "open"
    assert Client().get("/admin/login/?next=/admin/")["Location"] == "/signin?next=/admin/"
    assert Client().post("/admin/login/", {"username": "a", "password": "b"}).status_code == 302


def test_every_page_opens_under_the_same_policy(operator: Client, owner: User) -> None:
    row = rows.queued(owner=owner)
    tokens.create(owner=owner, name="t", scopes=["read"])
    webhooks.create(owner=owner, url="https://ci.example/x?key=s3cr3t")
    for page in pages():
        answer = operator.get(page)
        assert answer.status_code == 200, page
        assert "unsafe" not in answer["Content-Security-Policy"]
    detail = operator.get(f"/admin/hub/inspection/{row.pk}/change/")
    assert detail.status_code == 200 and "<form" in detail.content.decode()


def test_what_opens_something_is_never_shown(operator: Client, owner: User) -> None:
    token, text = tokens.create(owner=owner, name="t", scopes=["read"])
    hook = webhooks.create(owner=owner, url="https://ci.example/x?key=s3cr3t")
    shown = "".join(
        operator.get(f"/admin/hub/{place}/change/").content.decode()
        for place in (f"apitoken/{token.pk}", f"webhook/{hook.pk}")
    )
    for secret in (token.digest, text, hook.secret, "s3cr3t"):
        assert secret not in shown


def test_rows_are_only_looked_at(operator: Client, owner: User) -> None:
    row = rows.queued(owner=owner)
    for place in ("add/", f"{row.pk}/delete/"):
        assert operator.get(f"/admin/hub/inspection/{place}").status_code == 403
    assert operator.post(f"/admin/hub/inspection/{row.pk}/change/", {}).status_code == 403


def act(operator: Client, model: str, action: str, *keys: object) -> None:
    answer = operator.post(
        f"/admin/hub/{model}/", {"action": action, "_selected_action": [str(key) for key in keys]}
    )
    assert answer.status_code == 302


def test_cancelling_and_running_again(operator: Client, owner: User) -> None:
    waiting, failed = rows.queued(owner=owner), rows.queued(owner=owner)
    attempt = services.claim(failed.pk)
    assert attempt and services.fail(failed.pk, attempt, code="internal", message="x")
    act(operator, "inspection", "cancel", waiting.pk, failed.pk)
    act(operator, "inspection", "run_again", waiting.pk, failed.pk)
    states = dict(Inspection.objects.values_list("pk", "state"))
    assert states == {waiting.pk: State.CANCELLED, failed.pk: State.QUEUED}
    events = set(SecurityEvent.objects.values_list("action", "actor", "subject"))
    assert ("inspection.cancelled", "root", str(waiting.pk)) in events
    assert ("admin.ran-again", "root", str(failed.pk)) in events


def test_a_token_is_revoked(operator: Client, owner: User) -> None:
    token, text = tokens.create(owner=owner, name="t", scopes=["read"])
    act(operator, "apitoken", "revoke", token.pk)
    assert tokens.find(text) is None and not ApiToken.objects.exists()


def test_changes_of_accounts_are_noted(operator: Client) -> None:
    form = {
        "username": "ada",
        "usable_password": "true",
        "password1": "correct horse battery",
        "password2": "correct horse battery",
    }
    assert operator.post("/admin/auth/user/add/", form).status_code == 302
    ada = User.objects.get(username="ada")
    operator.post(
        "/admin/auth/user/",
        {"action": "delete_selected", "_selected_action": [ada.pk], "post": "yes"},
    )
    noted = SecurityEvent.objects.filter(action__startswith="admin").values_list(
        "action", "subject"
    )
    assert set(noted) == {("admin.added", "ada"), ("admin.deleted", "ada")}
