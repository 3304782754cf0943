"""Elements of stored arrays picked by their index, in as few reads as their places allow."""

from collections.abc import Iterable
from typing import Any

from ggufhub.hub import selectors
from ggufhub.hub.models import Report
from ggufhub.report import codec


def elements_at(report: Report, key: str, indexes: Iterable[int]) -> dict[int, Any]:
    """The elements of the array at ``key`` by index; those beyond what is shown are left out.

    Hits of a search lie anywhere; those of one stored chunk are read together. A key that holds
    no array has no elements.
    """
    chunks: dict[int, list[int]] = {}
    for index in indexes:
        chunks.setdefault(index // codec.CHUNK, []).append(index)
    found: dict[int, Any] = {}
    for wanted in chunks.values():
        start = min(wanted)
        try:
            page = selectors.array_page(report, key, start=start, limit=max(wanted) - start + 1)
        except selectors.NoSuchArray:
            return {}
        found.update(enumerate(page["items"], start))
    return found
