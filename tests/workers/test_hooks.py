"""Webhooks: signed, sent through the address policy, tried again, and sent once."""

import base64
import hashlib
import hmac
import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from ggufhub.hub import queue, services, webhooks
from ggufhub.hub.models import Delivery, Inspection, Webhook
from tests import rows
from tests.builders import small_model
from tests.live import Broker
from workers import hooks
from workers.app import app

pytestmark = pytest.mark.django_db


@dataclass
class Receiver:
    """A web server that notes what it is sent and answers ``status``."""

    url: str = ""
    status: int = 204
    headers: dict[str, str] = field(default_factory=dict)
    seen: list[tuple[dict[str, str], bytes]] = field(default_factory=list)


@pytest.fixture
def receiver(loopback: None) -> Iterator[Receiver]:
    state = Receiver()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            state.seen.append(({k.lower(): v for k, v in self.headers.items()}, body))
            self.send_response(state.status)
            for name, value in {**state.headers, "Content-Length": "0"}.items():
                self.send_header(name, value)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Keep quiet."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    state.url = f"http://127.0.0.1:{server.server_port}/hook?key=secret"
    yield state
    server.shutdown()
    server.server_close()


@pytest.fixture
def webhook(receiver: Receiver) -> Webhook:
    return webhooks.create(owner=None, url=receiver.url)


def failed(owner: User | None = None) -> Inspection:
    row = rows.queued(owner=owner)
    attempt = services.claim(row.pk)
    assert attempt is not None
    services.fail(row.pk, attempt, code="memory", message="Too much.")
    return row


def later(**by: float) -> None:
    """Let the pause before the next attempt be over."""
    Delivery.objects.filter(next_at__isnull=False).update(
        next_at=timezone.now() - timedelta(**by or {"seconds": 1})
    )


def signature(secret: str, headers: dict[str, str], body: bytes) -> str:
    """As a receiver computes it, by the text of Standard Webhooks."""
    content = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + body
    key = base64.b64decode(secret.removeprefix("whsec_"))
    return f"v1,{base64.b64encode(hmac.new(key, content, hashlib.sha256).digest()).decode()}"


def test_a_report_is_told_once_and_signed(
    receiver: Receiver, webhook: Webhook, tmp_path: Path
) -> None:
    report = rows.finished(rows.built(small_model().build(), tmp_path))
    for _ in range(3):
        hooks.deliver()
        later()
    ((headers, body),) = receiver.seen
    message = json.loads(body)
    assert message["type"] == "inspection.done"
    assert message["data"]["id"] == str(report.pk)
    assert message["data"]["verdict"] == report.verdict and message["data"]["error"] is None
    assert headers["webhook-signature"] == signature(webhook.secret, headers, body)
    assert abs(int(headers["webhook-timestamp"]) - timezone.now().timestamp()) < 60
    delivery = Delivery.objects.get()
    assert headers["webhook-id"] == f"msg_{delivery.pk.hex}"
    assert (delivery.state, delivery.attempts, delivery.status) == ("delivered", 1, 204)


def test_failures_and_cancellations_are_told(receiver: Receiver, webhook: Webhook) -> None:
    failed()
    services.cancel(rows.queued())
    rows.queued()
    hooks.deliver()
    messages = {json.loads(body)["type"]: json.loads(body)["data"] for _, body in receiver.seen}
    assert set(messages) == {"inspection.failed", "inspection.cancelled"}
    assert messages["inspection.failed"]["error"] == {"code": "memory", "message": "Too much."}


def test_what_ended_before_is_no_news(receiver: Receiver) -> None:
    failed()
    webhooks.create(owner=None, url=receiver.url)
    hooks.deliver()
    assert receiver.seen == []


def test_each_owner_hears_of_their_own(receiver: Receiver) -> None:
    one, two = (User.objects.create_user(name) for name in ("one", "two"))
    webhooks.create(owner=one, url=receiver.url)
    mine, _ = failed(one), failed(two)
    hooks.deliver()
    assert [json.loads(body)["data"]["id"] for _, body in receiver.seen] == [str(mine.pk)]


def test_it_is_tried_again_with_growing_pauses_and_then_given_up(
    receiver: Receiver, webhook: Webhook
) -> None:
    receiver.status = 500
    failed()
    pauses = []
    for _ in range(10):
        hooks.deliver()
        row = Delivery.objects.get()
        pauses.append(row.next_at and round((row.next_at - timezone.now()).total_seconds() + 0.4))
        assert (row.status, row.error) == (500, "Status 500.")
        later()
    assert pauses == [*(int(pause.total_seconds()) for pause in webhooks.RETRY_AFTER), None]
    hooks.deliver()
    assert (len(receiver.seen), Delivery.objects.get().state) == (10, "given up")
    assert len({body for _, body in receiver.seen}) == 1
    assert len({headers["webhook-id"] for headers, _ in receiver.seen}) == 1


def test_between_attempts_nothing_is_sent(receiver: Receiver, webhook: Webhook) -> None:
    receiver.status = 503
    failed()
    for _ in range(3):
        hooks.deliver()
    assert len(receiver.seen) == 1
    receiver.status = 200
    later()
    hooks.deliver()
    assert [Delivery.objects.get().state, len(receiver.seen)] == ["delivered", 2]


def test_redirects_are_not_followed(receiver: Receiver, webhook: Webhook) -> None:
    receiver.status, receiver.headers = 307, {"Location": receiver.url}
    failed()
    hooks.deliver()
    assert (len(receiver.seen), Delivery.objects.get().status) == (1, 307)


@pytest.mark.parametrize(
    "url",
    [
        "http://169.254.169.254/latest",
        "http://10.0.0.1/x",
        "http://localhost/x",
        "http://[::1]/x",
        "http://h.example:22/x",
    ],
)
def test_no_address_inside_is_told(url: str) -> None:
    webhooks.create(owner=None, url=url)
    failed()
    hooks.deliver()
    row = Delivery.objects.get()
    assert (row.attempts, row.status, row.state) == (1, None, "pending")
    assert row.error


def test_nobody_listens(receiver: Receiver) -> None:
    webhooks.create(owner=None, url="http://127.0.0.1:9/x")
    failed()
    hooks.deliver()
    assert Delivery.objects.get().state == "pending" and Delivery.objects.get().error


def test_two_workers_send_once(receiver: Receiver, webhook: Webhook) -> None:
    failed()
    now = timezone.now()
    assert (webhooks.announce(now), webhooks.announce(now)) == (1, 0)
    (mine,), (theirs,) = webhooks.due(timezone.now()), webhooks.due(timezone.now())
    assert webhooks.claim(mine, now)
    assert not webhooks.claim(theirs, now)


def test_a_ping_is_signed_and_sent_once(receiver: Receiver, webhook: Webhook) -> None:
    receiver.status = 500
    delivery = webhooks.ping(webhook)
    hooks.deliver()
    ((headers, body),) = receiver.seen
    assert json.loads(body)["type"] == "ping"
    assert headers["webhook-signature"] == signature(webhook.secret, headers, body)
    delivery.refresh_from_db()
    assert (delivery.state, delivery.attempts, delivery.status) == ("given up", 1, 500)
    hooks.deliver()
    assert len(receiver.seen) == 1


def test_both_secrets_sign_for_a_day(receiver: Receiver, webhook: Webhook) -> None:
    old = webhook.secret
    new = webhooks.rotate(webhook, timezone.now()).secret
    assert new != old and new.startswith("whsec_")
    webhooks.ping(webhook)
    hooks.deliver()
    ((headers, body),) = receiver.seen
    assert headers["webhook-signature"].split(" ") == [
        signature(new, headers, body),
        signature(old, headers, body),
    ]
    Webhook.objects.update(old_until=timezone.now())
    webhooks.ping(webhook)
    hooks.deliver()
    headers, body = receiver.seen[-1]
    assert headers["webhook-signature"] == signature(new, headers, body)


def test_old_deliveries_are_forgotten(receiver: Receiver, webhook: Webhook) -> None:
    failed()
    hooks.deliver()
    later_on = timezone.now() + webhooks.KEPT + timedelta(hours=1)
    pending = webhooks.ping(webhook)
    assert (webhooks.prune(timezone.now()), webhooks.prune(later_on)) == (0, 1)
    assert Delivery.objects.get() == pending


@pytest.mark.django_db(transaction=True)
def test_news_never_waits_behind_inspections(broker: Broker, webhook: Webhook) -> None:
    webhooks.ping(webhook)
    with broker.client() as client:
        lengths = {name: client.llen(name) for name in queue.QUEUES}
    assert lengths == {**dict.fromkeys(queue.QUEUES, 0), "hooks": 1}
    assert app.conf.task_routes[queue.DELIVER] == {"queue": "hooks"}
