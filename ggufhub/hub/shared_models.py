"""The tables of what many reports share, each row stored once under its digest.

``used`` is when a report last asked for it: one that none holds yet may be about to be held.
"""

from django.db import models
from django.utils import timezone


class Document(models.Model):
    """A whole report, encoded (see ``report.codec``), stored once under its SHA-256.

    A model that an audit finds unchanged has the document of the last time.
    """

    digest = models.CharField(primary_key=True, max_length=64)
    data = models.BinaryField()
    used = models.DateTimeField(default=timezone.now)

    def __str__(self) -> str:
        return self.digest


class ArrayBlob(models.Model):
    """One packed array, stored once however many reports hold it."""

    digest = models.CharField(max_length=64, unique=True)
    element_type = models.CharField(max_length=32)
    count = models.BigIntegerField()
    used = models.DateTimeField(default=timezone.now)

    def __str__(self) -> str:
        return f"{self.count} x {self.element_type}"


class ArrayChunk(models.Model):
    """Elements ``position * CHUNK`` onwards of an array, compressed (see ``report.codec``)."""

    blob = models.ForeignKey(ArrayBlob, on_delete=models.CASCADE, related_name="chunks")
    position = models.IntegerField()
    data = models.BinaryField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["blob", "position"], name="array_chunk_position")
        ]

    def __str__(self) -> str:
        return f"chunk {self.position}"
