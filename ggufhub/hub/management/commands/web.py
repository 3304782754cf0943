"""``manage.py web``: the web server alone, where database, broker and workers run elsewhere."""

import os
import tempfile
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand

from ggufhub.web.server import COMMAND, web_environment


class Command(BaseCommand):
    help = "Start the web server only. Run `manage.py prepare` before it."
    requires_system_checks: list[str] = []

    def handle(self, *args: Any, **options: Any) -> None:
        metrics = Path(tempfile.mkdtemp(prefix="ggufhub-metrics-"))
        os.execve(COMMAND[0], COMMAND, web_environment(os.environ, metrics))
