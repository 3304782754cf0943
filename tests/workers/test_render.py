"""The task that renders conversations."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone

from ggufhub.hub import housekeeping, queue, renders
from ggufhub.hub.models import Report
from ggufhub.hub.render_models import RenderJob
from tests import rows
from tests.live import LiveWorker, wait_for
from tests.viewer import samples
from workers import render as tasks

MESSAGES = [{"role": "user", "content": "ebb or flood?"}]
TEMPLATE = "{{ bos_token }}{% for m in messages %}[{{ m.content }}]{% endfor %}"


@pytest.fixture
def report(db: None, tmp_path: Path) -> Report:
    file = samples.large_vocabulary(9_000).key("tokenizer.chat_template", TEMPLATE)
    return rows.finished(rows.built(file.build(), tmp_path))


@pytest.fixture(autouse=True)
def no_messages(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    if "live_worker" not in request.fixturenames:
        monkeypatch.setattr(queue, "send_render", lambda _: True)


def asked(report: Report, **changes: Any) -> RenderJob:
    return renders.submit(report, **{"template": "default", "messages": MESSAGES, **changes})


def worked(job: RenderJob) -> RenderJob:
    tasks.render(str(job.pk))
    job.refresh_from_db()
    return job


def test_special_tokens_are_found_in_the_stored_vocabulary(report: Report) -> None:
    job = worked(asked(report))
    assert (job.state, job.output) == ("done", "\u2581word8999[ebb or flood?]")


def test_a_job_is_worked_on_once(report: Report) -> None:
    job = worked(asked(report))
    RenderJob.objects.filter(pk=job.pk).update(output="kept")
    assert worked(job).output == "kept"


def test_a_failure_of_ours_is_told_without_its_details(
    report: Report, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: Any) -> None:
        raise OSError("/a/path")

    monkeypatch.setattr(tasks, "render_conversation", broken)
    job = worked(asked(report))
    assert (job.state, job.failure) == ("failed", "internal")
    assert "/a/path" not in job.message


def test_what_cannot_be_stored_is_written_out(db: None, tmp_path: Path) -> None:
    file = samples.vocabulary_with_template("{{ messages[0].content }}")
    report = rows.finished(rows.built(file.build(), tmp_path))
    messages = [{"role": "user", "content": "a\0\ud800" + "b" * 70_000}]
    with pytest.raises(renders.TooMuch):
        asked(report, messages=messages)
    messages[0]["content"] = "a\0\ud800b"
    assert worked(asked(report, messages=messages)).output == "a\\x00\\xd800b"


def test_a_long_output_is_cut(db: None, tmp_path: Path) -> None:
    file = samples.vocabulary_with_template("{{ 'a' * 200000 }}")
    report = rows.finished(rows.built(file.build(), tmp_path))
    assert len(worked(asked(report)).output) == renders.MOST_OUTPUT


def test_old_ones_are_forgotten(report: Report) -> None:
    old, new = asked(report), asked(report)
    hour = timezone.now() - renders.KEPT
    RenderJob.objects.filter(pk=old.pk).update(created=hour - timedelta(seconds=1))
    housekeeping.prune(timezone.now())
    assert list(RenderJob.objects.values_list("pk", flat=True)) == [new.pk]


@pytest.mark.django_db(transaction=True)
def test_a_real_worker_takes_it_from_the_queue(live_worker: LiveWorker, tmp_path: Path) -> None:
    file = samples.vocabulary_with_template("{{ messages[0].content|upper }}")
    job = asked(rows.finished(rows.built(file.build(), tmp_path)))
    wait_for(lambda: RenderJob.objects.get(pk=job.pk).done)
    job.refresh_from_db()
    assert job.output == "EBB OR FLOOD?"
