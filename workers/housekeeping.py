"""Tasks on a timer. Each may run twice at once, late, or not at all without harm."""

from django.utils import timezone

from ggufhub.hub import idempotency, uploads
from ggufhub.hub.reconcile import reconcile as repair
from workers.app import app


@app.task(name="workers.reconcile")
def reconcile() -> None:
    """Bring back rows whose message or worker was lost."""
    repair()


@app.task(name="workers.prune")
def prune() -> None:
    """Delete uploads nobody has touched for long, and keys of submissions that are old."""
    uploads.prune()
    idempotency.prune(timezone.now())
