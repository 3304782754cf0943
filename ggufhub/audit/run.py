"""An audit on this machine, without a server: list, inspect in parallel, judge, compare."""

import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple, TypeVar

from ggufhub.audit.changes import Brief, changes
from ggufhub.audit.facts import Row, make_row, pack_row, unpack_row
from ggufhub.audit.groups import INTEREST, Filter, Item, group
from ggufhub.audit.hosts import BUSY, Hosts
from ggufhub.audit.judge import Judgement
from ggufhub.audit.result import AuditResult, Totals, make_head
from ggufhub.audit.state import State
from ggufhub.errors import GgufHubError, SourceError
from ggufhub.limits import HEADER, Limits
from ggufhub.report.build import RULE_SET, inspect, unreadable
from ggufhub.report.run import addresses
from ggufhub.rules.policy import Policy
from ggufhub.rules.profiles import DEFAULT_PROFILE
from ggufhub.sources.listed import Places, open_listed
from ggufhub.sources.listing import Listing, Problem
from ggufhub.sources.quota import Left

LONGEST_WAIT = 900.0
"""Seconds a server that is too busy is waited for; the quotas of the hub last five minutes."""

MOST_WAITS = 5
"""Waits in a row after which a server gave nothing."""

Found = TypeVar("Found")

Told = Callable[[int, int], None]
"""Hears how many models are done, of how many."""


@dataclass(frozen=True, slots=True)
class How:
    """How an audit is done; everything in it can be sent to another process."""

    networks: Sequence[str] = ()
    profile: str = DEFAULT_PROFILE
    policy: Policy | None = None
    depth: str = HEADER
    wanted: Filter = field(default_factory=Filter)
    jobs: int = 1

    @property
    def made_by(self) -> list[Any]:
        """What a row depends on beside the bytes."""
        return [RULE_SET, self.profile, repr(self.policy), self.depth]


class Inspected(NamedTuple):
    """The packed row of a model, and what its host then had left of a quota of requests."""

    packed: bytes
    left: Left | None = None


@dataclass(slots=True)
class _Work:
    """The rows so far, packed, the listings they came from, and what hosts said on the way."""

    hosts: Hosts = field(default_factory=Hosts)
    packed: dict[str, bytes] = field(default_factory=dict)
    listings: list[tuple[Listing, list[str]]] = field(default_factory=list)

    def rows(self, paths: Iterable[str]) -> Iterator[Row]:
        return (unpack_row(self.packed[path]) for path in paths)


def audit(
    source: str, how: How, last: State | None = None, told: Told | None = None
) -> AuditResult:
    """Audit what ``source`` names. Raises ``SourceError`` where it cannot be listed at all.

    Models that ``last`` knows unchanged are not opened.
    """
    work = _Work()
    places = Places(policy=addresses(how.networks), interest=INTEREST)
    found = _patiently(partial(places.repositories, source))
    for place in found:
        try:
            listing = _patiently(partial(places.listing, place))
        except SourceError as error:
            if len(found) == 1:
                raise
            listing = Listing(place, problems=[Problem("", error.message)])
        if len(found) > 1:
            listing = listing.under(place.removeprefix("hf://"))
        _inspect(listing, how, work, last, told)
    return _result(source, how, work, last)


def _patiently(ask: Callable[[], Found]) -> Found:
    """What ``ask`` gives, once a server that is too busy has had the time it asked for."""
    for _ in range(MOST_WAITS):
        try:
            return ask()
        except SourceError as error:
            pause = error.retry_after
            if error.code not in BUSY or pause is None or pause > LONGEST_WAIT:
                raise
            time.sleep(pause)
    return ask()


def _inspect(
    listing: Listing, how: How, work: _Work, last: State | None, told: Told | None
) -> None:
    """Add the rows of one listing to ``work``."""
    items = [item for item in group(listing.entries).items if how.wanted.takes(item)]
    work.listings.append((listing, [item.path for item in items]))
    fresh = []
    for item in items:
        known = last.unchanged(item.path, item.identity, how.made_by) if last else None
        if known is None:
            fresh.append(item)
        else:
            work.packed[item.path] = pack_row(known)
    for done, (item, packed) in enumerate(_rows(fresh, how, work.hosts), 1):
        work.packed[item.path] = packed
        if told is not None:
            told(len(items) - len(fresh) + done, len(items))
    _again(fresh, how, work)


def _again(items: list[Item], how: How, work: _Work) -> None:
    """Inspect once more, after the pause they asked for, what servers were too busy to give."""
    by_path = {item.path: item for item in items}
    fruitless, before = 0, len(items)
    while fruitless < MOST_WAITS:
        errors = {row["path"]: row["report"]["error"] for row in work.rows(by_path)}
        busy = {path: e for path, e in errors.items() if e is not None and e["code"] in BUSY}
        if not busy:
            return
        fruitless = 0 if len(busy) < before else fruitless + 1
        before = len(busy)
        pause = max(error.get("retry_after") or 1.0 for error in busy.values())
        if pause > LONGEST_WAIT:
            return
        time.sleep(pause)
        for item, packed in _rows([by_path[path] for path in busy], how, work.hosts):
            work.packed[item.path] = packed


def _rows(items: list[Item], how: How, hosts: Hosts) -> Iterator[tuple[Item, bytes]]:
    """Packed rows as they are ready, at most a few of them in work at a time."""
    if how.jobs == 1 or len(items) < 2:
        for item in items:
            unasked = _unasked(item, how, hosts)
            yield item, unasked or _noted(item, inspect_item(item, how), hosts)
        return
    with ProcessPoolExecutor(how.jobs) as pool:
        waiting: dict[Future[Inspected], Item] = {}
        for item in items:
            while len(waiting) >= 2 * how.jobs or hosts.is_full(item.files[0].locator):
                yield from _ready(waiting, hosts)
            unasked = _unasked(item, how, hosts)
            if unasked is None:
                waiting[pool.submit(inspect_item, item, how)] = item
            else:
                yield item, unasked
        while waiting:
            yield from _ready(waiting, hosts)


def _unasked(item: Item, how: How, hosts: Hosts) -> bytes | None:
    """The row of a model whose host is not asked for it now; None where it is going to be read."""
    locator = item.files[0].locator
    error = hosts.closed(locator)
    if error is None:
        hosts.begin(locator)
        return None
    return pack_row(make_row(item, _unread(item, error, how)))


def _ready(waiting: "dict[Future[Inspected], Item]", hosts: Hosts) -> Iterator[tuple[Item, bytes]]:
    done, _ = wait(waiting, return_when=FIRST_COMPLETED)
    for future in done:
        item = waiting.pop(future)
        try:
            inspected = future.result()
        except BrokenProcessPool as error:
            message = "A process that read models was killed. Use --jobs 1 to see by which."
            raise SourceError("killed", message) from error
        yield item, _noted(item, inspected, hosts)


def _noted(item: Item, inspected: Inspected, hosts: Hosts) -> bytes:
    error = unpack_row(inspected.packed)["report"]["error"]
    hosts.note(item.files[0].locator, error, inspected.left)
    return inspected.packed


def inspect_item(item: Item, how: How) -> Inspected:
    """What one model is; a function of a module, so that other processes can call it."""
    limits = Limits().for_depth(how.depth)
    try:
        with open_listed(item.files, policy=addresses(how.networks), limits=limits) as source:
            report = inspect(
                source,
                limits=limits,
                profile=how.profile,
                policy=how.policy,
                arrays=False,
                depth=how.depth,
            )
            left = source.reads.left
    except GgufHubError as error:
        return Inspected(pack_row(make_row(item, _unread(item, error, how))))
    return Inspected(pack_row(make_row(item, report.document)), left)


def _unread(item: Item, error: GgufHubError, how: How) -> dict[str, Any]:
    report = unreadable(item.files[0].locator, error, how.profile, policy=how.policy)
    return report.document


def _result(source: str, how: How, work: _Work, last: State | None) -> AuditResult:
    totals, briefs = Totals(), []
    for row in work.rows(sorted(work.packed)):
        totals.add(row)
        briefs.append(Brief.of(row))
    judgement = Judgement()
    for listing, paths in work.listings:
        judgement.add(listing, work.rows(paths), how.profile, how.policy)
    head = make_head(
        source=source,
        profile=how.profile,
        totals=totals,
        judgement=judgement,
        places=[
            {"source": listing.locator, "revision": listing.revision, "models": len(paths)}
            for listing, paths in work.listings
        ],
        problems=[
            {"path": problem.path, "message": problem.message}
            for listing, _ in work.listings
            for problem in listing.problems
        ],
        changes=None if last is None else changes(map(Brief.of, last.rows()), briefs),
    )
    return AuditResult(head, lambda: work.rows(sorted(work.packed)))


def default_jobs() -> int:
    """Processes to work with: one for each processor."""
    return os.cpu_count() or 1
