"""The tasks behind audits: a round over all of them every few seconds, and the long steps."""

import logging
import os
import time
from datetime import timedelta
from typing import TypeGuard

from django.conf import settings
from django.utils import timezone

from ggufhub.audit.changes import Brief, changes
from ggufhub.audit.groups import INTEREST, Filter, group
from ggufhub.audit.hosts import BUSY
from ggufhub.audit.judge import Judgement
from ggufhub.audit.result import Totals, make_head
from ggufhub.audit.stored import pack_listing, unpack_listing
from ggufhub.errors import GgufHubError, SourceError
from ggufhub.hub import audit_steps as steps
from ggufhub.hub import audits, queue
from ggufhub.hub.audit_feed import feed
from ggufhub.hub.audit_models import OPEN_AUDITS, Audit, AuditState, ItemState, Place
from ggufhub.report.build import RULE_SET
from ggufhub.report.codec import Json, safe_text
from ggufhub.rules.policy_file import parse_policy
from ggufhub.sources.listed import Places
from ggufhub.sources.listing import Listing
from ggufhub.sources.roots import check_below
from ggufhub.web.log import subject
from workers.app import app
from workers.inspect import POLICY

STEP_SECONDS = 3600
"""Listing an organisation of a thousand repositories takes a few thousand requests."""

MOST_POSTPONED = 20
"""Times in a row that nothing could be listed because a hub asked to wait: an hour and a half at
the hub's quotas."""

LONGEST_WAIT = timedelta(hours=2)
"""How old an audit may be whose source was never ready to say what there is."""

WAIT_UNTOLD = 30.0
"""Seconds to leave a hub alone that is busy and does not say for how long."""

log = logging.getLogger(__name__)


@app.task(name=queue.AUDITS)
def round_of_audits() -> None:
    """Begin what is due, settle what has ended, queue what comes next."""
    audits.begin_due(timezone.now())
    for audit in Audit.objects.filter(state__in=OPEN_AUDITS).defer("head").order_by("created"):
        with subject(str(audit.pk), "audit"):
            advance(audit)
    for audit in _cancelled():
        steps.settle(audit)


def _cancelled() -> list[Audit]:
    """Cancelled audits that still have to say what became of models in work."""
    rows = Audit.objects.filter(state=AuditState.CANCELLED, items__state=ItemState.RUNNING)
    return list(rows.defer("head").distinct())


def advance(audit: Audit) -> None:
    """One round for one audit; the long steps are messages of their own."""
    while steps.settle(audit):
        feed(audit)
    feed(audit)
    free = audit.lease_until is None or audit.lease_until < timezone.now()
    if free and (_to_list(audit) or steps.finished_items(audit)):
        queue.send_audit_step(audit.pk)


def _to_list(audit: Audit) -> bool:
    """Whether there is a place to list now."""
    if audit.listed:
        return False
    waiting = audit.places.filter(listed=False)
    due = waiting.exclude(not_before__gt=timezone.now())
    return due.exists() or not waiting.exists()


@app.task(name=queue.AUDIT_STEP, soft_time_limit=STEP_SECONDS, time_limit=STEP_SECONDS + 60)
def audit_step(audit_id: str) -> None:
    """List what is not listed, or conclude what is finished."""
    with subject(audit_id, "audit"):
        if not steps.lease(audit_id, timezone.now()):
            return
        audit = Audit.objects.select_related("previous").get(pk=audit_id)
        try:
            if not audit.listed:
                list_places(audit)
            elif steps.finished_items(audit):
                conclude(audit)
        except GgufHubError as error:
            if _may_wait(audit, error):
                steps.wait(audit_id, error.retry_after or WAIT_UNTOLD)
            else:
                steps.fail(audit_id, error.code, error.message)
        except MemoryError:
            steps.fail(audit_id, "memory", "The audit needs more memory than it may use.")
        else:
            steps.release(audit_id)


def _may_wait(audit: Audit, error: GgufHubError) -> TypeGuard[SourceError]:
    """Whether the source is only too busy to say what there is, and not for too long already."""
    busy = isinstance(error, SourceError) and error.code in BUSY
    return busy and timezone.now() - audit.created < LONGEST_WAIT


def list_places(audit: Audit) -> None:
    """Write down every model there is. ``SourceError`` where the source cannot be listed."""
    places = Places(policy=POLICY, interest=INTEREST, environment=os.environ)
    if not audit.places.exists():
        if audit.target.startswith("/"):
            check_below(audit.target, settings.ROOTS)
        steps.add_places(audit, places.repositories(audit.target))
    many = audit.places.count() > 1
    for place in audit.places.filter(listed=False).exclude(not_before__gt=timezone.now()):
        if not steps.renew(audit.pk):
            return  # cancelled
        try:
            listing = places.listing(place.target)
        except SourceError as error:
            if error.code in BUSY and place.postponed < MOST_POSTPONED:
                # The quota is the hub's, so the other places would fare no better.
                steps.postpone(audit.places.filter(listed=False), error.retry_after or WAIT_UNTOLD)
                return
            if not many:
                raise
            _not_listed(place, error)
            continue
        _add(place, listing.under(place.target.removeprefix("hf://")) if many else listing)
        if place.postponed:
            audit.places.filter(listed=False).update(postponed=0)
    if not audit.places.filter(listed=False).exists():
        Audit.objects.filter(pk=audit.pk).update(listed=True)


def _not_listed(place: Place, error: SourceError) -> None:
    empty = pack_listing(Listing(place.target))
    Place.objects.filter(pk=place.pk).update(
        listed=True, listing=empty, error=safe_text(error.message)
    )


def _add(place: Place, listing: Listing) -> None:
    wanted = Filter(**{k: _plain(v) for k, v in place.audit.wanted.items()})
    items = [item for item in group(listing.entries).items if wanted.takes(item)]
    steps.add_items(place, items, pack_listing(listing), RULE_SET)


def _plain(value: Json) -> Json:
    return tuple(value) if isinstance(value, list) else value


def conclude(audit: Audit) -> None:
    """Judge the repositories, compare with the last audit, and store the result."""
    began = time.monotonic()
    policy = parse_policy(audit.policy) if audit.policy else None
    totals, briefs = Totals(), []
    for row in steps.rows_of(audit):
        totals.add(row)
        briefs.append(Brief.of(row))
    judgement, places, problems = Judgement(), [], []
    for place in audit.places.all():
        listing = unpack_listing(bytes(place.listing))
        judgement.add(listing, steps.rows_of(audit, place), audit.profile, policy)
        steps.renew(audit.pk)
        models = place.items.count()
        places.append({"source": listing.locator, "revision": listing.revision, "models": models})
        problems += [{"path": p.path, "message": p.message} for p in listing.problems]
        if place.error:
            problems.append({"path": place.target, "message": place.error})
    last = audit.previous
    head = make_head(
        source=audit.locator,
        profile=audit.profile,
        totals=totals,
        judgement=judgement,
        places=places,
        problems=[{name: safe_text(text) for name, text in told.items()} for told in problems],
        changes=None if last is None else changes(map(Brief.of, steps.rows_of(last)), briefs),
    )
    steps.conclude(audit, head, RULE_SET)
    log.info("concluded in %.1f s", time.monotonic() - began)
