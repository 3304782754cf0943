"""The tables of stored headers: the bytes that were read to make a report."""

from django.db import models
from django.utils import timezone


class HeaderBlock(models.Model):
    """Up to a megabyte of some header, compressed (zlib), stored once under its SHA-256.

    ``size`` is in bytes before compression. ``used`` is when a report last asked for it: one that
    none holds yet may be about to be held.
    """

    digest = models.CharField(primary_key=True, max_length=64)
    size = models.IntegerField()
    data = models.BinaryField()
    used = models.DateTimeField(default=timezone.now)

    def __str__(self) -> str:
        return f"{self.size} bytes"


class StoredHeader(models.Model):
    """What was read for one report: ``index`` says which bytes of which file, in which blocks."""

    report = models.OneToOneField(
        "hub.Report", primary_key=True, on_delete=models.CASCADE, related_name="header"
    )
    index = models.BinaryField()
    blocks = models.ManyToManyField(HeaderBlock, related_name="headers")

    def __str__(self) -> str:
        return f"header of {self.report_id}"
