"""Several uploads become one report."""

import io

import pytest

from ggufhub.hub import selectors, services, uploads
from ggufhub.hub.models import Inspection, State, Upload
from tests import rows
from tests.live import LiveWorker, wait_for
from tests.shards import three_shards
from workers.inspect import inspect

pytestmark = pytest.mark.django_db(transaction=True)


def submit(sent: list[Upload]) -> Inspection:
    return services.submit_upload(owner=None, upload=sent[0], others=sent[1:])


def run(row: Inspection) -> Inspection:
    inspect(str(row.pk))
    return selectors.get_inspection(None, row.pk)


def test_a_worker_asks_each_shard_for_its_header_in_turn(live_worker: LiveWorker) -> None:
    files = three_shards()
    size = 10**10
    sent = [rows.header_upload(data, size, sent=30, name=name) for name, data in files.items()]
    row = submit(sent)
    asked = []

    def ended() -> bool:
        now = selectors.get_inspection(None, row.pk)
        if needs := now.needs:
            upload = Upload.objects.get(pk=needs["upload"])
            stream = io.BytesIO(files[upload.name][needs["offset"] :] + bytes(needs["length"]))
            uploads.append(upload, offset=needs["offset"], stream=stream, length=needs["length"])
            asked.append(upload.name)
        return now.is_final

    wait_for(ended, 60)
    done = selectors.get_inspection(None, row.pk)
    assert done.state == State.DONE
    assert list(dict.fromkeys(asked)) == list(files)
    document = selectors.document(done.report)
    assert [file["name"] for file in document["files"]] == list(files)
    assert {file["size"] for file in document["files"]} == {size}


def test_a_set_without_one_shard_is_judged_as_far_as_it_goes() -> None:
    sent = [rows.upload_of(data, name=name) for name, data in three_shards().items()]
    row = run(submit([sent[2], sent[0]]))
    document = selectors.document(row.report)
    assert [file["name"] for file in document["files"]] == [sent[0].name, sent[2].name]
    assert "SPL003" not in {finding["rule"] for finding in document["findings"]}
    assert "SPL005" in {entry["rule"] for entry in document["not_evaluated"]}


def test_a_shard_that_is_gone_says_so() -> None:
    sent = [rows.upload_of(data, name=name) for name, data in three_shards().items()]
    row = submit(sent)
    uploads.delete_upload(sent[1])
    assert (run(row).state, run(row).error_code) == (State.FAILED, "not_found")


@pytest.mark.parametrize(
    "names",
    [
        ("a.gguf", "b.gguf"),
        ("m-00001-of-00002.gguf", "m-00001-of-00003.gguf"),
        ("m-00001-of-00002.gguf", "n-00002-of-00002.gguf"),
        ("m-00001-of-00002.gguf", "n.gguf"),
    ],
)
def test_files_of_several_models_are_not_mixed(names: tuple[str, str]) -> None:
    row = run(submit([rows.upload_of(b"GGUF", name=name) for name in names]))
    assert (row.state, row.error_code) == (State.FAILED, "not_one_model")
