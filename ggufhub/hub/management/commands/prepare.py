"""``manage.py prepare``: tables and static files, before web servers and workers start."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError

from ggufhub.web.prepare import NewerDatabase, prepare


class Command(BaseCommand):
    help = "Migrate the database and collect static files. Safe to run several times at once."

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            prepare()
        except NewerDatabase as error:
            raise CommandError(str(error)) from None
