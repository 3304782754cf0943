"""The uploads of a split model live and end together with their inspection."""

from datetime import timedelta

import pytest
from django.utils import timezone

from ggufhub.hub import services, uploads
from ggufhub.hub.models import Inspection, State, Upload
from ggufhub.hub.reconcile import BYTES_WITHIN, reconcile
from tests import rows
from tests.live import Broker
from tests.shards import three_shards

pytestmark = pytest.mark.django_db


def waiting() -> tuple[Inspection, list[Upload]]:
    """A row that waits for bytes of its last shard."""
    names = list(three_shards())
    sent = [rows.header_upload(bytes(10), 10**6, sent=10, name=name) for name in names]
    row = services.submit_upload(owner=None, upload=sent[0], others=sent[1:])
    attempt = services.claim(row.pk)
    assert attempt is not None
    assert services.need_bytes(row.pk, attempt, offset=10, length=90, name=names[2])
    row.refresh_from_db()
    return row, sent


def test_no_shard_is_pruned_while_the_inspection_is_open() -> None:
    row, sent = waiting()
    Upload.objects.update(touched=timezone.now() - timedelta(days=3))
    assert uploads.prune() == 0
    assert services.cancel(row)
    row.refresh_from_db()
    assert row.needs is None
    assert uploads.prune() == 3
    assert not any(upload.path.exists() for upload in sent)


def test_the_sender_has_an_hour_from_the_question(broker: Broker) -> None:
    names = list(three_shards())
    sent = [rows.header_upload(bytes(10), 10**6, sent=10, name=name) for name in names]
    row = services.submit_upload(owner=None, upload=sent[0], others=sent[1:])
    Upload.objects.update(touched=timezone.now() - BYTES_WITHIN * 2)
    services.need_bytes(row.pk, services.claim(row.pk) or 0, offset=10, length=90, name=names[1])
    reconcile(timezone.now() + BYTES_WITHIN / 2)
    row.refresh_from_db()
    assert row.state == State.QUEUED
    reconcile(timezone.now() + BYTES_WITHIN * 1.1)
    row.refresh_from_db()
    assert (row.state, row.error_code) == (State.FAILED, "bytes_never_came")


def test_a_deleted_shard_ends_the_wait(broker: Broker) -> None:
    row, sent = waiting()
    uploads.delete_upload(sent[2])
    reconcile()
    row.refresh_from_db()
    assert (row.state, row.error_code) == (State.FAILED, "bytes_never_came")
