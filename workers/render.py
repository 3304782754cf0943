"""The task that renders a conversation: the template runs in a process of its own, jailed."""

import json
import logging
import uuid
from typing import Any

from ggufhub.hub import queue, renders, selectors
from ggufhub.hub.models import Report
from ggufhub.hub.render_models import RenderJob
from ggufhub.report.codec import safe_text
from ggufhub.report.templates import SPECIAL_TOKENS
from ggufhub.rules.vocabulary import ID_KEYS, TOKENS
from ggufhub.templating.render import render_conversation
from workers.app import app

log = logging.getLogger(__name__)


@app.task(name=queue.RENDER)
def render(job_id: str) -> None:
    """Render the conversation of a job and write down the outcome, whatever it is."""
    job = renders.waiting(job_id)
    if job is None:
        return
    try:
        renders.finish(job, **_rendered(job))
    except Exception as error:  # of any kind: who waits for the row gets an answer
        reference = uuid.uuid4().hex[:12]
        log.error("rendering failed, reference %s", reference, exc_info=error)
        renders.finish(job, failure="internal", message=f"The service failed ({reference}).")


def _rendered(job: RenderJob) -> dict[str, Any]:
    templates = selectors.document(job.report)["templates"]
    text = next(one["text"] for one in templates if one["name"] == job.template)
    outcome = render_conversation(text, {**special_tokens(job.report), **json.loads(job.given)})
    return {
        "output": safe_text(outcome.output),
        "failure": outcome.failure or "",
        "message": safe_text(outcome.message),
    }


def special_tokens(report: Report) -> dict[str, str]:
    """``bos_token`` and the like as text, from what is stored of the vocabulary."""
    values = {entry["key"]: entry["value"] for entry in selectors.document(report)["metadata"]}
    found = {}
    for name in SPECIAL_TOKENS:
        number = values.get(ID_KEYS[name])
        if isinstance(number, int) and not isinstance(number, bool):
            token = _token(report, number)
            if token is not None:
                found[f"{name}_token"] = token
    return found


def _token(report: Report, number: int) -> str | None:
    if number < 0:
        return None
    try:
        items = selectors.array_page(report, TOKENS, start=number, limit=1)["items"]
    except selectors.NoSuchArray:
        return None
    token = items[0] if items else None
    if isinstance(token, dict):
        token = token.get("text")
    return token if isinstance(token, str) else None
