"""The Celery app of the workers: ``celery -A workers.app worker -B``.

A worker takes from every queue unless ``-Q`` names some. Reading every byte takes hours, so give
the queue ``digest`` a worker of its own: ``-Q digest -c 1``, and ``-Q inspect,housekeeping`` to
the other. Audits have ten thousand models: ``-Q audit -c 2``. Receivers of webhooks may hang:
``-Q hooks -P threads -c 1``.

Every setting here was chosen by what happens when something dies. A message is only a hint: the
row says what to do, so messages may be lost, doubled or late without harm.
"""

import resource
from typing import Any

from celery import Celery
from celery.signals import worker_process_init
from django.conf import settings
from kombu import Queue

from ggufhub.hub import queue
from ggufhub.limits import FULL_SECONDS
from workers.heartbeat import SignOfLife
from workers.time_limits import ForgetTimeLimits

CHILD_DATA_BYTES = 1024**3
"""A process beyond it gets a MemoryError, which fails its one row instead of the machine."""

SOFT_SECONDS, HARD_SECONDS = 120, 150
"""Twice ``Limits.seconds``: the core stops itself long before, unless it is stuck."""

DIGEST_SOFT_SECONDS = int(FULL_SECONDS) + 600
DIGEST_HARD_SECONDS = DIGEST_SOFT_SECONDS + 60
"""The core stops itself at ``FULL_SECONDS`` where a network is slow; a local disk never is so."""

RECONCILE_SECONDS = 10.0
DELIVER_SECONDS = 5.0
PRUNE_SECONDS = 3600.0

AUDIT_SECONDS = 2.0

app = Celery("workers", broker=settings.BROKER_URL)
app.conf.update(
    include=[
        "workers.inspect",
        "workers.housekeeping",
        "workers.hooks",
        "workers.render",
        "workers.audit",
    ],
    task_queues=[Queue(name) for name in queue.QUEUES],
    task_default_queue=queue.HOUSEKEEPING,
    task_routes={
        queue.INSPECT: {"queue": queue.QUEUE},  # unless whoever sends it names another
        queue.DIGEST: {"queue": queue.DIGEST_QUEUE},
        queue.AUDIT_STEP: {"queue": queue.AUDIT_QUEUE},
        queue.DELIVER: {"queue": queue.HOOKS_QUEUE},
        queue.RENDER: {"queue": queue.QUEUE},
    },
    task_ignore_result=True,
    task_serializer="json",
    accept_content=["json"],
    # Acknowledged when done, so that a killed worker's messages come back.
    task_acks_late=True,
    worker_prefetch_multiplier=1,
    # Off, both: a file that kills its process would be delivered for ever. ``workers.base``
    # counts the loss on the row and sends the row again, three times at most.
    task_reject_on_worker_lost=False,
    task_retry_on_worker_lost=False,
    task_soft_time_limit=SOFT_SECONDS,
    task_time_limit=HARD_SECONDS,
    visibility_timeout=queue.TRANSPORT_OPTIONS["visibility_timeout"],
    broker_transport_options=queue.TRANSPORT_OPTIONS,
    broker_connection_retry_on_startup=True,
    broker_connection_max_retries=None,
    # A broker without room refuses to note what a worker took. Without this the worker ends.
    broker_channel_error_retry=True,
    worker_cancel_long_running_tasks_on_connection_loss=False,
    worker_soft_shutdown_timeout=20,
    worker_max_tasks_per_child=500,
    worker_max_memory_per_child=600_000,  # KiB; looked at between tasks only
    worker_hijack_root_logger=False,
    worker_send_task_events=False,
    beat_schedule={
        # A round that could not run in time is pointless: the next one does the same.
        "reconcile": {
            "task": "workers.reconcile",
            "schedule": RECONCILE_SECONDS,
            "options": {"expires": RECONCILE_SECONDS},
        },
        "deliver": {
            "task": queue.DELIVER,
            "schedule": DELIVER_SECONDS,
            "options": {"expires": DELIVER_SECONDS},
        },
        "audits": {
            "task": queue.AUDITS,
            "schedule": AUDIT_SECONDS,
            "options": {"expires": AUDIT_SECONDS},
        },
        "prune": {
            "task": "workers.prune",
            "schedule": PRUNE_SECONDS,
            "options": {"expires": PRUNE_SECONDS},
        },
    },
)

app.steps["consumer"].add(SignOfLife)
app.steps["consumer"].add(ForgetTimeLimits)


@worker_process_init.connect
def limit_memory(**_: Any) -> None:
    """RLIMIT_DATA and not RLIMIT_AS: numpy reserves address space it never uses."""
    resource.setrlimit(resource.RLIMIT_DATA, (CHILD_DATA_BYTES, CHILD_DATA_BYTES))
