"""``manage.py reconcile``: what the workers do every ten seconds, now."""

from typing import Any

from django.core.management.base import BaseCommand

from ggufhub.hub.reconcile import reconcile


class Command(BaseCommand):
    help = "Send inspections whose message or worker was lost again. Workers do it all the time."

    def handle(self, *args: Any, **options: Any) -> None:
        self.stdout.write(f"Sent {reconcile()} inspections again.")
