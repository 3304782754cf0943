"""Tasks on a timer. Each may run twice at once, late, or not at all without harm."""

import logging

from django.utils import timezone

from ggufhub.hub import housekeeping, queue, reuse
from ggufhub.hub.reconcile import reconcile as repair
from ggufhub.report.build import RULE_SET
from workers.app import app

log = logging.getLogger(__name__)


@app.task(name="workers.reconcile")
def reconcile() -> None:
    """Bring back rows whose message or worker was lost."""
    repair()


@app.task(name="workers.prune")
def prune() -> None:
    """Delete what nobody needs any more."""
    housekeeping.prune(timezone.now())


@app.task(name=queue.REJUDGE)
def rejudge() -> None:
    """Queue everything that other rules than ours have judged and whose header is kept."""
    made = reuse.judge_again(RULE_SET)
    log.info("%d inspections are judged again by the rules %s", len(made), RULE_SET)
    repair()
