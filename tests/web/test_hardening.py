"""The points of docs/threat-model.md that have no test elsewhere, and that each has one."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from ggufhub.hub import queue
from ggufhub.web import errors
from tests import rows
from tests.live import Broker
from tests.supply import locks
from tests.supply.parts import declared
from workers.app import app

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("https", ["yes", "no"])
def test_the_deployment_check_is_silent(tmp_path: Path, https: str) -> None:
    done = subprocess.run(
        [sys.executable, "manage.py", "check", "--deploy", "--fail-level", "WARNING"],
        cwd=ROOT,
        env={"PATH": os.environ["PATH"], "GGUFHUB_DATA": str(tmp_path), "GGUFHUB_HTTPS": https},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert "no issues" in done.stdout


def test_only_what_cannot_be_had_without_https_is_silenced(settings: Any) -> None:
    names = {"W004", "W008", "W012", "W016"}
    assert set(settings.SILENCED_SYSTEM_CHECKS) == {f"security.{name}" for name in names}


@pytest.mark.django_db
def test_pages_of_owners_are_not_cached(client: Client, broker: Broker) -> None:
    row = rows.queued()
    for page in ("/", f"/i/{row.pk}/"):
        assert client.get(page)["Cache-Control"] == "private, no-store"


@pytest.mark.django_db
@pytest.mark.parametrize("method", ["get", "options"])
def test_no_other_site_may_read_an_answer(client: Client, broker: Broker, method: str) -> None:
    for place in ("/api/v1/inspections", "/api/v1/rules", "/", "/healthz"):
        answer = getattr(client, method)(place, headers={"Origin": "https://elsewhere.example"})
        assert not [name for name in answer.headers if name.startswith("Access-Control")]


def test_who_speaks_https_is_believed_only_behind_a_proxy(client: Client, settings: Any) -> None:
    assert settings.SECURE_PROXY_SSL_HEADER is None  # without GGUFHUB_HTTPS nobody is
    settings.SECURE_SSL_REDIRECT = True
    claimed = {"X-Forwarded-Proto": "https"}
    assert client.get("/rules/", headers=claimed).status_code == 301
    settings.SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
    assert client.get("/rules/", headers=claimed).status_code == 200


@pytest.mark.django_db(transaction=True)
def test_messages_hold_ids_only(broker: Broker) -> None:
    row = rows.queued(name="a secret name.gguf")
    with broker.client() as redis:
        (message,) = redis.lrange(queue.QUEUE, 0, -1)
    assert b"secret" not in message and str(row.pk).encode() in message
    assert json.loads(message)["content-type"] == "application/json"
    assert app.conf.accept_content == ["json"] and app.conf.task_ignore_result
    assert not app.conf.worker_send_task_events


def test_every_dependency_has_one_version() -> None:
    lines = (ROOT / "constraints.txt").read_text().split()
    assert all(re.fullmatch(r"[\w.-]+==[\w.+!-]+", line) for line in lines)
    pinned = locks.constraints()
    assert len(pinned) == len(lines)
    assert declared(ROOT / "pyproject.toml") <= set(pinned)


def test_every_test_of_the_threat_model_exists() -> None:
    page = (ROOT / "docs" / "threat-model.md").read_text()
    named = re.findall(r"`(tests/[\w/]+\.py)(?:::(\w+))?`", page)
    assert len(named) > 20
    for file, test in named:
        text = (ROOT / file).read_text()
        assert not test or f"def {test}(" in text, (file, test)


@pytest.mark.django_db
@pytest.mark.parametrize(("error", "status"), [("OperationalError", 503), ("ValueError", 500)])
def test_a_page_says_when_the_database_is_away(
    client: Client, error: str, status: int, monkeypatch: Any
) -> None:
    from django.db import OperationalError

    from ggufhub.hub import selectors

    kinds = {"OperationalError": OperationalError, "ValueError": ValueError}

    def broken(*_: object) -> None:
        raise kinds[error]("secret")

    monkeypatch.setattr(selectors, "recent", broken)
    client.raise_request_exception = False
    answer = client.get("/")
    assert answer.status_code == status and "secret" not in answer.content.decode()
    assert answer.get("Retry-After") == (errors.RETRY_SECONDS if status == 503 else None)


def test_probes_are_not_sent_to_https(settings: Any, client: Client) -> None:
    settings.SECURE_SSL_REDIRECT = True
    assert client.get("/healthz").status_code == 200
    assert client.get("/rules/").status_code == 301
