"""Conversations of people, rendered by a report's own chat template.

No template runs here: the row is written, a worker hands it to the isolated process, and the
answer comes back into the row.
"""

import json
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db import transaction

from ggufhub.errors import UsageError
from ggufhub.hub import queue, selectors
from ggufhub.hub.models import Report
from ggufhub.hub.render_models import RenderJob
from ggufhub.hub.values import clip
from ggufhub.limits import KIB

MOST_GIVEN = 64 * KIB
"""Bytes of a conversation as JSON; the longest sample of ours has 1 KB."""

MOST_OUTPUT = 64 * KIB
"""Characters of the result that are kept and shown."""

MOST_NESTING = 32
"""Levels of the conversation; the schema of a tool has about eight."""

KEPT = timedelta(hours=1)


class TooMuch(UsageError):
    """A conversation of more than ``MOST_GIVEN`` bytes."""

    def __init__(self) -> None:
        super().__init__(f"A conversation has at most {MOST_GIVEN:,} bytes.")


@transaction.atomic
def submit(
    report: Report,
    *,
    template: str,
    messages: Any,
    tools: Any = None,
    add_generation_prompt: bool = True,
) -> RenderJob:
    """Ask for ``messages`` to be rendered by the template called ``template``.

    ``UsageError`` for a template that the report does not have, and for what is no conversation.
    """
    if all(one["name"] != template for one in selectors.document(report)["templates"]):
        raise UsageError("The report has no such template.")
    given: dict[str, Any] = {
        "messages": _objects(messages, "messages"),
        "add_generation_prompt": bool(add_generation_prompt),
    }
    if tools:
        given["tools"] = _objects(tools, "tools")
    _check_roles(given["messages"])
    written = json.dumps(given)
    if len(written) > MOST_GIVEN:
        raise TooMuch
    job = RenderJob.objects.create(report=report, template=template, given=written)
    transaction.on_commit(lambda: queue.send_render(job.pk))
    return job


def _objects(value: Any, what: str) -> list[dict[str, Any]]:
    """``value`` as a list of objects that is neither empty nor too deep."""
    if not isinstance(value, list) or not value:
        raise UsageError(f"The {what} are a list with at least one object in it.")
    if not all(isinstance(one, dict) for one in value):
        raise UsageError(f"Each of the {what} is an object.")
    if _depth(value) > MOST_NESTING:
        raise UsageError(f"The {what} are nested more than {MOST_NESTING} levels deep.")
    return value


def _check_roles(messages: list[dict[str, Any]]) -> None:
    for message in messages:
        if not isinstance(message.get("role"), str):
            raise UsageError("Each message has a role, such as user or assistant.")
        if not isinstance(message.get("content", ""), str | list | None):
            raise UsageError("The content of a message is a text, a list of parts, or null.")


def _depth(value: Any) -> int:
    """Levels of lists and objects, counted without recursion: the value comes from outside."""
    deepest, pending = 0, [(value, 1)]
    while pending:
        one, level = pending.pop()
        inner = one.values() if isinstance(one, dict) else one if isinstance(one, list) else ()
        deepest = max(deepest, level if isinstance(one, dict | list) else 0)
        pending += [(part, level + 1) for part in inner]
    return deepest


def find(report: Report, job_id: UUID) -> RenderJob:
    """One job of ``report``; ``RenderJob.DoesNotExist`` where it has none of that id (any more)."""
    return RenderJob.objects.get(pk=job_id, report=report)


def waiting(job_id: UUID | str) -> RenderJob | None:
    """The job, if it still has to be done."""
    rows = RenderJob.objects.select_related("report")
    return rows.filter(pk=job_id, done=False).first()


def finish(job: RenderJob, *, output: str = "", failure: str = "", message: str = "") -> None:
    """Write down what came of it; a long output is cut."""
    RenderJob.objects.filter(pk=job.pk, done=False).update(
        done=True,
        output=clip(output, MOST_OUTPUT),
        failure=clip(failure, 16),
        message=clip(message, 2000),
    )


def prune(now: datetime) -> int:
    """Forget what is older than an hour; how many there were."""
    return int(RenderJob.objects.filter(created__lt=now - KEPT).delete()[0])
