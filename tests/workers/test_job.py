"""The thread that keeps a claimed row alive and notices when it is lost."""

import pytest

from ggufhub.hub import services
from ggufhub.hub.models import Inspection
from ggufhub.sources.base import Reads
from tests import rows
from tests.live import wait_for
from workers import job as module
from workers.job import Job, Stopped

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "WRITE_SECONDS", 0.02)
    monkeypatch.setattr(module, "RENEW_SECONDS", 0.05)


def claimed() -> tuple[Inspection, Job]:
    row = rows.queued()
    attempt = services.claim(row.pk)
    assert attempt is not None
    row.refresh_from_db()
    return row, Job(str(row.pk), attempt)


def work_until_stopped(job: Job) -> None:
    def stopped() -> bool:
        try:
            job.progress("reading", Reads())
        except Stopped:
            return True
        return False

    wait_for(stopped)


def test_progress_reaches_the_row() -> None:
    row, job = claimed()
    with job:
        job.progress("reading", Reads(requests=2, bytes=300))
        wait_for(lambda: Inspection.objects.get(pk=row.pk).bytes_read == 300)
    row.refresh_from_db()
    assert (row.stage, row.requests) == ("reading", 2)


def test_the_lease_is_renewed_without_progress() -> None:
    row, job = claimed()
    with job:
        wait_for(lambda: Inspection.objects.get(pk=row.pk).lease_until > row.lease_until)


def test_a_cancelled_row_stops_the_work() -> None:
    row, job = claimed()
    with job:
        services.cancel(row)
        work_until_stopped(job)


def test_a_row_taken_over_stops_the_work() -> None:
    row, job = claimed()
    with job:
        services.lose(row.pk)
        assert services.claim(row.pk) == 2
        work_until_stopped(job)
