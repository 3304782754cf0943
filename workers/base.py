"""The base of every task that works on a row: whatever happens, the row says so.

Celery 5.7 shuts the whole worker down when a task raises MemoryError and hands the message to
the next one, which dies too. So nothing but database trouble leaves a task as an exception.
"""

import logging
import uuid
from typing import Any

from billiard.exceptions import SoftTimeLimitExceeded, TimeLimitExceeded, WorkerLostError
from celery import Task
from celery.signals import task_failure
from django.db import InterfaceError, OperationalError, close_old_connections, connection

from ggufhub.errors import GgufHubError
from ggufhub.hub import services
from ggufhub.web.log import subject
from workers.job import Job, Stopped

log = logging.getLogger(__name__)


class RowTask(Task):
    """Claims the row its one argument names and calls ``run(job)``; failures go into the row."""

    abstract = True

    def __call__(self, inspection_id: str) -> None:
        with subject(inspection_id):
            try:
                self._work(inspection_id)
            except MemoryError:
                raise RuntimeError("out of memory while a failure was written down") from None

    def _work(self, inspection_id: str) -> None:
        attempt = services.claim(inspection_id)
        if attempt is None:
            log.info("nothing to do: the row is finished, cancelled or held by another worker")
            return
        try:
            with Job(inspection_id, attempt) as job:
                self.run(job)
        except Stopped:
            log.info("stopped: the row was cancelled or taken over")
        except (OperationalError, InterfaceError):
            # The database is away, so nothing can be written down. The lease runs out and the
            # row is queued again.
            raise
        except Exception as error:  # of any kind: every accepted job ends with a reason
            code, message = describe(error)
            services.fail(inspection_id, attempt, code=code, message=message)


def describe(error: Exception) -> tuple[str, str]:
    """The code and the plain message a row gets for ``error``."""
    if isinstance(error, GgufHubError):
        return error.code, error.message
    if isinstance(error, MemoryError):
        return "memory", "The file needs more memory than one inspection may use."
    if isinstance(error, SoftTimeLimitExceeded):
        return "timeout", "The inspection took too long and was stopped."
    if isinstance(error, RecursionError):
        return "nesting", "The file is nested too deeply."
    reference = uuid.uuid4().hex[:12]
    log.error("inspection failed, reference %s", reference, exc_info=error)
    return "internal", f"Something went wrong in the service, not in the file ({reference})."


@task_failure.connect
def process_died(task_id: str, exception: Exception, sender: Any, **_: Any) -> None:
    """Runs in the parent when the child that held the row is gone and cannot say so itself."""
    if not isinstance(sender, RowTask):
        return
    close_old_connections()
    try:
        with subject(task_id):
            if isinstance(exception, TimeLimitExceeded):
                services.time_out(task_id)
            elif isinstance(exception, WorkerLostError):
                services.lose(task_id)
    finally:
        # New children are forked from this process: they must not inherit its connection.
        connection.close()
