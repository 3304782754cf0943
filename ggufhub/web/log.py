"""Log lines that say which request or inspection they belong to, one line an event.

What a file or a client sent may be in a message. Neither form lets it forge a line or speak to a
terminal: JSON escapes it, and so does the plain form.
"""

import json
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import Any

FORMATS = ("text", "json")

_subject: ContextVar[tuple[str, str]] = ContextVar("subject", default=("", ""))


@contextmanager
def subject(name: str, kind: str = "inspection") -> Iterator[None]:
    """Mark every line logged inside with the id ``name``; ``kind`` says what it is the id of."""
    token = _subject.set((kind, name))
    try:
        yield
    finally:
        _subject.reset(token)


class SubjectFilter(logging.Filter):
    """Adds ``subject`` to every record: the kind and the id it belongs to, '' where to none."""

    def filter(self, record: logging.LogRecord) -> bool:
        record.subject = _subject.get()
        return True


class TextFormatter(logging.Formatter):
    """For people: time, level, logger, subject, message. Only a traceback has further lines, all
    of them indented: what an exception says begins no line of its own."""

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)s %(name)s [%(subject_id)s] %(message)s")

    def format(self, record: logging.LogRecord) -> str:
        record.subject_id = getattr(record, "subject", ("", ""))[1] or "-"
        return super().format(record)

    def formatMessage(self, record: logging.LogRecord) -> str:
        return visible(super().formatMessage(record))

    def formatException(self, ei: Any) -> str:
        lines = super().formatException(ei).split("\n")
        return "\n".join(f"    {visible(line)}" for line in lines)


class JsonFormatter(logging.Formatter):
    """For programs: one JSON object a line. ``fields`` of a record become fields of the object."""

    def format(self, record: logging.LogRecord) -> str:
        kind, name = getattr(record, "subject", ("", ""))
        event = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
            **({kind: name} if kind else {}),
            **getattr(record, "fields", {}),
        }
        if record.exc_info:
            event["traceback"] = self.formatException(record.exc_info)
        return json.dumps(event, default=str)


def visible(text: str) -> str:
    """``text`` with everything that is no printable character as an escape."""
    if text.isprintable():
        return text
    return "".join(
        one if one.isprintable() else one.encode("unicode_escape").decode() for one in text
    )


def config(level: str, form: str) -> dict[str, Any]:
    """A ``dictConfig``: everything to stderr in one of ``FORMATS``."""
    formatter = JsonFormatter if form == "json" else TextFormatter
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "filters": {"subject": {"()": SubjectFilter}},
        "formatters": {"line": {"()": formatter}},
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
