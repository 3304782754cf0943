"""Figures about the whole service, read when somebody asks for them."""

import shutil
from collections.abc import Iterator

import redis
from django.conf import settings
from django.db import DatabaseError
from django.db.models import Count, Min, Sum
from django.utils import timezone
from prometheus_client.core import Metric

from ggufhub.hub import queue
from ggufhub.hub.models import Delivery, Inspection, State, Upload
from ggufhub.hub.services import due
from ggufhub.web import heartbeat
from ggufhub.web.metrics import by_label, one
from ggufhub.web.redis_client import connect


def families() -> list[Metric]:
    """All of them. What a part that is away would have told is left out, and its ``up`` is 0."""
    up, found = {}, list(_disk())
    for part, ask in (("database", _database), ("broker", _broker)):
        try:
            found += ask()
            up[part] = 1.0
        except (DatabaseError, redis.RedisError, OSError):
            up[part] = 0.0
    return [by_label("ggufhub_up", "Whether the part answers.", "part", up), *found]


def _database() -> Iterator[Metric]:
    counts = Inspection.objects.order_by().values_list("state").annotate(Count("pk"))
    states = dict.fromkeys(State.values, 0.0) | {state: float(n) for state, n in counts}
    yield by_label("ggufhub_inspections", "Inspections stored.", "state", states)
    now = timezone.now()
    oldest = due(now).aggregate(Min("created"))["created__min"]
    age = (now - oldest).total_seconds() if oldest else 0.0
    yield one("ggufhub_oldest_queued_seconds", "Age of the oldest row that waits.", age)
    fetched = Inspection.objects.filter(source_kind="url").aggregate(Sum("bytes_read"))
    yield one("ggufhub_fetched_bytes", "Bytes read of links.", fetched["bytes_read__sum"] or 0)
    kept = Upload.objects.aggregate(Sum("received"))["received__sum"] or 0
    yield one("ggufhub_upload_bytes", "Bytes of uploads on the disk.", kept)
    waiting = Delivery.objects.exclude(next_at=None).count()
    yield one("ggufhub_deliveries_waiting", "Messages to webhooks not delivered yet.", waiting)


def _broker() -> Iterator[Metric]:
    client = connect(settings.BROKER_URL)
    lengths = {name: float(client.llen(name)) for name in queue.QUEUES}
    yield by_label("ggufhub_queue_messages", "Messages that wait.", "queue", lengths)
    alive = heartbeat.served(client)
    workers = {name: float(alive[name]) for name in queue.QUEUES}
    yield by_label("ggufhub_workers", "Living workers that take from it.", "queue", workers)


def _disk() -> Iterator[Metric]:
    disk = shutil.disk_usage(settings.DATA)
    yield one("ggufhub_disk_free_bytes", "Free room where the data lies.", disk.free)
    yield one("ggufhub_disk_size_bytes", "All room where the data lies.", disk.total)
