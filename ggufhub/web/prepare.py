"""What comes before the first request: tables as this version wants them, static files in place.

Several processes may do it at the same time: one does, the others wait and find it done.
"""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.db import connection, transaction
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.loader import MigrationLoader

LOCK_NUMBER = 0x67677566
"""``gguf``: names the lock among those of other programs on one PostgreSQL server."""


class NewerDatabase(Exception):
    """The database was last used by a later version; the text says what to do."""


def prepare() -> None:
    """Migrate the database and collect the static files.

    Raises ``NewerDatabase`` where the database has migrations this version does not know: its
    tables may not be what this version expects.
    """
    with _alone():
        executor = WholeMigrations(connection)
        _refuse_newer(executor.loader)
        latest = executor.loader.graph.leaf_nodes()
        if executor.migration_plan(latest):
            executor.migrate(latest)
        call_command("migrate", interactive=False, verbosity=0)  # permissions and the like
        call_command("collectstatic", interactive=False, verbosity=0)


def _refuse_newer(loader: MigrationLoader) -> None:
    unknown = sorted(
        name
        for app, name in loader.applied_migrations
        if app == "hub" and (app, name) not in loader.disk_migrations
    )
    if unknown:
        raise NewerDatabase(
            f"The database was made by a later version of ggufhub (it has {unknown[-1]}). "
            "Start that version, or restore a backup made before the update."
        )


class WholeMigrations(MigrationExecutor):
    """Each migration and the note that it was applied are one transaction.

    Django commits the tables first where indexes are made last. Killed in between, it would make
    the same tables again, and fail at every start from then on.
    """

    def apply_migration(
        self, state: Any, migration: Any, fake: bool = False, fake_initial: bool = False
    ) -> Any:
        with connection.constraint_checks_disabled(), transaction.atomic():
            return super().apply_migration(state, migration, fake, fake_initial)


@contextmanager
def _alone() -> Iterator[None]:
    # A file for static files and SQLite, which lie in one directory; PostgreSQL is shared wider.
    handle = os.open(settings.DATA / "prepare.lock", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        with _alone_in_database():
            yield
    finally:
        os.close(handle)


@contextmanager
def _alone_in_database() -> Iterator[None]:
    if connection.vendor != "postgresql":
        yield
        return
    with connection.cursor() as cursor:
        # A large table may take minutes, and so may waiting for whoever changes it.
        cursor.execute("SET statement_timeout = 0")
        cursor.execute("SELECT pg_advisory_lock(%s)", [LOCK_NUMBER])
    try:
        yield
    finally:
        connection.close()  # which lets go of the lock
