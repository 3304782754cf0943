"""The signing key of a first start, made once however many processes start together."""

import os
import secrets
import time
from pathlib import Path

from django.core.exceptions import ImproperlyConfigured

WAIT_SECONDS = 5.0


def load_or_create(path: Path) -> str:
    """The key in ``path``; made on the first call, in a file only its owner can read.

    Raises ``ImproperlyConfigured`` where the file stays empty: its writer died half way.
    """
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        return _wait_for(path)
    key = secrets.token_urlsafe(64)
    with os.fdopen(handle, "w", encoding="ascii") as file:
        file.write(key)
    return key


def _wait_for(path: Path) -> str:
    # Whoever lost the race may read between the winner's open and its write.
    deadline = time.monotonic() + WAIT_SECONDS
    while time.monotonic() < deadline:
        if key := path.read_text(encoding="ascii").strip():
            return key
        time.sleep(0.02)
    raise ImproperlyConfigured(f"{path} is empty. Delete it and start again.")
