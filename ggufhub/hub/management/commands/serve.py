"""``manage.py serve``: the whole service on this machine."""

import sys
from typing import Any

from django.core.management.base import BaseCommand

from ggufhub.web import serve


class Command(BaseCommand):
    help = "Start the database, the broker, a worker and the web server; Ctrl-C stops them."
    requires_system_checks: list[str] = []

    def handle(self, *args: Any, **options: Any) -> None:
        sys.exit(serve.main())
