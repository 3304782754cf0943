"""What an operator calls by hand."""

from datetime import timedelta
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from ggufhub.hub import queue, shared
from ggufhub.hub.models import ArrayBlob, ArrayChunk, HeaderBlock, Inspection, Upload
from tests import rows
from tests.builders import vocabulary
from tests.live import Broker

pytestmark = pytest.mark.django_db(transaction=True)


def call(name: str) -> str:
    out = StringIO()
    call_command(name, stdout=out)
    return out.getvalue()


def test_prune_deletes_what_nobody_holds(tmp_path: Path) -> None:
    held = rows.finished(*rows.kept(vocabulary(200).build(), tmp_path))
    gone = rows.finished(*rows.kept(vocabulary(300).build(), tmp_path))
    kept = set(held.header.blocks.all()), set(held.arrays.all())
    gone.inspection.delete()
    old = timezone.now() - timedelta(days=2)
    for model in (HeaderBlock, ArrayBlob):
        model.objects.update(used=old)
    Upload.objects.update(touched=old)
    files = [upload.path for upload in Upload.objects.all()]
    assert call("prune").startswith("Deleted 2 uploads, ")
    assert (set(HeaderBlock.objects.all()), set(ArrayBlob.objects.all())) == kept
    assert set(ArrayChunk.objects.values_list("blob", flat=True)) == {one.pk for one in kept[1]}
    assert not any(file.exists() for file in files)


def test_what_is_asked_for_again_is_not_pruned(tmp_path: Path) -> None:
    report = rows.built(vocabulary(200).build(), tmp_path)
    rows.finished(report).inspection.delete()
    ArrayBlob.objects.update(used=timezone.now() - timedelta(days=2))
    shared.store_arrays(report.arrays.values())
    assert shared.prune() == 0 and ArrayBlob.objects.exists()


def test_reconcile_sends_what_was_never_sent(broker: Broker) -> None:
    rows.queued()
    Inspection.objects.update(sent_at=None, created=timezone.now() - timedelta(hours=1))
    assert call("reconcile") == "Sent 1 inspections again.\n"
    assert queue.waiting() == 2


def test_rejudge_asks_a_worker(broker: Broker) -> None:
    assert "A worker has been asked" in call("rejudge")
    with broker.client() as client:
        assert client.llen(queue.HOUSEKEEPING) == 1


def test_rejudge_says_that_nobody_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queue, "send_rejudge", lambda: False)
    with pytest.raises(CommandError, match="broker"):
        call("rejudge")
