"""What is asked every few seconds, or for every model of an audit, finds its rows by an index: it
must not take longer with every inspection there ever was."""

from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from django.test import override_settings
from django.utils import timezone

from ggufhub.hub import audit_feed, audits, queue, selectors
from ggufhub.hub.models import Inspection
from ggufhub.hub.reconcile import reconcile
from tests import rows

pytestmark = pytest.mark.django_db

LINKS = "https://models.example/a.gguf\nhttps://models.example/b.gguf"


@pytest.fixture(autouse=True)
def no_messages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queue, "send_audits", lambda: True)
    monkeypatch.setattr(queue, "send_inspect", lambda *_: True)
    monkeypatch.setattr(queue, "send_many", lambda rows: [])
    monkeypatch.setattr(queue, "waiting", lambda *_: 0)


def asked(ask: Callable[[], Any], table: str) -> list[tuple[str, Any]]:
    """The statements that look for rows of ``table`` while ``ask`` runs."""
    found = []

    def note(execute: Any, sql: str, params: Any, *rest: Any) -> Any:
        if sql.startswith("SELECT") and f'FROM "{table}"' in sql:
            found.append((sql, params))
        return execute(sql, params, *rest)

    with connection.execute_wrapper(note):
        ask()
    return found


def plan(sql: str, params: Any) -> str:
    """How the database would find the rows; PostgreSQL reads few rows whole unless told not to."""
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute("SET LOCAL enable_seqscan = off")
            cursor.execute(f"EXPLAIN {sql}", params)
            return "\n".join(str(line[0]) for line in cursor.fetchall())
        cursor.execute(f"EXPLAIN QUERY PLAN {sql}", params)
        return "\n".join(str(line[3]) for line in cursor.fetchall())


def looks_at_all(text: str, table: str) -> bool:
    return f"SCAN {table}" in text or f"Seq Scan on {table}" in text


def test_a_round_of_the_reconciler_looks_at_open_rows_only() -> None:
    rows.queued()
    statements = asked(lambda: reconcile(timezone.now()), "hub_inspection")
    assert statements
    for sql, params in statements:
        assert not looks_at_all(plan(sql, params), "hub_inspection"), sql


def test_counting_who_waits_looks_at_open_rows_only() -> None:
    rows.queued()
    last = rows.queued()
    ((sql, params),) = asked(lambda: selectors.ahead(last), "hub_inspection")
    assert not looks_at_all(plan(sql, params), "hub_inspection")


def test_counting_what_is_in_flight_looks_at_open_audits_only() -> None:
    audit = audits.start(None, audits.order(links=LINKS))
    host = "models.example"
    ((sql, params),) = asked(lambda: audit_feed.in_flight(audit.pk, host), "hub_audititem")
    assert not looks_at_all(plan(sql, params), "hub_audititem")


def test_the_newest_inspections_are_found_without_those_of_audits(django_user_model: Any) -> None:
    user = django_user_model.objects.create_user("someone")
    # So many that no other index could seem as cheap, whatever the database thinks of an empty one.
    row = {"owner": user, "source_kind": "url", "locator": LINKS, "name": "a.gguf"}
    Inspection.objects.bulk_create(Inspection(**row, audited=n % 20 > 0) for n in range(2000))
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE hub_inspection")
    ((sql, params),) = asked(lambda: selectors.recent(None, 10), "hub_inspection")
    assert "inspection_single" in plan(sql, params)
    with override_settings(AUTH_MODE="required"):
        ((sql, params),) = asked(lambda: selectors.recent(user, 10), "hub_inspection")
    assert "inspection_own" in plan(sql, params)
