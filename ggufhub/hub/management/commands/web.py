"""``manage.py web``: the web server alone, where database, broker and workers run elsewhere."""

import os
import tempfile
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand

from ggufhub.web.metrics import SHARED
from ggufhub.web.serve import allow_connections, web_command


class Command(BaseCommand):
    help = "Start the web server only. Run `manage.py prepare` before it."
    requires_system_checks: list[str] = []

    def handle(self, *args: Any, **options: Any) -> None:
        os.environ[SHARED] = tempfile.mkdtemp(prefix="ggufhub-metrics-")
        allow_connections()
        command = web_command(settings)
        os.execv(command[0], command)
