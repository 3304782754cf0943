"""Log lines that say which request or inspection they belong to."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

_subject: ContextVar[str] = ContextVar("subject", default="-")


@contextmanager
def subject(name: str) -> Iterator[None]:
    """Mark every line logged inside with ``name``: a request id or an inspection id."""
    token = _subject.set(name)
    try:
        yield
    finally:
        _subject.reset(token)


class SubjectFilter(logging.Filter):
    """Adds ``subject`` to every record."""

    def filter(self, record: logging.LogRecord) -> bool:
        record.subject = _subject.get()
        return True


def config(level: str) -> dict[str, Any]:
    """A ``dictConfig``: everything to stderr, one line an event."""
    line = "%(asctime)s %(levelname)s %(name)s [%(subject)s] %(message)s"
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "filters": {"subject": {"()": SubjectFilter}},
        "formatters": {"line": {"format": line}},
        "handlers": {
            "stderr": {
                "class": "logging.StreamHandler",
                "filters": ["subject"],
                "formatter": "line",
            }
        },
        "root": {"handlers": ["stderr"], "level": level},
        # Django's own handlers would print each of its lines a second time.
        "loggers": {"django": {"handlers": [], "propagate": True, "level": level}},
    }
