"""The table of who did what: written once, never changed."""

from typing import Any

from django.db import models
from django.utils import timezone


class SecurityEvent(models.Model):
    """Something an operator may have to explain later: a sign-in, a token, a cancellation.

    ``actor`` is the name of the user at that time, '' where nobody was signed in; ``address`` where
    the request came from, None for a command. ``subject`` names what it was done to.
    """

    at = models.DateTimeField(default=timezone.now, db_index=True)
    action = models.CharField(max_length=40, db_index=True)
    actor = models.CharField(max_length=150, blank=True)
    address = models.GenericIPAddressField(null=True)
    subject = models.CharField(max_length=255, blank=True)
    detail = models.JSONField(default=dict, blank=True)

    class Meta:
        ordering = ["-at", "-id"]

    def __str__(self) -> str:
        return f"{self.action} {self.subject}"

    def save(self, *args: Any, **options: Any) -> None:
        """Write it once; ``TypeError`` for a second time."""
        if self.pk is not None:
            raise TypeError("What has happened is not changed.")
        super().save(*args, **options)
