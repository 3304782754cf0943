"""What an operator watches: probes, figures, log lines, signs of life."""

import io
import json
import logging
import os
import socket
import subprocess
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from ggufhub.hub import gauges, queue, tokens
from ggufhub.hub.models import Inspection, State
from ggufhub.web import alive, heartbeat, log, metrics
from ggufhub.web.redis_client import connect
from tests import rows
from tests.conftest import BROKER_SOCKET
from tests.live import Broker, LiveWorker, wait_for


def figures(text: str) -> dict[str, float]:
    """The samples of an exposition; each family must be announced before them."""
    found, announced = {}, set()
    for line in text.splitlines():
        if line.startswith("# TYPE "):
            announced.add(line.split()[2])
        elif not line.startswith("#"):
            name, _, value = line.rpartition(" ")
            family = name.partition("{")[0]
            for suffix in ("_bucket", "_sum", "_count"):
                family = family.removesuffix(suffix)
            assert family in announced, line
            found[name] = float(value)
    return found


# Figures


@pytest.mark.django_db
def test_the_figures_say_how_it_goes(client: Client, broker: Broker) -> None:
    rows.queued()
    Inspection.objects.update(source_kind="url", bytes_read=1234)
    with broker.client() as redis:
        heartbeat.beat(redis, "one@here", ["inspect", "digest"])
        heartbeat.beat(redis, "two@here", ["inspect"])
    client.get("/api/v1/rules/STR001")
    answer = client.get("/metrics")
    assert answer["Content-Type"].startswith("text/plain; version=0.0.4")
    found = figures(answer.content.decode())
    assert found['ggufhub_inspections{state="queued"}'] == 1
    assert found['ggufhub_inspections{state="failed"}'] == 0
    assert found["ggufhub_fetched_bytes"] == 1234
    assert found["ggufhub_upload_bytes"] == 4
    assert 0 <= found["ggufhub_oldest_queued_seconds"] < 60
    assert found['ggufhub_workers{queue="inspect"}'] == 2
    assert found['ggufhub_workers{queue="hooks"}'] == 0
    assert found['ggufhub_up{part="database"}'] == found['ggufhub_up{part="broker"}'] == 1
    assert found["ggufhub_disk_free_bytes"] < found["ggufhub_disk_size_bytes"]
    route = 'method="GET",route="api:rule",status="200"'
    assert found[f"ggufhub_requests_total{{{route}}}"] >= 1


@pytest.mark.django_db
def test_the_figures_of_a_dead_broker_are_left_out(client: Client, broker: Broker) -> None:
    broker.kill()
    try:
        found = figures(client.get("/metrics").content.decode())
    finally:
        broker.start()
    assert found['ggufhub_up{part="broker"}'] == 0
    assert 'ggufhub_queue_messages{queue="inspect"}' not in found
    assert found['ggufhub_inspections{state="done"}'] == 0


@pytest.mark.django_db
def test_the_figures_are_for_operators(client: Client, settings: Any, broker: Broker) -> None:
    settings.AUTH_MODE = "required"
    assert client.get("/metrics").status_code == 401
    user = User.objects.create_user("user")
    client.force_login(user)
    assert client.get("/metrics").status_code == 403
    User.objects.filter(pk=user.pk).update(is_staff=True)
    assert client.get("/metrics").status_code == 200
    _, text = tokens.create(owner=user, name="scraper", scopes=["read"])
    scraper = Client(headers={"Authorization": f"Bearer {text}"})
    assert scraper.get("/metrics").status_code == 200


def test_latencies_are_a_cumulative_histogram() -> None:
    counted = metrics.Requests()
    for seconds in (0.001, 0.005, 0.3, 99.0):
        counted.note('a"b\\c\n', "GET", 200, seconds)
    found = figures(metrics.exposition(counted.families()))
    name, route = "ggufhub_request_seconds_bucket", r'route="a\"b\\c\n"'
    ends = [
        found[f'{name}{{le="{end}",{route}}}'] for end in ("0.005", "0.25", "0.5", "60.0", "+Inf")
    ]
    assert ends == [2, 2, 3, 3, 4]
    assert found[r'ggufhub_request_seconds_sum{route="a\"b\\c\n"}'] == pytest.approx(99.306)


def test_unknown_methods_do_not_make_new_figures(client: Client, db: None) -> None:
    client.generic("BREW", "/healthz")
    assert "BREW" not in metrics.exposition(metrics.requests.families())


def test_the_processes_of_one_server_count_together(tmp_path: Path) -> None:
    """Also those that have ended, as one has by the time the next begins."""
    count = (
        "from ggufhub.web.metrics import exposition, requests\n"
        "requests.note('api:rule', 'GET', 200, 0.1)\n"
        "print(exposition(requests.families()), end='')\n"
    )
    environment = {**os.environ, metrics.SHARED: str(tmp_path)}
    for expected in (1, 2, 3):
        done = subprocess.run(
            [sys.executable, "-c", count],
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        )
        found = figures(done.stdout)
        route = 'method="GET",route="api:rule",status="200"'
        assert found[f"ggufhub_requests_total{{{route}}}"] == expected
        assert found['ggufhub_request_seconds_count{route="api:rule"}'] == expected
        assert 0 < time.time() - found["ggufhub_process_start_seconds"] < 600


# Readiness


@pytest.mark.django_db(transaction=True)
def test_ready_when_a_worker_lives_and_not_when_it_died(
    client: Client, live_worker: LiveWorker
) -> None:
    wait_for(lambda: client.get("/readyz").status_code == 200)
    redis = connect(f"redis+socket://{BROKER_SOCKET}")
    assert set(heartbeat.served(redis)) >= set(queue.QUEUES)
    (key,) = redis.scan_iter(match=f"{heartbeat.PREFIX}*")
    assert 0 < redis.ttl(key) <= heartbeat.FADES_SECONDS
    live_worker.kill()
    redis.delete(key)  # as time does
    unready = client.get("/readyz")
    assert (unready.status_code, unready.json()["checks"]["workers"]) == (503, "unavailable")


def test_a_dead_database_is_not_ready(client: Client, broker: Broker, monkeypatch: Any) -> None:
    from ggufhub.api.views import health

    monkeypatch.setattr(health, "_database", lambda: False)
    assert client.get("/readyz").json()["checks"]["database"] == "unavailable"


# The container's own question


class Healthy(BaseHTTPRequestHandler):
    status = 200

    def do_GET(self) -> None:
        self.send_response(self.status)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Keep quiet."""


@pytest.mark.parametrize(("status", "code"), [(200, 0), (503, 1)])
def test_a_container_asks_its_web_server(status: int, code: int, monkeypatch: Any) -> None:
    handler = type("Answer", (Healthy,), {"status": status})
    with HTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        monkeypatch.setenv("GGUFHUB_BIND", f"0.0.0.0:{server.server_port}")
        assert alive.main([]) == code
        server.shutdown()
    assert alive.main([]) == 1  # nobody listens there any more


def test_a_container_asks_for_its_worker(broker: Broker, monkeypatch: Any) -> None:
    monkeypatch.setenv("GGUFHUB_BROKER_URL", f"redis+socket://{BROKER_SOCKET}")
    assert alive.main(["hooks@%h"]) == 1
    with broker.client() as redis:
        heartbeat.beat(redis, f"hooks@{socket.gethostname()}", ["hooks"])
    assert alive.main(["hooks@%h"]) == 0
    monkeypatch.setenv("GGUFHUB_BROKER_URL", "redis+socket:///nowhere.sock")
    assert alive.main(["hooks@%h"]) == 1


# The log


def lines(form: str, act: Any) -> list[str]:
    """What ``act(logger)`` writes in the form ``form``."""
    out = io.StringIO()
    handler = logging.StreamHandler(out)
    formatter = log.JsonFormatter() if form == "json" else log.TextFormatter()
    handler.setFormatter(formatter)
    handler.addFilter(log.SubjectFilter())
    logger = logging.Logger("test")
    logger.addHandler(handler)
    act(logger)
    return out.getvalue().splitlines()


HOSTILE = "\x1b[31mfake\r\n2026 ERROR root forged\u2028\u202e"


@pytest.mark.parametrize("form", log.FORMATS)
def test_a_file_forges_no_line(form: str) -> None:
    (line,) = lines(form, lambda logger: logger.warning("name %s", HOSTILE))
    assert line.isprintable()


def test_a_line_names_its_inspection() -> None:
    def act(logger: logging.Logger) -> None:
        with log.subject("7f", "inspection"), log.subject("80", "request"):
            logger.info("inner", extra={"fields": {"action": "sign-in"}})
        logger.info("outer")

    inner, outer = (json.loads(line) for line in lines("json", act))
    assert (inner["request"], inner["action"], inner["message"]) == ("80", "sign-in", "inner")
    assert "inspection" not in outer and outer["level"] == "INFO"
    assert "[80] inner" in lines("text", act)[0] and "[-] outer" in lines("text", act)[1]


def test_a_traceback_is_one_json_line() -> None:
    def act(logger: logging.Logger) -> None:
        try:
            raise ValueError("why")
        except ValueError:
            logger.exception("failed")

    (line,) = lines("json", act)
    assert "ValueError: why" in json.loads(line)["traceback"]


def test_an_exception_forges_no_line() -> None:
    def act(logger: logging.Logger) -> None:
        try:
            raise ValueError(HOSTILE)
        except ValueError:
            logger.exception("failed")

    first, *further = lines("text", act)
    assert first.endswith("failed")
    assert all(line.startswith("    ") and line.isprintable() for line in further)
    assert any(line.startswith("    2026 ERROR root forged") for line in further)


@pytest.mark.django_db(transaction=True)
def test_the_oldest_row_is_one_that_waits_for_a_worker(broker: Broker) -> None:
    row = rows.queued()
    Inspection.objects.filter(pk=row.pk).update(needs_until=10, created="2026-01-01T00:00Z")
    ages = [f for f in gauges.families() if f.name == "ggufhub_oldest_queued_seconds"]
    assert [sample.value for family in ages for sample in family.samples] == [0.0]
    assert row.state == State.QUEUED
