"""What servers say of their quotas of requests, heard by one worker and heeded by all."""

import time
from collections.abc import Iterator
from datetime import timedelta

import pytest
from django.utils import timezone

from ggufhub.audit.hosts import REQUESTS
from ggufhub.hub import audit_feed, audits, hosts, housekeeping, services
from ggufhub.hub.audit_models import Audit, Host, ItemState
from ggufhub.hub.models import Inspection, State
from ggufhub.rules.model_samples import llama
from tests.audit.fakeorg import Window
from tests.audit.service import run, send_nothing
from tests.core.rangeserver import RangeServer
from workers import audit as tasks
from workers.inspect import inspect

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("loopback")]

COUNT = 25


@pytest.fixture(autouse=True)
def no_messages(monkeypatch: pytest.MonkeyPatch) -> None:
    send_nothing(monkeypatch)


def note(requests: int, seconds: float = 60.0) -> None:
    hosts.note("hub.example", requests, time.time() + seconds)


@pytest.fixture
def window() -> Window:
    return Window("resolvers", 14, 60.0)


@pytest.fixture
def server(window: Window) -> Iterator[RangeServer]:
    serve = window.counted(lambda handler, _: handler.serve(llama()))
    with RangeServer({}, {f"{n}.gguf": serve for n in range(COUNT)}) as server:
        yield server


def listed(server: RangeServer) -> Audit:
    links = "\n".join(server.url(name) for name in server.behaviours)
    audit = audits.start(None, audits.order(links=links))
    tasks.audit_step(str(audit.pk))
    audit.refresh_from_db()
    return audit


def test_nothing_is_known_of_a_server_before_it_speaks() -> None:
    assert hosts.room("hub.example", 8) is None


def test_the_files_being_read_may_need_what_is_left() -> None:
    note(5 * REQUESTS + 1)
    assert hosts.room("hub.example", 2) == 3
    assert hosts.room("hub.example", 6) == -1
    assert hosts.room("other.example", 0) is None


def test_of_one_window_the_least_counts_and_the_next_begins_anew() -> None:
    for requests, least in ((30, 10), (9, 3), (21, 3)):
        note(requests)
        assert hosts.room("hub.example", 0) == least
    Host.objects.update(until=timezone.now() - timedelta(seconds=1))
    assert hosts.room("hub.example", 0) is None
    note(300)
    assert hosts.room("hub.example", 0) == 100


def test_a_word_for_a_whole_day_is_not_waited_for() -> None:
    note(0, 86_400)
    assert hosts.room("hub.example", 0) is None


def test_what_is_long_over_is_forgotten() -> None:
    note(0)
    housekeeping.prune(timezone.now() + timedelta(minutes=30))
    assert Host.objects.count() == 1
    housekeeping.prune(timezone.now() + timedelta(hours=2))
    assert not Host.objects.exists()


def test_an_audit_stays_within_the_quota_of_a_host(window: Window, server: RangeServer) -> None:
    audit = listed(server)
    queued = Inspection.objects.filter(state=State.QUEUED).order_by("created")
    audit_feed.feed(audit)
    while (row := queued.first()) is not None:
        inspect(str(row.pk))
        tasks.advance(audit)
    # The last file to be asked for might have needed three requests.
    assert window.asked == [window.most - REQUESTS + 1]
    assert window.refused == 0
    assert audit.items.filter(state=ItemState.SETTLED).count() == window.asked[0]

    window.seconds = 0.0
    Host.objects.update(until=timezone.now())
    run(audit)
    assert window.refused == 0
    assert sum(window.asked) == COUNT


def test_a_single_inspection_is_heard_too(window: Window, server: RangeServer) -> None:
    window.most = REQUESTS
    row = services.submit_url(owner=None, url=server.url("0.gguf"))
    inspect(str(row.pk))
    audit = listed(server)
    assert audit_feed.feed(audit) == 0
    assert len(server.requests) == 1
