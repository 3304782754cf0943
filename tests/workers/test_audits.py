"""Audits through the tasks: listing, feeding, settling, concluding, and what goes wrong."""

from collections.abc import Iterable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone

from ggufhub.audit.hosts import TRIES
from ggufhub.hub import audit_feed, audit_selectors, audit_steps, audits, queue, services
from ggufhub.hub.audit_models import Audit, AuditItem, AuditState, ItemState, Place, Schedule
from ggufhub.hub.models import Inspection, Report, State
from ggufhub.hub.reconcile import DRAINED_AFTER, reconcile
from ggufhub.rules.model_samples import llama
from tests.audit.fakeorg import FakeOrganisation
from tests.audit.kit import write
from tests.audit.service import run, send_nothing, step
from tests.core.rangeserver import RangeServer
from tests.live import Broker, LiveWorker, wait_for
from workers import audit as tasks
from workers.inspect import inspect

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("loopback")]

MODEL = llama()


@pytest.fixture(autouse=True)
def no_messages(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Here the steps are called by hand; inspections are too where there is no broker."""
    send_nothing(monkeypatch, inspections="broker" in request.fixturenames)


def begin(**fields: Any) -> Audit:
    return audits.start(None, audits.order(**fields))


def links(server: RangeServer, names: Iterable[str]) -> str:
    return "\n".join(server.url(name) for name in names)


def verdicts(audit: Audit) -> dict[str, str]:
    return {item.path.rpartition("/")[2]: item.verdict for item in audit.items.all()}


def test_a_list_of_links() -> None:
    files = {"one.gguf": MODEL, "two.gguf": MODEL, "bad.gguf": b"GGUF", "page.gguf": b"<html>"}
    with RangeServer(files) as server:
        audit = run(begin(links=links(server, files)))
    assert (audit.state, audit.verdict) == (AuditState.DONE, "unreadable")
    assert verdicts(audit) == {
        "one.gguf": "pass",
        "two.gguf": "pass",
        "bad.gguf": "fail",
        "page.gguf": "unreadable",
    }
    counted = audit_selectors.progress(audit)
    assert (counted.total, counted.settled, counted.waiting) == (4, 4, 0)
    head = audit_selectors.head(audit)
    assert [finding["rule"] for finding in head["findings"]] == ["AUD010"]
    assert Report.objects.count() == 4


def test_a_folder_below_a_root(tmp_path: Path, settings: Any) -> None:
    models = write(tmp_path / "models", {"a/one.gguf": MODEL, "two.gguf": MODEL})
    settings.ROOTS = (tmp_path / "models",)
    audit = run(begin(source=str(models)))
    assert verdicts(audit) == {"one.gguf": "pass", "two.gguf": "pass"}


@pytest.mark.parametrize("place", ["/etc", "models/../other", "link"])
def test_no_folder_outside_the_roots(tmp_path: Path, settings: Any, place: str) -> None:
    write(tmp_path, {"models/one.gguf": MODEL, "other/two.gguf": MODEL})
    (tmp_path / "link").symlink_to(tmp_path / "other")
    settings.ROOTS = (tmp_path / "models",)
    audit = run(begin(source=place if place.startswith("/") else f"{tmp_path}/{place}"))
    assert (audit.state, audit.error_code) == (AuditState.FAILED, "forbidden")
    assert not AuditItem.objects.exists()


def test_an_organisation_with_a_quota(monkeypatch: pytest.MonkeyPatch) -> None:
    with FakeOrganisation(5, MODEL, quota=4, pause="60") as hub:
        monkeypatch.setenv("HF_ENDPOINT", hub.endpoint)
        audit = begin(source="hf://org")
        step(audit)
        assert Place.objects.filter(not_before__gt=timezone.now()).exists()
        asked = len(hub.server.requests)
        step(audit)  # it waits as it was told to
        assert not [r for r in hub.server.requests[asked:] if "/api/" in r.path]
        for _ in range(8):
            Place.objects.update(not_before=None)
            step(audit)
    assert audit.state == AuditState.DONE
    assert audit.items.count() == 5
    assert set(audit.items.values_list("verdict", flat=True)) == {"pass"}


def test_an_organisation_may_take_any_number_of_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tasks, "MOST_POSTPONED", 2)
    with FakeOrganisation(8, MODEL, quota=4, pause="60") as hub:
        monkeypatch.setenv("HF_ENDPOINT", hub.endpoint)
        audit = begin(source="hf://org")
        for _ in range(16):
            Place.objects.update(not_before=None)
            step(audit)
        assert hub.refused > 2
    assert audit.state == AuditState.DONE
    assert set(audit.items.values_list("verdict", flat=True)) == {"pass"}
    assert audit.items.count() == 8


def test_an_organisation_that_never_answers_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tasks, "MOST_POSTPONED", 2)
    with FakeOrganisation(3, MODEL, pause="60") as hub:
        monkeypatch.setenv("HF_ENDPOINT", hub.endpoint)
        audit = begin(source="hf://org")
        audit_steps.add_places(audit, [f"hf://{name}" for name in hub.names])
        hub.quota = 1
        for _ in range(4):
            Place.objects.update(not_before=None)
            step(audit)
    assert audit.state == AuditState.DONE
    assert not audit.items.exists()
    assert len(audit_selectors.head(audit)["problems"]) == 3


def test_an_organisation_that_is_too_busy_to_be_listed_is_asked_later(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with FakeOrganisation(2, MODEL, quota=1, pause="60") as hub:
        monkeypatch.setenv("HF_ENDPOINT", hub.endpoint)
        audit = begin(source="hf://org")
        step(audit)
        assert audit.state == AuditState.RUNNING
        assert audit.lease_until > timezone.now() + timedelta(seconds=50)
        hub.quota = 0
        Audit.objects.update(lease_until=None)
        assert run(audit).state == AuditState.DONE
        assert audit.items.count() == 2
        hub.quota = 1
        late = begin(source="hf://org")
        Audit.objects.filter(pk=late.pk).update(created=timezone.now() - timedelta(hours=3))
        step(late)
        assert (late.state, late.error_code) == (AuditState.FAILED, "rate_limited")


def test_unchanged_models_of_a_hub_are_not_opened_again(monkeypatch: pytest.MonkeyPatch) -> None:
    with FakeOrganisation(3, MODEL) as hub:
        monkeypatch.setenv("HF_ENDPOINT", hub.endpoint)
        run(begin(source="hf://org"))
        reports = Report.objects.count()
        hub.server.requests.clear()
        again = run(begin(source="hf://org"))
        assert not [r for r in hub.server.requests if "/resolve/" in r.path]
    assert Report.objects.count() == reports
    assert again.previous is not None
    assert audit_selectors.progress(again).reused == 3
    changes = audit_selectors.head(again)["changes"]
    assert not any(changes.values())
    assert again.regressed is False


def test_an_unchanged_link_costs_one_byte() -> None:
    with RangeServer({"one.gguf": MODEL}) as server:
        run(begin(links=links(server, ["one.gguf"])))
        server.requests.clear()
        run(begin(links=links(server, ["one.gguf"])))
        assert [request.headers["range"] for request in server.requests] == ["bytes=0-0"]


def test_what_got_worse_is_a_regression() -> None:
    with RangeServer({"one.gguf": MODEL, "two.gguf": MODEL}) as server:
        text = links(server, ["one.gguf", "two.gguf"])
        run(begin(links=text))
        server.files["two.gguf"] = b"GGUF"
        server.behaviours["two.gguf"] = lambda handler, _: handler.serve(b"GGUF", ETag='"two"')
        again = run(begin(links=text))
    assert again.regressed is True
    changes = audit_selectors.head(again)["changes"]
    assert [path.rpartition("/")[2] for path in changes["regressions"]] == ["two.gguf"]


def test_a_dead_host_does_not_hold_up_the_others() -> None:
    with RangeServer({"one.gguf": MODEL}) as server:
        dead = [f"http://127.0.0.1:9/{number}.gguf" for number in range(30)]
        audit = run(begin(links="\n".join([*dead, server.url("one.gguf")])), rounds=20)
    codes = list(audit.items.values_list("error_code", flat=True))
    assert codes.count("host_down") >= 30 - TRIES - audit_feed.HOST_IN_FLIGHT
    assert codes.count("") == 1


def test_no_host_is_asked_for_more_than_a_few_files_at_a_time() -> None:
    text = "\n".join(f"http://127.0.0.1:9/{number}.gguf" for number in range(30))
    audit = begin(links=text)
    tasks.audit_step(str(audit.pk))
    audit.refresh_from_db()
    assert audit_feed.feed(audit) == audit_feed.HOST_IN_FLIGHT
    assert audit_feed.feed(audit) == 0


def test_the_next_files_are_queued_once_half_of_the_last_have_ended() -> None:
    names = [f"{number}.gguf" for number in range(30)]
    with RangeServer(dict.fromkeys(names, MODEL)) as server:
        audit = begin(links=links(server, names))
        tasks.audit_step(str(audit.pk))
        audit.refresh_from_db()
        most = audit_feed.HOST_IN_FLIGHT
        assert audit_feed.feed(audit) == most
        queued = Inspection.objects.filter(state=State.QUEUED).order_by("created")
        for ended in range(1, most // 2 + 1):
            assert audit.items.filter(state=ItemState.SETTLED).count() == 0
            assert queued.count() == most - ended + 1
            inspect(str(queued.first().pk))
        assert queued.count() == most
        assert audit.items.filter(state=ItemState.SETTLED).count() == most // 2
        audits.cancel(audit)
        assert queued.count() == 0


def test_an_audit_has_only_so_many_in_flight(
    tmp_path: Path, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(audit_feed, "IN_FLIGHT", 4)
    settings.ROOTS = (tmp_path,)
    write(tmp_path, {f"{number}.gguf": b"GGUF" for number in range(10)})
    audit = begin(source=str(tmp_path))
    tasks.audit_step(str(audit.pk))
    audit.refresh_from_db()
    assert audit_feed.feed(audit) == 4
    assert audit_feed.feed(audit) == 0
    lanes = set(Inspection.objects.values_list("lane", flat=True))
    assert lanes == {queue.AUDIT_LANE}


def test_a_cancelled_audit_says_what_became_of_each_model(tmp_path: Path, settings: Any) -> None:
    settings.ROOTS = (tmp_path,)
    write(tmp_path, {f"{number}.gguf": MODEL for number in range(3)})
    audit = begin(source=str(tmp_path))
    tasks.audit_step(str(audit.pk))
    audit.refresh_from_db()
    audit_feed.feed(audit)
    inspect(str(Inspection.objects.order_by("created").first().pk))
    assert audits.cancel(audit)
    assert not audits.cancel(audit)
    tasks.round_of_audits()
    audit.refresh_from_db()
    assert audit.state == AuditState.CANCELLED
    codes = sorted(audit.items.values_list("error_code", flat=True))
    assert codes == ["", "cancelled", "cancelled"]
    assert not audit.items.filter(state=ItemState.RUNNING).exists()


def test_a_source_that_cannot_be_listed_fails_the_audit() -> None:
    audit = run(begin(source="http://127.0.0.1:9/models/"))
    assert (audit.state, audit.error_code) == (AuditState.FAILED, "unreachable")
    assert audit.error_message


def test_a_deleted_inspection_is_told(tmp_path: Path, settings: Any) -> None:
    settings.ROOTS = (tmp_path,)
    write(tmp_path, {"one.gguf": MODEL})
    audit = begin(source=str(tmp_path))
    tasks.audit_step(str(audit.pk))
    audit.refresh_from_db()
    audit_feed.feed(audit)
    Inspection.objects.all().delete()
    audit_steps.settle(audit)
    assert audit.items.get().error_code == "deleted"


def test_a_step_whose_worker_died_is_taken_up_again() -> None:
    with RangeServer({"one.gguf": MODEL}) as server:
        audit = begin(links=links(server, ["one.gguf"]))
        now = timezone.now()
        assert audit_steps.lease(audit.pk, now)
        assert not audit_steps.lease(audit.pk, now)
        later = now + audit_steps.LEASE + timedelta(seconds=1)
        assert audit_steps.lease(audit.pk, later)
        audit_steps.release(audit.pk)
        assert run(audit).state == AuditState.DONE


def test_an_audit_given_back_between_two_statements_is_not_given_up() -> None:
    """A second message meets the audit while it is held, and its worker gives it back just then."""
    audit = begin(links="https://example.org/a.gguf")
    now = timezone.now()
    assert audit_steps.lease(audit.pk, now)
    given_back = []

    def give_back(execute: Any, *statement: Any) -> Any:
        answer = execute(*statement)
        if not given_back:
            given_back.append(True)
            audit_steps.release(audit.pk)
        return answer

    with connection.execute_wrapper(give_back):
        audit_steps.lease(audit.pk, now)
    audit.refresh_from_db()
    assert given_back
    assert audit.state == AuditState.RUNNING


def test_an_audit_that_kills_every_worker_is_given_up() -> None:
    audit = begin(links="https://example.org/a.gguf")
    now = timezone.now()
    for _ in range(audit_steps.MOST_ATTEMPTS):
        assert audit_steps.lease(audit.pk, now)
        now += audit_steps.LEASE + timedelta(seconds=1)
    assert not audit_steps.lease(audit.pk, now)
    audit.refresh_from_db()
    assert (audit.state, audit.error_code) == (AuditState.FAILED, "worker_lost")


def test_listing_twice_makes_no_model_twice() -> None:
    with RangeServer({"one.gguf": MODEL}) as server:
        audit = begin(links=links(server, ["one.gguf"]))
        tasks.list_places(audit)
        Place.objects.update(listed=False)
        Audit.objects.update(listed=False)
        tasks.list_places(audit)
    assert audit.items.count() == 1


def test_schedules_begin_when_they_are_due() -> None:
    fields = audits.order(links="https://example.org/a.gguf")
    now = timezone.now()
    first = audits.repeat(None, fields, "nightly", now)
    schedule = Schedule.objects.get()
    assert audits.begin_due(now) == []
    assert audits.begin_due(now + timedelta(hours=25)) == []  # the first still runs
    audits.cancel(first)
    later = now + timedelta(days=3, hours=1)
    (second,) = audits.begin_due(later)
    assert second.schedule == schedule
    schedule.refresh_from_db()
    assert timedelta(0) < schedule.next_at - later <= timedelta(days=1)


def test_ended_audits_do_not_ring_for_every_model() -> None:
    from ggufhub.hub import webhooks
    from ggufhub.hub.models import Delivery

    webhooks.create(owner=None, url="https://ci.example/x")
    with RangeServer({"one.gguf": MODEL}) as server:
        text = links(server, ["one.gguf"])
        run(begin(links=text))
        webhooks.announce(timezone.now())
        assert not Delivery.objects.exists()
        server.behaviours["one.gguf"] = lambda handler, _: handler.serve(b"GGUF", ETag='"two"')
        audit = run(begin(links=text))
    webhooks.announce(timezone.now())
    webhooks.announce(timezone.now())
    (delivery,) = Delivery.objects.all()
    assert delivery.audit == audit
    body = webhooks.message(delivery)
    assert b'"type":"audit.regressed"' in body
    assert str(audit.pk).encode() in body


def test_workers_killed_on_the_way_lose_and_double_nothing(
    broker: Broker, tmp_path: Path, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.ROOTS = (tmp_path,)
    monkeypatch.setenv("GGUFHUB_ROOTS", str(tmp_path))
    write(tmp_path, {f"{n:02}.gguf": llama({"general.name": str(n)}) for n in range(40)})
    write(tmp_path, {"die.gguf": MODEL})  # kills every process that reads it
    worker = LiveWorker()
    worker.start()
    audit = begin(source=str(tmp_path))
    tasks.audit_step(str(audit.pk))
    settled = audit.items.filter(state=ItemState.SETTLED)

    def progress(enough: int) -> bool:
        audit.refresh_from_db()
        tasks.advance(audit)
        services.expire(timezone.now() + services.LEASE * 0.9)
        reconcile(timezone.now() + DRAINED_AFTER)
        return settled.count() >= enough

    try:
        wait_for(lambda: progress(5))
        worker.kill()
        services.expire(timezone.now() + services.LEASE * 1.1)
        worker.start()
        wait_for(lambda: progress(41), 60)
    finally:
        worker.kill()
    tasks.audit_step(str(audit.pk))
    audit.refresh_from_db()
    assert audit.state == AuditState.DONE
    counted = audit_selectors.progress(audit)
    assert (counted.total, counted.settled, counted.verdicts["pass"]) == (41, 41, 40)
    assert audit.items.get(path="die.gguf").error_code == "worker_lost"
    assert Report.objects.count() == 40


def test_a_single_inspection_does_not_wait_for_an_audit(broker: Broker) -> None:
    audit = begin(links="\n".join(f"https://example.org/{n}.gguf" for n in range(20)))
    tasks.list_places(audit)
    audit.refresh_from_db()
    audit_feed.feed(audit)
    with broker.client() as client:
        assert client.llen(queue.QUEUE) == 0
