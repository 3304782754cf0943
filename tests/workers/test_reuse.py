"""One report for a file that is still the same, and its header judged by newer rules."""

import errno
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from django.contrib.auth.models import User

from ggufhub.hub import headers, reuse, selectors, services, uploads
from ggufhub.hub.models import HeaderBlock, Inspection, Report, State
from ggufhub.limits import FULL, MIB
from ggufhub.sources.base import Digest, Identity, Layer
from tests import rows
from tests.builders import small_model, vocabulary
from tests.core.fakehub import FakeHub
from tests.core.rangeserver import Handler, RangeServer
from tests.shards import three_shards
from workers import housekeeping
from workers import inspect as task
from workers import reuse as proof

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("loopback")]

DATA = vocabulary(3_000).build() + bytes(2 * MIB)
NEWER = "2099.01"


def run(row: Inspection) -> Inspection:
    (task.digest if row.depth == FULL else task.inspect)(str(row.pk))
    return Inspection.objects.select_related("report").get(pk=row.pk)


def link(url: str, **how: Any) -> Inspection:
    return run(services.submit_url(**{"owner": None, "url": url, **how}))


def upload(data: bytes = DATA, **how: Any) -> Inspection:
    return run(services.submit_upload(owner=None, upload=rows.upload_of(data), **how))


@pytest.fixture
def newer_rules(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Call it, and the workers judge by other rules from then on."""

    def change() -> None:
        for module in (task, housekeeping):
            monkeypatch.setattr(module, "RULE_SET", NEWER)
        monkeypatch.setattr("ggufhub.report.build.RULE_SET", NEWER)

    return change


def test_an_unchanged_link_costs_one_byte() -> None:
    with RangeServer({"m.gguf": DATA}) as server:
        first = link(server.url("m.gguf"))
        before = len(server.requests)
        second = link(server.url("m.gguf"))
        assert server.ranges()[before:] == ["0-0"]
    assert (first.reused, second.reused) == (False, True)
    assert (second.state, second.requests, second.bytes_read) == (State.DONE, 1, 1)
    assert second.size == len(DATA)
    assert second.report.digest == first.report.digest
    assert selectors.document(second.report) == selectors.document(first.report)
    assert second.report.finding_rows.count() == first.report.finding_rows.count() > 0
    assert set(second.report.arrays.all()) == set(first.report.arrays.all())
    assert selectors.header_bytes(second, 0, 4) == b"GGUF"


def etags(*tags: str) -> Any:
    """A good server that gives one tag after the other, and then the last one."""
    left = list(tags)

    def behave(handler: Handler, data: bytes) -> None:
        handler.serve(data, ETag=left.pop(0) if len(left) > 1 else left[0])

    return behave


@pytest.mark.parametrize("tag", ['W/"weak"', ""])
def test_what_is_no_proof_is_read_again(tag: str) -> None:
    with RangeServer({"m.gguf": DATA}, {"m.gguf": etags(tag)}) as server:
        link(server.url("m.gguf"))
        assert not link(server.url("m.gguf")).reused


def test_another_tag_is_another_file() -> None:
    with RangeServer({"m.gguf": DATA}) as server:
        link(server.url("m.gguf"))
        server.behaviours["m.gguf"] = etags('"two"')
        assert not link(server.url("m.gguf")).reused
        assert link(server.url("m.gguf")).reused


def test_what_was_asked_differently_is_read_again() -> None:
    one, two = (User.objects.create_user(name) for name in ("one", "two"))
    with RangeServer({"m.gguf": DATA}) as server:
        url = server.url("m.gguf")
        link(url, owner=one)
        assert not link(url, owner=two).reused
        assert not link(url, owner=one, profile="load").reused
        assert not link(url, owner=one, policy={"ignore": [], "max_size": 5}).reused
        assert not link(url, owner=one, expected={"sha256": "0" * 64}).reused
        assert not link(url, owner=one, depth=FULL).reused
        assert not link(f"{url}?other", owner=one).reused
        assert not link(url, owner=one, force=True).reused
        assert link(url, owner=one).reused


def test_a_server_that_is_gone_is_no_proof() -> None:
    with RangeServer({"m.gguf": DATA}) as server:
        url = server.url("m.gguf")
        link(url)
    row = link(url)
    assert (row.reused, row.report.verdict) == (False, "unreadable")


def test_every_shard_of_a_link_is_asked() -> None:
    files = three_shards()
    first = next(iter(files))
    with RangeServer(files) as server:
        link(server.url(first))
        before = len(server.requests)
        row = link(server.url(first))
        assert server.ranges()[before:] == ["0-0"] * 3
        assert (row.reused, row.bytes_read) == (True, 3)
        server.behaviours[list(files)[2]] = etags('"two"')
        assert not link(server.url(first)).reused


def test_a_shard_that_was_missing_may_be_there_by_now() -> None:
    files = three_shards()
    first, *_, last = files
    with RangeServer({name: data for name, data in files.items() if name != last}) as server:
        link(server.url(first))
        server.files[last] = files[last]
        row = link(server.url(first))
    assert len(selectors.document(row.report)["files"]) == 3


def test_a_name_on_a_hub(monkeypatch: pytest.MonkeyPatch) -> None:
    with FakeHub({"m.gguf": DATA}) as hub:
        monkeypatch.setenv("HF_ENDPOINT", hub.endpoint)
        first, second = link("org/repo"), link("org/repo")
    assert (first.reused, second.reused) == (False, True)
    assert second.bytes_read < first.bytes_read / 100


def test_the_same_upload_again_is_compared_where_it_lies() -> None:
    first, second = upload(), upload()
    assert (first.reused, second.reused) == (False, True)
    assert (second.requests, second.bytes_read) == (0, 0)
    assert not upload(force=True).reused


def test_an_upload_with_other_bytes_in_its_header_is_another_one() -> None:
    upload()
    assert not upload(DATA.replace(b"GGUF\x03", b"GGUF\x02", 1)).reused
    assert not upload(DATA + b"x").reused


def test_every_byte_of_an_upload_is_compared_by_its_digest() -> None:
    data = small_model().build()
    first, second = upload(data, depth=FULL), upload(data, depth=FULL)
    assert (first.reused, second.reused) == (False, True)
    assert not upload(data[:-1] + bytes([data[-1] ^ 1]), depth=FULL).reused


def test_a_header_that_was_sent_alone() -> None:
    made = [rows.header_upload(DATA, 10**10, sent=2 * MIB) for _ in range(2)]
    first, second = (run(services.submit_upload(owner=None, upload=one)) for one in made)
    assert (first.state, first.reused, second.reused) == (State.DONE, False, True)


def test_newer_rules_judge_what_was_kept(newer_rules: Callable[[], None]) -> None:
    with RangeServer({"m.gguf": DATA}) as server:
        first = link(server.url("m.gguf"))
        newer_rules()
        before = len(server.requests)
        second = link(server.url("m.gguf"))
        assert server.ranges()[before:] == ["0-0"]
    assert (second.reused, second.requests, second.bytes_read) == (False, 1, 1)
    old, new = selectors.document(first.report), selectors.document(second.report)
    assert (second.report.rule_set, new["reads"]) == (NEWER, {"requests": 1, "bytes": 1})
    for part in ("findings", "metadata", "tensors", "files", "layout", "templates"):
        assert new[part] == old[part]
    assert selectors.header_bytes(second, 0, 4) == b"GGUF"


def test_everything_is_judged_again_without_its_source(newer_rules: Callable[[], None]) -> None:
    files = three_shards()
    sent = [rows.upload_of(data, name=name) for name, data in files.items()]
    split = run(services.submit_upload(owner=None, upload=sent[0], others=sent[1:]))
    with RangeServer({"m.gguf": DATA}) as server:
        single = link(server.url("m.gguf"))
    for one in sent:
        uploads.delete_upload(one)
    housekeeping.rejudge()
    assert Inspection.objects.count() == 2  # nothing is outdated
    newer_rules()
    housekeeping.rejudge()
    made = [run(row) for row in Inspection.objects.filter(state=State.QUEUED)]
    assert {row.again_id for row in made} == {split.pk, single.pk}
    for row in made:
        assert (row.state, row.report.rule_set, row.requests) == (State.DONE, NEWER, 0)
        old, new = (selectors.document(report) for report in (row.again.report, row.report))
        assert new["findings"] == old["findings"] and new["files"] == old["files"]
    housekeeping.rejudge()
    assert Inspection.objects.count() == 4  # once is enough


def test_what_is_not_kept_is_said() -> None:
    row = upload()
    again = Inspection.objects.create(
        source_kind="upload", locator="x", name="x", again=row, subject=row.subject
    )
    row.report.header.delete()
    done = run(again)
    assert (done.state, done.error_code) == (State.FAILED, "not_kept")


def test_a_vocabulary_is_kept_once_for_all_models_that_have_it() -> None:
    base = vocabulary(20_000)
    upload(base.build())
    size = sum(HeaderBlock.objects.values_list("size", flat=True))
    upload(base.key("general.name", "another").build())
    more = sum(HeaderBlock.objects.values_list("size", flat=True)) - size
    assert size > 4 * more > 0


def test_bytes_come_from_what_was_read_and_from_nothing_else() -> None:
    row = upload()
    for offset in (0, 1, 1_000, MIB - 200):
        assert selectors.header_bytes(row, offset, 100) == DATA[offset : offset + 100]
    kept = headers.open_kept(row.report)[0][0].spans()[-1][1]
    assert MIB <= kept < len(DATA)
    assert selectors.header_bytes(row, kept - 10, 64) == DATA[kept - 10 : kept]
    with pytest.raises(headers.NotThere):
        selectors.header_bytes(row, kept, 1)
    with pytest.raises(headers.NotKept):
        selectors.header_bytes(row, 0, 1, file="other.gguf")


def test_a_header_larger_than_may_be_kept_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("workers.recording.MOST_BYTES", 1_000)
    row = upload()
    assert row.state == State.DONE
    with pytest.raises(headers.NotKept):
        selectors.header_bytes(row, 0, 1)
    assert not upload().reused


def test_a_report_needs_no_room_for_its_header(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(**_: Any) -> None:
        raise OSError(errno.EMFILE, "too many open files")

    monkeypatch.setattr("workers.recording.tempfile.mkstemp", full)
    row = upload()
    assert row.state == State.DONE
    with pytest.raises(headers.NotKept):
        selectors.header_bytes(row, 0, 1)


def test_what_was_deleted_is_never_found() -> None:
    row = upload()
    row.delete()
    assert not Report.objects.exists()
    assert reuse.find(rows.queued(DATA)) is None


SAME = Identity("u", "m.gguf", 10, etag='"a"')
DIGEST = (Digest("sha256", "ab", "declared by hub"),)


@pytest.mark.parametrize(
    ("now", "same"),
    [
        (SAME, True),
        (replace(SAME, last_modified="now"), True),
        (replace(SAME, size=11), False),
        (replace(SAME, etag='"b"'), False),
        (replace(SAME, etag=None), False),
        (replace(SAME, notes=("commit 2",)), False),
        (replace(SAME, layers=(Layer("system", "t", None, 1),)), False),
        (replace(SAME, digests=DIGEST), True),
    ],
)
def test_who_is_the_same(now: Identity, same: bool) -> None:
    assert proof.is_same(SAME, now) is same
    assert not proof.is_same(replace(SAME, size=None), replace(SAME, size=None))


def test_digests_go_before_tags() -> None:
    one = replace(SAME, digests=DIGEST)
    assert proof.is_same(one, replace(one, etag='"b"'))
    other = (Digest("sha256", "cd", "declared by hub"),)
    assert not proof.is_same(one, replace(one, digests=other))
