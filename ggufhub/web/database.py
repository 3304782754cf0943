"""Which database: SQLite under the data directory, or the PostgreSQL server a URL names."""

from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from django.core.exceptions import ImproperlyConfigured

STATEMENT_TIMEOUT_MS = 10_000
"""No query here takes a second; one that takes ten must not hold a web thread any longer."""

SQLITE_TIMEOUT_S = 20
"""Writers queue for the one write lock; the longest write seen held it for two seconds."""


def choose(url: str, default: Path) -> dict[str, Any]:
    """The database ``url`` names, or SQLite in the file ``default`` where it is empty.

    ``sqlite:///directory/file`` names another SQLite file.
    """
    if not url:
        return sqlite(default)
    if url.startswith("sqlite://"):
        return sqlite(Path(unquote(urlsplit(url).path)))
    return postgresql(url)


def sqlite(path: Path) -> dict[str, Any]:
    """WAL so that readers never wait; IMMEDIATE so that writers queue instead of failing."""
    return {
        "ENGINE": "django.db.backends.sqlite3",
        "NAME": path,
        # Opening the file and setting it up costs as much as a whole answer.
        "CONN_MAX_AGE": 60,
        "OPTIONS": {
            "timeout": SQLITE_TIMEOUT_S,
            "transaction_mode": "IMMEDIATE",
            "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;",
        },
        # A database in memory would be invisible to the worker processes of the tests.
        "TEST": {"NAME": path.with_name(f"test-{path.name}")},
    }


def postgresql(url: str) -> dict[str, Any]:
    """``postgresql://user:password@host:port/name``; ``?host=/directory`` is a unix socket."""
    parts = urlsplit(url)
    name = unquote(parts.path.lstrip("/"))
    if parts.scheme not in ("postgres", "postgresql") or not name:
        raise ImproperlyConfigured(
            "GGUFHUB_DATABASE_URL must look like postgresql://user:password@host:port/name."
        )
    query = dict(parse_qsl(parts.query))
    return {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": name,
        "USER": unquote(parts.username or ""),
        "PASSWORD": unquote(parts.password or ""),
        "HOST": query.pop("host", parts.hostname or ""),
        "PORT": parts.port or "",
        "CONN_MAX_AGE": 60,
        "CONN_HEALTH_CHECKS": True,
        "OPTIONS": {
            "connect_timeout": 5,
            "options": f"-c statement_timeout={STATEMENT_TIMEOUT_MS}",
            **query,
        },
    }
