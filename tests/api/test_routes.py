"""Every address the server knows, as anonymous, another user, the owner and an administrator.

The addresses come from the URL configuration: one that is added and forgotten here fails.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver
from django.utils import timezone

from ggufhub.hub import audits, tokens, webhooks
from ggufhub.hub.render_models import RenderJob
from ggufhub.rules.model_samples import llama
from tests import rows
from tests.builders import vocabulary
from tests.live import Broker

pytestmark = pytest.mark.django_db

METHODS = ("get", "post", "put", "patch", "delete")

PUBLIC = {"healthz", "readyz", "viewer:signin", "api:openapi", "api:docs", "api:nowhere"}
"""They tell nothing about anyone."""

OPERATORS = {"metrics"}
"""Figures about everybody: tests/web/test_operations.py."""

SHARED = {"api:rules", "api:rule", "api:profiles", "viewer:rules", "viewer:rule"}
"""The same for every user."""

OWN = {
    *("api:inspections", "api:tokens", "api:uploads", "api:webhooks", "api:audits"),
    *("api:schedules", "viewer:audits", "viewer:audit-begin"),
    *("viewer:home", "viewer:submit", "viewer:signout", "viewer:tokens", "viewer:webhooks"),
}
"""Without an id in the address: each user sees what is theirs."""

PERSONAL = {
    *("api:token", "viewer:token-revoke", "api:upload"),
    *("api:webhook", "api:deliveries", "api:ping", "api:rotate"),
    *("viewer:webhook", "viewer:webhook-act"),
}
"""Of one user only: an administrator has no more of it than others."""

AUDITS = ("api:audit", "api:audit-models", "api:audit-findings", "api:audit-changes")

KEY = "tokenizer.ggml.tokens"


def routes() -> Iterator[tuple[str, URLPattern, str]]:
    """Name with its namespace, pattern, and the route from the root."""

    def walk(patterns: Any, space: str, prefix: str) -> Iterator[tuple[str, URLPattern, str]]:
        for pattern in patterns:
            route = prefix + str(pattern.pattern)
            if isinstance(pattern, URLResolver):
                if pattern.namespace == "admin":
                    continue  # tests/web/test_admin.py
                inner = f"{pattern.namespace}:" if pattern.namespace else space
                yield from walk(pattern.url_patterns, inner, route)
            else:
                assert pattern.name, f"{route} has no name"
                yield space + pattern.name, pattern, route

    yield from walk(get_resolver().url_patterns, "", "/")


ROUTES = [route for route in routes() if route[0] not in OPERATORS]


class World:
    """One owner with one of everything, and clients for everybody."""

    def __init__(self, directory: Path) -> None:
        owner, other, admin = (User.objects.create_user(n) for n in ("owner", "other", "admin"))
        User.objects.filter(pk=admin.pk).update(is_superuser=True)
        report = rows.kept(vocabulary(20).build(), directory)
        self.report = rows.finished(*report, owner=owner)
        self.model = rows.finished(rows.built(llama(), directory), owner=owner)
        self.upload = rows.upload_of(b"GGUF", owner=owner)
        self.token, _ = tokens.create(owner=owner, name="t", scopes=["read"])
        self.webhook = webhooks.create(owner=owner, url="https://ci.example/x")
        order = audits.order(links="https://example.org/a.gguf")
        self.audit = audits.repeat(owner, order, "nightly", timezone.now())
        self.job = RenderJob.objects.create(report=self.report, template="default", given="{}")
        users = {"anonymous": None, "other": other, "owner": owner, "admin": admin}
        self.clients = {name: self._client(user) for name, user in users.items()}

    @staticmethod
    def _client(user: User | None) -> Client:
        client = Client(headers={"Tus-Resumable": "1.0.0"})
        if user is not None:
            client.force_login(user)
        return client

    def address(self, name: str, route: str) -> str:
        """The route with the owner's things in it."""
        report = self.model if name == "api:memory" else self.report
        special = {
            "api:upload": self.upload,
            "api:webhook": self.webhook,
            "api:deliveries": self.webhook,
            "api:ping": self.webhook,
            "api:rotate": self.webhook,
            "api:schedule": self.audit.schedule,
            **dict.fromkeys(AUDITS, self.audit),
        }
        first = special.get(name, report).pk
        values = {
            "<uuid:id>": first, "<uuid:inspection_id>": first, "<uuid:before_id>": first,
            "<uuid:other>": self.model.pk, "<uuid:after_id>": self.model.pk,
            "<any:key>": KEY, "<key:key>": KEY, "<slug:name>": "tensors",
            "<slug:rule_id>": "STR001", "<slug:token_id>": self.token.pk,
            "<uuid:job>": self.job.pk, "<uuid:job_id>": self.job.pk,
            "<uuid:audit_id>": self.audit.pk, "<uuid:schedule_id>": self.audit.schedule_id,
            "<uuid:webhook_id>": self.webhook.pk, "<slug:action>": "ping",
            "<slug:id>": self.token.pk if name == "api:token" else "STR001",
        }  # fmt: skip
        for placeholder, value in values.items():
            route = route.replace(placeholder, str(value))
        assert "<" not in route, f"{name}: say here what stands for it in {route}"
        return route


@pytest.fixture
def world(tmp_path: Path, settings: Any, broker: Broker) -> World:
    settings.AUTH_MODE = "required"
    return World(tmp_path)


def statuses(world: World, who: str, name: str, route: str) -> dict[str, int]:
    """The answers to every method the address knows. What changes things comes with no body."""
    client, address = world.clients[who], world.address(name, route)
    found = {method: getattr(client, method)(address).status_code for method in METHODS}
    return {method: status for method, status in found.items() if status != 405}


def test_strangers_are_kept_out(world: World) -> None:
    for name, _, route in ROUTES:
        if name in PUBLIC:
            continue
        found = statuses(world, "anonymous", name, route)
        if name.startswith("api:"):
            assert set(found.values()) == {401}, name
        else:
            assert found.pop("get") == 302, name
            assert set(found.values()) == {403}, name


def test_others_find_nothing(world: World) -> None:
    for name, _, route in ROUTES:
        if name in PUBLIC | SHARED | OWN:
            continue
        found = statuses(world, "other", name, route)
        if name == "api:upload":
            assert found.pop("patch") == 415  # before anything is looked for
        assert found and set(found.values()) == {404}, name


def test_owners_and_administrators_come_in(world: World) -> None:
    for name, _, route in ROUTES:
        address = world.address(name, route)
        for who in ("admin", "owner"):
            answer = world.clients[who].get(address)
            hidden = name == "api:nowhere" or (name in PERSONAL and who == "admin")
            allowed = answer.status_code == 404 if hidden else answer.status_code < 400
            allowed = allowed or name == "readyz"  # no worker is there to be ready
            assert allowed or answer.status_code == 405, (who, address)


def test_lists_hold_only_what_is_ones_own(world: World) -> None:
    counts = {
        who: len(world.clients[who].get("/api/v1/inspections").json()["items"])
        for who in ("other", "owner", "admin")
    }
    assert counts == {"other": 0, "owner": 2, "admin": 2}
    held = {who: len(world.clients[who].get("/api/v1/tokens").json()["items"]) for who in counts}
    assert held == {"other": 0, "owner": 1, "admin": 0}


def test_every_exception_is_still_an_address() -> None:
    assert {name for name, _, _ in ROUTES} >= PUBLIC | SHARED | OWN | PERSONAL
