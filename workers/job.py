"""One attempt at one row: keeps its lease, writes its progress, and notices when to stop."""

import logging
import threading
import time
from types import TracebackType
from typing import Self

from django.db import DatabaseError, connection

from ggufhub.hub import services
from ggufhub.sources.base import Reads

WRITE_SECONDS = 1.0
"""Progress reaches the database at most this often."""

RENEW_SECONDS = 5.0
"""Without progress the lease is still renewed, four times before it would run out."""

log = logging.getLogger(__name__)


class Stopped(Exception):
    """The row was cancelled, or another attempt holds it. There is nothing left to do."""


class Job:
    """A claimed row. Inside ``with job:`` a thread writes to it, so that reading never waits.

    The thread ends with the process, so a lease runs out exactly when its process is dead.
    """

    def __init__(self, inspection_id: str, attempt: int) -> None:
        self.id = inspection_id
        self.attempt = attempt
        self._seen = ("starting", 0, 0)
        self._over = threading.Event()
        self._stopped = False
        self._thread = threading.Thread(
            target=self._keep, name=f"lease-{inspection_id}", daemon=True
        )

    def progress(self, stage: str, reads: Reads) -> None:
        """Called by the core as it works. Raises ``Stopped`` once the row is no longer ours."""
        if self._stopped:
            raise Stopped
        self._seen = (stage, reads.requests, reads.bytes)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._over.set()
        self._thread.join()

    def _keep(self) -> None:
        written, written_at = self._seen, time.monotonic()
        try:
            while not self._over.wait(WRITE_SECONDS):
                seen, now = self._seen, time.monotonic()
                if seen == written and now - written_at < RENEW_SECONDS:
                    continue
                if not self._write(*seen):
                    self._stopped = True
                    return
                written, written_at = seen, now
        finally:
            connection.close()

    def _write(self, stage: str, requests: int, bytes_read: int) -> bool:
        try:
            return services.progress(
                self.id, self.attempt, stage=stage, requests=requests, bytes_read=bytes_read
            )
        except DatabaseError as error:
            # The database is away for a moment. If it stays away the lease runs out by itself.
            log.warning("progress was not written: %s", error)
            connection.close()
            return True
