"""Audits and their schedules are in the audit log, as inspections are."""

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from ggufhub.hub import audits, tokens
from ggufhub.hub.audit_log_models import SecurityEvent
from ggufhub.hub.audit_models import Schedule
from tests.live import Broker

pytestmark = pytest.mark.django_db

LINKS = {"urls": ["https://models.example/m.gguf"]}


@pytest.fixture
def program(settings: Any, broker: Broker) -> Client:
    settings.AUTH_MODE = "required"
    user = User.objects.create_user("user")
    _, text = tokens.create(owner=user, name="t", scopes=["submit"])
    return Client(headers={"Authorization": f"Bearer {text}"}, REMOTE_ADDR="2001:db8::1")


def events() -> list[tuple[str, str, str | None, str]]:
    fields = ("action", "actor", "address", "subject")
    rows = SecurityEvent.objects.exclude(action="token.made").order_by("id")
    return list(rows.values_list(*fields))


def made(program: Client, **fields: Any) -> str:
    answer = program.post("/api/v1/audits", {**LINKS, **fields}, "application/json")
    assert answer.status_code == 202, answer.content
    return str(answer.json()["id"])


def test_an_audit_is_begun_and_cancelled(program: Client) -> None:
    audit = made(program)
    for _ in range(2):  # the second one changes nothing
        program.delete(f"/api/v1/audits/{audit}")
    assert events() == [
        ("audit.begun", "user", "2001:db8::1", audit),
        ("audit.cancelled", "user", "2001:db8::1", audit),
    ]


def test_a_schedule_is_made_and_deleted(program: Client) -> None:
    made(program, schedule=Schedule.Every.DAY.value)
    schedule = Schedule.objects.get()
    assert program.delete(f"/api/v1/schedules/{schedule.pk}").status_code == 204
    assert events() == [
        ("schedule.made", "user", "2001:db8::1", str(schedule.pk)),
        ("schedule.deleted", "user", "2001:db8::1", str(schedule.pk)),
    ]


def test_what_a_schedule_begins_is_nobodys_deed(program: Client) -> None:
    first = made(program, schedule=Schedule.Every.HOUR.value)
    before = events()
    program.delete(f"/api/v1/audits/{first}")
    assert len(audits.begin_due(timezone.now() + timedelta(hours=2))) == 1
    assert [event[0] for event in events()[len(before) :]] == ["audit.cancelled"]
