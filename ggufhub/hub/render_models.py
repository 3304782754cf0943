"""The table of conversations that somebody wants to see rendered by a report's chat template."""

import uuid

from django.db import models
from django.utils import timezone


class RenderJob(models.Model):
    """One conversation on its way through the isolated process, and what came of it.

    ``given`` is JSON: the variables for the template called ``template``. ``failure`` is empty,
    or the kind of failure (see ``templating.facts.Render``) that ``message`` puts into words.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    report = models.ForeignKey("hub.Report", on_delete=models.CASCADE, related_name="renders")
    template = models.TextField()
    given = models.TextField()
    done = models.BooleanField(default=False)
    output = models.TextField(blank=True, default="")
    failure = models.CharField(max_length=16, blank=True, default="")
    message = models.TextField(blank=True, default="")
    created = models.DateTimeField(default=timezone.now, db_index=True)

    def __str__(self) -> str:
        return f"{self.template}: {self.state}"

    @property
    def state(self) -> str:
        """``queued``, ``done`` or ``failed``."""
        if not self.done:
            return "queued"
        return "failed" if self.failure else "done"
