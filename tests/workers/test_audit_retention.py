"""Old audits: which are forgotten, and what goes with them."""

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from ggufhub.hub import audit_retention, audits
from ggufhub.hub.audit_models import Audit, AuditItem
from ggufhub.hub.models import Inspection, Report, State
from ggufhub.rules.model_samples import llama
from tests import rows
from tests.audit.fakeorg import FakeOrganisation
from tests.audit.service import run, send_nothing
from tests.core.rangeserver import RangeServer

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("loopback")]

NAMES = ("one.gguf", "two.gguf")


@pytest.fixture(autouse=True)
def no_messages(monkeypatch: pytest.MonkeyPatch) -> None:
    send_nothing(monkeypatch)


def audited(**fields: Any) -> Audit:
    return run(audits.start(None, audits.order(**fields)))


def later(days: int) -> Any:
    return timezone.now() + timedelta(days=days)


def test_a_replaced_audit_goes_with_its_reports() -> None:
    single = rows.queued()
    Inspection.objects.update(state=State.FAILED)
    with RangeServer(dict.fromkeys(NAMES, llama())) as server:
        links = "\n".join(map(server.url, NAMES))
        first, second = audited(links=links), audited(links=links)
    assert audit_retention.prune(later(89)) == 0
    assert audit_retention.prune(later(91)) == len(NAMES)
    assert list(Audit.objects.all()) == [second]
    kept = set(second.items.values_list("inspection", flat=True))
    assert set(Report.objects.values_list("pk", flat=True)) == kept
    assert set(Inspection.objects.values_list("pk", flat=True)) == {*kept, single.pk}
    second.refresh_from_db()
    assert second.previous is None
    assert audit_retention.prune(later(1000)) == 0
    assert not AuditItem.objects.filter(audit=first.pk).exists()


def test_reports_that_a_later_audit_took_over_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    with FakeOrganisation(3, llama()) as hub:
        monkeypatch.setenv("HF_ENDPOINT", hub.endpoint)
        audited(source="hf://org")
        second = audited(source="hf://org")
    assert audit_retention.prune(later(91)) == 3
    assert Report.objects.count() == 3
    assert second.items.exclude(inspection=None).count() == 3


def test_fruitless_turns_of_a_schedule_go_and_other_audits_stay() -> None:
    fields = audits.order(links="https://models.example/a.gguf")
    turn = audits.repeat(None, fields, "nightly", timezone.now())
    asked = audits.start(None, audits.order(links="https://models.example/b.gguf"))
    for audit in (turn, asked):
        audits.cancel(audit)
    audit_retention.prune(later(91))
    assert list(Audit.objects.all()) == [asked]


def test_a_round_deletes_so_many_and_the_next_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(audit_retention, "BATCH", 2)
    monkeypatch.setattr(audit_retention, "MOST", 3)
    names = [f"{number}.gguf" for number in range(5)]
    with RangeServer(dict.fromkeys(names, llama())) as server:
        links = "\n".join(map(server.url, names))
        audited(links=links)
        second = audited(links=links)
    assert [audit_retention.prune(later(91)) for _ in range(3)] == [3, 2, 0]
    assert list(Audit.objects.all()) == [second]


def test_for_ever_is_for_ever(settings: Any) -> None:
    settings.AUDIT_KEEP_DAYS = 0
    fields = audits.order(links="https://models.example/a.gguf")
    audits.cancel(audits.repeat(None, fields, "nightly", timezone.now()))
    assert audit_retention.prune(later(10_000)) == 0
    assert Audit.objects.exists()
