"""Depth full: one pass over every byte, digests and validity, whatever the sizes and changes."""

import gc
import hashlib
import os
import struct
import threading
import tracemalloc
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ggufhub.errors import SourceChanged, SourceError
from ggufhub.formats.load import load_model
from ggufhub.formats.model import FaultKind, Model
from ggufhub.integrity.full_read import BUFFERS, CHUNK, read_whole
from ggufhub.limits import FULL, MIB, Limits
from ggufhub.report.build import inspect
from ggufhub.rules.split import good_set
from ggufhub.sources.base import ByteSource, Reads
from ggufhub.sources.file import FileSource
from tests.builders import ByteOrder, Gguf, small_model
from tests.core.httpkit import open_url
from tests.core.rangeserver import RangeServer
from tests.core.reading import MemorySource, report, rules_hit, source_of

NAN = float("nan")


def model_of(values: list[float], order: ByteOrder = ByteOrder.LITTLE) -> bytes:
    """Tensors a, b and c of eight floats each, padded to 32 bytes as they are."""
    data = struct.pack(f"{order.prefix}24f", *values)
    model = Gguf(order=order, data=data).key("general.architecture", "llama")
    for name in "abc":
        model.tensor(name, (8,))
    return model.build()


def passed(done: int, total: int | None) -> None:
    """Nobody listens."""


def whole(source: ByteSource, chunk: int = CHUNK, listen: Any = passed) -> Model:
    model = load_model(source, Limits())
    read_whole(model, source, listen, chunk)
    return model


@pytest.mark.parametrize("chunk", [1, 7, 31, 64, 1000, CHUNK])
def test_the_size_of_a_read_changes_nothing(chunk: int) -> None:
    data = model_of([1.0] * 9 + [NAN] * 2 + [1.0] * 13)
    file = whole(source_of(data), chunk).first
    assert file.computed["sha256"] == hashlib.sha256(data).hexdigest()
    (fault,) = file.faults or []
    assert (fault.kind, fault.tensor.name) == (FaultKind.NAN, "b")
    assert (fault.block, fault.blocks, fault.total) == (1, 2, 8)
    assert fault.span.offset == data.index(struct.pack("<f", NAN))
    assert fault.span.length == 4


def test_a_server_that_tells_no_size() -> None:
    data = model_of([1.0] * 24)
    heard: list[tuple[int, int | None]] = []
    source = source_of(data, sized=False)
    file = whole(source, 100, lambda *seen: heard.append(seen)).first
    assert file.computed["sha256"] == hashlib.sha256(data).hexdigest()
    assert heard[-1] == (len(data), None)


@pytest.mark.parametrize("order", ByteOrder)
def test_both_byte_orders(order: ByteOrder) -> None:
    good = report(model_of([1.0] * 24, order), depth=FULL)
    assert "QNT010" not in rules_hit(good)
    document = report(model_of([1.0] * 23 + [float("inf")], order), depth=FULL).document
    (finding,) = [f for f in document["findings"] if f["rule"] == "QNT010"]
    assert (finding["severity"], finding["place"]["tensor"]) == ("warning", "c")
    assert finding["place"]["length"] == 4
    assert "1 of 8 (F32)" in finding["message"] and "value 7" in finding["message"]


def test_tensors_of_zeros_are_worth_knowing() -> None:
    document = report(model_of([0.0] * 16 + [1.0] * 8), depth=FULL).document
    (finding,) = [f for f in document["findings"] if f["rule"] == "QNT010"]
    assert (finding["severity"], finding["place"]["tensor"]) == ("info", "a")
    assert "1 more" in finding["message"]


def test_depth_header_says_that_it_did_not_look() -> None:
    document = report(model_of([NAN] * 24)).document
    assert document["depth"] == "header"
    assert "QNT010" not in {finding["rule"] for finding in document["findings"]}
    reasons = {entry["rule"]: entry["reason"] for entry in document["not_evaluated"]}
    assert "every byte" in reasons["QNT010"]


def test_the_digest_of_a_large_file_is_known_at_depth_full_only() -> None:
    data = model_of([1.0] * 24) + bytes(2 * MIB)
    assert report(data).document["files"][0]["digests"] == []
    document = report(data, depth=FULL).document
    assert document["files"][0]["digests"] == [
        {
            "algorithm": "sha256",
            "value": hashlib.sha256(data).hexdigest(),
            "basis": "computed from all bytes",
        }
    ]
    assert document["depth"] == "full"
    assert document["seconds"]["every byte"] >= 0


def test_a_wrong_digest_in_a_manifest_shows_at_depth_full() -> None:
    data = model_of([1.0] * 24) + bytes(2 * MIB)
    files = {"m.gguf": data, "m.gguf.sha256": f"{'ab' * 32}  m.gguf\n".encode()}
    assert "STR035" not in rules_hit(report(files))
    assert "STR035" in rules_hit(report(files, depth=FULL))


def test_an_expected_digest_that_nothing_can_be_compared_with_is_an_error() -> None:
    data = model_of([1.0] * 24) + bytes(2 * MIB)
    expected = {"sha256": hashlib.sha256(data).hexdigest()}
    document = inspect(source_of(data), expected=expected).document
    (finding,) = [f for f in document["findings"] if f["rule"] == "STR035"]
    assert finding["severity"] == "error" and "could not be verified" in finding["message"]
    assert "depth full" in finding["fix"]
    assert "STR035" not in rules_hit(inspect(source_of(data), expected=expected, depth=FULL))


def test_every_shard_is_read() -> None:
    files = good_set()
    source = MemorySource(next(iter(files)), files)
    heard: list[tuple[int, int | None]] = []
    model = whole(source, 64, lambda *seen: heard.append(seen))
    assert len(model.files) == len(files) > 1
    for file in model.files:
        assert file.computed["sha256"] == hashlib.sha256(files[file.name]).hexdigest()
    total = sum(map(len, files.values()))
    assert heard[-1] == (total, total)
    assert [done for done, _ in heard] == sorted(done for done, _ in heard)


def test_what_is_no_model_has_a_digest_too() -> None:
    document = report(b"not a model" * 1000, depth=FULL).document
    assert document["files"][0]["digests"][0]["basis"] == "computed from all bytes"
    assert report(b"", depth=FULL).document["verdict"] in ("unreadable", "fail")


def test_a_truncated_tensor_is_not_judged_on_its_first_half() -> None:
    data = model_of([1.0] * 24)[:-16]
    assert "QNT010" not in rules_hit(report(data, depth=FULL))


def test_overlapping_tensors_cost_no_more_than_the_file() -> None:
    """10,000 tensors over the same 4 MiB would be 40 GiB to look at."""
    values = np.ones(MIB, "<f4").tobytes()
    model = Gguf(data=values).key("general.architecture", "llama")
    for number in range(10_000):
        model.tensor(f"t{number}", (MIB,), offset=0)
    seen = whole(source_of(model.build())).first
    assert seen.faults == []


# Changes while it is read


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "model.gguf"
    path.write_bytes(model_of([1.0] * 24) + bytes(MIB))
    return path


def _touch(path: Path) -> None:
    os.utime(path, ns=(1, 1))


def _grow(path: Path) -> None:
    with path.open("ab") as file:
        file.write(b"more")


def _cut(path: Path) -> None:
    os.truncate(path, 1000)


@pytest.mark.parametrize("change", [_touch, _grow, _cut])
def test_a_file_that_changes_has_no_digest(path: Path, change: Any) -> None:
    changes: Iterator[Any] = iter([change])

    def listen(done: int, total: int | None) -> None:
        if (act := next(changes, None)) is not None:
            act(path)

    with FileSource(path) as source, pytest.raises(SourceChanged):
        whole(source, 1000, listen)


def test_a_file_that_changed_once_is_read_anew(path: Path) -> None:
    changes = iter([_grow])

    def listen(stage: str, reads: Reads) -> None:
        if stage.startswith("reading every byte") and (act := next(changes, None)) is not None:
            act(path)

    with FileSource(path) as source:
        document = inspect(source, depth=FULL, progress=listen).document
    (digest,) = document["files"][0]["digests"]
    assert digest["value"] == hashlib.sha256(path.read_bytes()).hexdigest()


def test_a_file_that_keeps_changing_is_unreadable(path: Path) -> None:
    def listen(stage: str, reads: Reads) -> None:
        if stage.startswith("reading every byte"):
            _grow(path)

    with FileSource(path) as source:
        document = inspect(source, depth=FULL, progress=listen).document
    assert (document["verdict"], document["error"]["code"]) == ("unreadable", "changed")


def test_another_shard_than_the_one_whose_header_was_read() -> None:
    files = good_set()
    source = MemorySource(next(iter(files)), files)
    model = load_model(source, Limits())
    last = model.files[-1].name
    files[last] += b"\0"
    with pytest.raises(SourceChanged):
        read_whole(model, source, passed)


# Ends of a pass


def test_a_read_that_fails_ends_it() -> None:
    class Failing(MemorySource):
        def readinto(self, offset: int, buffer: memoryview) -> int:
            if offset >= 1000:
                raise SourceError("unreachable", "The server is gone.")
            return super().readinto(offset, buffer)

    source = Failing("m.gguf", {"m.gguf": model_of([1.0] * 24) + bytes(5000)})
    model = load_model(source_of(source.files["m.gguf"]), Limits())
    model.first.identity = source.identity
    with pytest.raises(SourceError, match="gone"):
        read_whole(model, source, passed, 500)
    assert model.first.faults is None
    assert threading.active_count() == 1


def test_who_listens_can_stop_it() -> None:
    def listen(done: int, total: int | None) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        whole(source_of(model_of([1.0] * 24)), listen=listen)
    assert threading.active_count() == 1


def test_memory_is_bounded(tmp_path: Path) -> None:
    path = tmp_path / "large.gguf"
    path.write_bytes(model_of([1.0] * 24))
    os.truncate(path, 400 * MIB)
    with FileSource(path) as source:
        model = load_model(source, Limits())
        gc.collect()
        tracemalloc.start()
        read_whole(model, source, passed)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    assert BUFFERS * CHUNK <= 64 * MIB
    assert peak < 64 * MIB


# Over the network


def test_a_remote_file_takes_as_many_requests_as_it_needs() -> None:
    data = small_model().build() + bytes(9 * MIB)
    limits = replace(Limits(), largest_read=MIB // 4, requests=5).for_depth(FULL)
    with (
        RangeServer({"model.gguf": data}) as server,
        open_url(server.url("model.gguf"), limits) as source,
    ):
        document = inspect(source, limits=limits, depth=FULL).document
    (digest,) = document["files"][0]["digests"]
    assert digest["value"] == hashlib.sha256(data).hexdigest()
    assert document["reads"]["requests"] > 24
