"""Keeping checkpoints of inspections that read every byte, for the next attempt to take up."""

from uuid import UUID

from django.db import transaction
from django.utils import timezone

from ggufhub.hub.checkpoint_models import Checkpoint
from ggufhub.hub.models import Inspection, State


def load(inspection_id: UUID | str) -> bytes | None:
    """The last checkpoint of the row, if there is one."""
    found = Checkpoint.objects.filter(pk=inspection_id).values_list("data", flat=True).first()
    return None if found is None else bytes(found)


@transaction.atomic
def keep(inspection_id: UUID | str, attempt: int, data: bytes) -> bool:
    """Replace the row's checkpoint; False if this attempt no longer holds the row."""
    held = Inspection.objects.filter(pk=inspection_id, attempt=attempt, state=State.RUNNING)
    if not held.exists():
        return False
    Checkpoint.objects.update_or_create(
        pk=inspection_id, defaults={"data": data, "saved": timezone.now()}
    )
    return True


def prune() -> int:
    """Delete the checkpoints of rows that nobody works on any more; how many those were."""
    open_states = (State.QUEUED, State.RUNNING)
    return Checkpoint.objects.exclude(inspection__state__in=open_states).delete()[0]
