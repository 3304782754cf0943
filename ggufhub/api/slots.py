"""Uploads hold a web thread as long as their bytes take: most threads stay free of them."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus

from django.conf import settings

from ggufhub.api.problems import Problem

SLOT_SECONDS = 5.0

_slots = threading.BoundedSemaphore(max(1, settings.WEB_THREADS // 4))


@contextmanager
def upload_slot() -> Iterator[None]:
    """Hold one of the threads that may receive a file; a 503 ``Problem`` where none gets free."""
    if not _slots.acquire(timeout=SLOT_SECONDS):
        raise Problem(
            HTTPStatus.SERVICE_UNAVAILABLE,
            "busy",
            "Too many uploads at once. Try again soon.",
            {"Retry-After": "5"},
        )
    try:
        yield
    finally:
        _slots.release()
