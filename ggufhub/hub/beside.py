"""What is loaded beside a model, chosen among the reports a user may see."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from ggufhub.errors import UsageError
from ggufhub.estimate.cache import Setting
from ggufhub.estimate.fit import Part, part_of
from ggufhub.hub import selectors
from ggufhub.hub.models import Inspection

KINDS = {"mmproj": "mmproj", "adapter": "adapter", "draft": "model"}
"""What can be loaded beside a model, and the kind of file it is."""

MOST_OFFERED = 50
"""Of each kind: a list to choose from, the newest first."""


def parts(user: Any, chosen: Mapping[str, UUID], setting: Setting) -> tuple[Part, ...]:
    """The parts whose reports are ``chosen``, by what they are.

    ``UsageError`` for a report that is not there, is hidden, or is of another kind.
    """
    found = []
    for what, report_id in chosen.items():
        row = selectors.visible(user).filter(pk=report_id, report__kind=KINDS[what]).first()
        if row is None:
            raise UsageError(f"There is no report {report_id} of a file that could be the {what}.")
        found.append(part_of(what, selectors.document(row.report), setting))
    return tuple(found)


def offered(user: Any, row: Inspection) -> dict[str, list[Inspection]]:
    """The newest inspections of each kind, by what they could be beside ``row``."""
    others = selectors.visible(user).exclude(pk=row.pk)
    return {
        what: list(others.filter(report__kind=kind)[:MOST_OFFERED]) for what, kind in KINDS.items()
    }
