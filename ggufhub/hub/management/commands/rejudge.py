"""``manage.py rejudge``: new rules over the headers that are kept."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError

from ggufhub.hub import queue


class Command(BaseCommand):
    help = (
        "Ask the workers to judge by their rules everything that older rules have judged and whose "
        "header is kept. No file is read again; the old reports stay."
    )

    def handle(self, *args: Any, **options: Any) -> None:
        if not queue.send_rejudge():
            raise CommandError("The broker does not answer. Is ggufhub running?")
        self.stdout.write("A worker has been asked. The new inspections appear in the list.")
