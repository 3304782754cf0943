"""Who did what is written down, once, and never what would open a door."""

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.test import Client
from django.utils import timezone

from ggufhub.hub import audit_log
from ggufhub.hub.audit_log_models import SecurityEvent
from tests import rows
from tests.live import Broker

pytestmark = pytest.mark.django_db

PASSWORD = "correct horse battery"


@pytest.fixture
def user(settings: Any, broker: Broker) -> User:
    settings.AUTH_MODE = "required"
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
    return User.objects.create_user("user", password=PASSWORD)


def events() -> list[tuple[str, str, str | None, str]]:
    fields = ("action", "actor", "address", "subject")
    return list(SecurityEvent.objects.order_by("id").values_list(*fields))


def test_signing_in_and_out(client: Client, user: User) -> None:
    for name, password in (("user", "x"), (PASSWORD, "x"), ("user", PASSWORD)):
        client.post("/signin", {"username": name, "password": password})
    client.post("/signout")
    here = "127.0.0.1"
    assert events() == [
        ("sign-in.failed", "", here, "user"),
        ("sign-in.failed", "", here, ""),  # a password typed as a name is not kept
        ("sign-in", "user", here, "user"),
        ("sign-out", "user", here, "user"),
    ]
    assert PASSWORD not in str(events())


def test_tokens_webhooks_and_cancels_of_a_program(user: User) -> None:
    call_command("create-token", "user", scope=["admin"])
    made = SecurityEvent.objects.get()
    assert (made.action, made.actor, made.address) == ("token.made", "command", None)
    from ggufhub.hub import tokens

    token, text = tokens.create(owner=user, name="t", scopes=["admin"])
    api = Client(headers={"Authorization": f"Bearer {text}"}, REMOTE_ADDR="2001:db8::1")
    hook = api.post("/api/v1/webhooks", {"url": "https://ci.example/x"}, "application/json").json()
    api.post(f"/api/v1/webhooks/{hook['id']}/rotate")
    api.delete(f"/api/v1/webhooks/{hook['id']}")
    row = rows.queued(owner=user)
    for _ in range(2):  # the second one changes nothing
        api.delete(f"/api/v1/inspections/{row.pk}")
    api.delete(f"/api/v1/tokens/{token.pk}")
    assert events()[2:] == [
        ("webhook.made", "user", "2001:db8::1", hook["id"]),
        ("webhook.rotated", "user", "2001:db8::1", hook["id"]),
        ("webhook.deleted", "user", "2001:db8::1", hook["id"]),
        ("inspection.cancelled", "user", "2001:db8::1", str(row.pk)),
        ("token.revoked", "user", "2001:db8::1", token.pk),
    ]
    written = str(list(SecurityEvent.objects.values()))
    assert text not in written and hook["secret"] not in written


def test_it_is_in_the_log_too(user: User, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level("INFO", logger=audit_log.__name__):
        audit_log.note("sign-in", "user\nforged", actor="user")
    (record,) = caplog.records
    assert vars(record)["fields"]["action"] == "sign-in"


def test_an_event_is_written_once() -> None:
    audit_log.note("sign-in", "x")
    event = SecurityEvent.objects.get()
    event.actor = "somebody else"
    with pytest.raises(TypeError):
        event.save()
    with pytest.raises(ValueError):
        audit_log.note("made up")


def test_old_events_are_forgotten(settings: Any) -> None:
    audit_log.note("sign-in", "old")
    audit_log.note("sign-in", "new")
    then = timezone.now() - timedelta(days=settings.AUDIT_LOG_DAYS + 1)
    SecurityEvent.objects.filter(subject="old").update(at=then)
    assert audit_log.prune(timezone.now()) == 1
    assert [event[3] for event in events()] == ["new"]


@pytest.mark.parametrize(
    ("proxies", "passed", "address"),
    [
        (0, "203.0.113.9", "127.0.0.1"),
        (1, "203.0.113.9", "203.0.113.9"),
        (1, "6.6.6.6, 203.0.113.9", "203.0.113.9"),
        (2, "6.6.6.6, 203.0.113.9, 10.0.0.1", "203.0.113.9"),
        (2, "203.0.113.9", "127.0.0.1"),
        (1, "no address", None),
    ],
)
def test_a_client_does_not_choose_its_address(
    user: User, settings: Any, proxies: int, passed: str, address: str | None
) -> None:
    settings.PROXIES = proxies
    client = Client(headers={"X-Forwarded-For": passed})
    client.post("/signin", {"username": "user", "password": PASSWORD})
    assert [event[2] for event in events()] == [address]
