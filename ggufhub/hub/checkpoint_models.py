"""The table of checkpoints: how far the reading of every byte of a file has come."""

from django.db import models
from django.utils import timezone


class Checkpoint(models.Model):
    """The last checkpoint of one inspection, as ``integrity.checkpoint`` packed it."""

    inspection = models.OneToOneField(
        "hub.Inspection", primary_key=True, on_delete=models.CASCADE, related_name="checkpoint"
    )
    data = models.BinaryField()
    saved = models.DateTimeField(default=timezone.now)

    def __str__(self) -> str:
        return f"{len(self.data)} bytes of {self.saved:%Y-%m-%d %H:%M:%S}"
