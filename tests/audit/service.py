"""Audits of the service, taken through their steps by hand."""

import pytest

from ggufhub.hub import queue
from ggufhub.hub.audit_models import Audit
from ggufhub.hub.models import Inspection, State
from workers import audit as tasks
from workers.inspect import inspect


def send_nothing(monkeypatch: pytest.MonkeyPatch, *, inspections: bool = False) -> None:
    """No message about audits leaves; those about inspections do if ``inspections``."""
    for name in ("send_audits", "send_audit_step"):
        monkeypatch.setattr(queue, name, lambda *_: True)
    if not inspections:
        monkeypatch.setattr(queue, "send_many", lambda rows: [key for key, _ in rows])


def step(audit: Audit) -> None:
    """A round, the long step if one is due, and every inspection that is queued."""
    audit.refresh_from_db()
    tasks.advance(audit)
    tasks.audit_step(str(audit.pk))
    for key in Inspection.objects.filter(state=State.QUEUED).values_list("pk", flat=True):
        inspect(str(key))
    audit.refresh_from_db()


def run(audit: Audit, rounds: int = 12) -> Audit:
    """The audit, at its end."""
    for _ in range(rounds):
        step(audit)
        if audit.is_final:
            return audit
    raise AssertionError(f"not final after {rounds} rounds: {audit.state}")
