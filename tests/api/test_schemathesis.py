"""Generated requests against the whole API: whatever is sent, the answer is a documented one.

`API_EXAMPLES=1000` makes it a long run, with other requests each time.
"""

import os
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import schemathesis
from django.contrib.auth.models import User
from django.core.signals import request_finished, request_started
from django.db import close_old_connections, transaction
from django.utils import timezone
from hypothesis import HealthCheck, Phase, settings
from schemathesis.generation.stateful import run_state_machine_as_test
from schemathesis.specs.openapi.checks import (
    missing_required_header,
    negative_data_rejection,
    positive_data_acceptance,
    use_after_free,
)

from ggufhub.api import tus, waiting
from ggufhub.hub import audits, tokens, webhooks
from ggufhub.rules.model_samples import llama
from ggufhub.web.wsgi import application
from tests import rows

LONG = os.environ.get("API_EXAMPLES")
EXAMPLES = int(LONG or 8)
"""Of each operation, beside those that go through every parameter one by one."""

GENERATED = settings(
    max_examples=EXAMPLES,
    derandomize=LONG is None,
    deadline=None,
    stateful_step_count=6,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)

schemathesis.serializer.alias(tus.CONTENT_TYPE, "application/octet-stream")
schemathesis.serializer.alias("application/x-ndjson", "text/plain")
schema = schemathesis.openapi.from_wsgi("/api/v1/openapi.json", application)

UNSAID = (negative_data_rejection,)
"""Left out where no body is checked: unknown and empty parameters are ignored on purpose, and a
bad identifier may have been replaced by a good one here."""

TUS = (negative_data_rejection, missing_required_header)
"""Left out of uploads: the protocol answers a missing or unknown version with 412."""

CANCELLED = (use_after_free,)
"""Left out where DELETE cancels: what was cancelled still says so."""

MEANING: dict[str, tuple[Any, ...]] = {
    "GET /api/v1/audits": (positive_data_acceptance,),
    "POST /api/v1/audits": (positive_data_acceptance, negative_data_rejection),
    "GET /api/v1/inspections": (positive_data_acceptance,),
    "POST /api/v1/inspections": (positive_data_acceptance,),
    "POST /api/v1/tokens": (positive_data_acceptance,),
    "POST /api/v1/uploads": (positive_data_acceptance,),
    "POST /api/v1/webhooks": (positive_data_acceptance,),
    "GET /api/v1/reports/{id}/memory": (positive_data_acceptance,),
    "POST /api/v1/reports/{id}/render": (positive_data_acceptance,),
    "PATCH /api/v1/uploads/{id}": (positive_data_acceptance,),
}
"""Left out where a schema cannot say what a cursor, a link, a list of links or a conversation is,
that a name is more than spaces, what llama.cpp would run, or how many bytes follow."""

known: dict[str, str] = {}
"""What half of the generated identifiers are replaced by, by the first part of the path."""


@pytest.fixture(autouse=True)
def world(db: None, tmp_path: Path, settings: Any, broker: Any) -> Iterator[None]:
    """One of everything, and a token that may do all."""
    settings.AUTH_MODE = "required"
    user = User.objects.create_user("user", is_superuser=True)
    report = rows.finished(rows.built(llama(), tmp_path), owner=user)
    order = audits.order(links="https://example.org/a.gguf")
    audit = audits.repeat(user, order, "nightly", timezone.now())
    known.update(
        audits=str(audit.pk),
        schedules=str(audit.schedule_id),
        inspections=str(report.pk),
        reports=str(report.pk),
        uploads=str(rows.upload_of(b"GGUF", owner=user).pk),
        webhooks=str(webhooks.create(owner=user, url="https://ci.example/x").pk),
        tokens=tokens.create(owner=user, name="spare", scopes=["read"])[0].pk,
        rules="STR001",
        bearer=tokens.create(owner=user, name="t", scopes=["admin"])[1],
    )
    # Nobody waits for an inspection: no worker runs here. And, as with Django's own client,
    # the connection stays open: it holds the transaction of this test.
    slots = settings.WEB_THREADS // 2
    for _ in range(slots):
        waiting._slots.acquire()
    signals = (request_started, request_finished)
    for signal in signals:
        signal.disconnect(close_old_connections)
    yield
    for signal in signals:
        signal.connect(close_old_connections)
    for _ in range(slots):
        waiting._slots.release()


@schema.hook
def map_path_parameters(context: Any, values: dict[str, Any]) -> dict[str, Any]:
    """Half of the requests are about something that is there."""
    part = context.operation.path.split("/")[3]
    for name in {"id", "other"} & set(values or ()):
        if zlib.crc32(str(values[name]).encode()) % 2:
            values[name] = known.get(part, values[name])
    return values


def carried() -> dict[str, str]:
    """The headers of every request."""
    return {"Authorization": f"Bearer {known['bearer']}"}


def left_out(case: schemathesis.Case) -> list[Any]:
    """The checks that the answer need not pass."""
    checks = MEANING.get(case.operation.label, ())
    if "/uploads" in case.path:
        checks += TUS
    elif not case.operation.body:
        checks += UNSAID
    if "/audits" in case.path or "/inspections" in case.path:
        checks += CANCELLED
    if any("\0" in str(value) for value in (case.query or {}).values()):
        checks += (positive_data_acceptance,)  # refused everywhere, which no schema says
    return list(checks)


@schema.parametrize()
@GENERATED
def test_every_answer_is_a_documented_one(case: schemathesis.Case) -> None:
    case.call_and_validate(headers=carried(), excluded_checks=left_out(case))


class Workflow(schema.as_state_machine()):
    """Calls that follow each other: what one made, listed or named is what the next is about."""

    def setup(self) -> None:
        super().setup()
        self._before = transaction.savepoint()

    def teardown(self) -> None:
        transaction.savepoint_rollback(self._before)  # its token may be among what was deleted
        super().teardown()

    def get_call_kwargs(self, case: schemathesis.Case) -> dict[str, Any]:
        return {"headers": carried()}

    def validate_response(self, response: Any, case: schemathesis.Case, **sent: Any) -> None:
        case.validate_response(
            response,
            headers=carried(),
            excluded_checks=left_out(case),
            transport_kwargs=sent,
            recorder=self.recorder,
        )


def test_so_is_every_answer_about_what_other_calls_made() -> None:
    run_state_machine_as_test(Workflow, settings=GENERATED)
