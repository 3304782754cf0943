"""``manage.py prune``: what the workers do every hour, now."""

from typing import Any

from django.core.management.base import BaseCommand
from django.utils import timezone

from ggufhub.hub import housekeeping


class Command(BaseCommand):
    help = "Delete old uploads, and arrays and headers that no report holds. Workers do it hourly."

    def handle(self, *args: Any, **options: Any) -> None:
        gone = housekeeping.prune(timezone.now())
        self.stdout.write(
            f"Deleted {gone.uploads} uploads, {gone.shared} arrays and blocks of headers, "
            f"{gone.deliveries} deliveries, {gone.events} security events, "
            f"{gone.audited} models of old audits."
        )
