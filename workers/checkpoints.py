"""Checkpoints of one attempt: the last one is taken up, the next ones go into the database."""

import logging

from django.db import DatabaseError

from ggufhub.hub import checkpoints
from ggufhub.hub.models import Upload
from ggufhub.integrity.checkpoint import Checkpoints
from workers.job import Job, Stopped

log = logging.getLogger(__name__)


class Keeper:
    """``checkpoints`` is for the core; ``kept`` tells whether this attempt made one."""

    def __init__(self, job: Job, uploads: list[Upload]) -> None:
        self.kept = False
        self._job = job
        self.checkpoints = Checkpoints(
            proof=_proof(uploads), last=checkpoints.load(job.id), keep=self._keep
        )

    def _keep(self, packed: bytes) -> None:
        try:
            if not checkpoints.keep(self._job.id, self._job.attempt, packed):
                raise Stopped
        except DatabaseError as error:
            # No room, or away: reading goes on, and a lost worker costs more of it.
            log.warning("a checkpoint was not kept: %s", error)
            return
        self.kept = True


def _proof(uploads: list[Upload]) -> str:
    """What changes when the bytes of an upload do. A link tells that by itself."""
    parts = []
    for upload in uploads:
        stat = upload.path.stat()
        parts.append(f"{upload.pk} {stat.st_size} {stat.st_mtime_ns}")
    return ", ".join(parts)
