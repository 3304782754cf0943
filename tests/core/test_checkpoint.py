"""Checkpoints of a pass over every byte: taken up they change nothing, else they are left alone."""

import hashlib
import os
import struct
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ggufhub.errors import SourceError
from ggufhub.formats.load import load_model
from ggufhub.formats.model import Model
from ggufhub.integrity import checkpoint, hashing
from ggufhub.integrity.checkpoint import Checkpoints, pack, unpack
from ggufhub.integrity.full_read import read_whole
from ggufhub.integrity.hashing import ALGORITHMS, ResumableDigest, digester, resumable
from ggufhub.limits import FULL, Limits
from ggufhub.report.build import inspect
from ggufhub.rules.split import good_set
from ggufhub.sources.base import ByteSource
from ggufhub.sources.file import FileSource
from tests.builders import Gguf
from tests.core.reading import MemorySource

CHUNK = 1000
TENSORS = 24
ASKED = {("", name): "" for name in ("sha1", "sha256", "uuid", "xxh64")}


class Killed(BaseException):
    """The process is gone."""


@pytest.fixture(autouse=True)
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkpoint, "EVERY_BYTES", 3 * CHUNK)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Tensors of 1,200 bytes, so that none ends where a read does; two of them hold faults."""
    path = tmp_path / "model.gguf"
    values = [float(n % 89) + 1 for n in range(300 * TENSORS)]
    values[10], values[301] = float("nan"), float("inf")
    data = b""
    model = Gguf().key("general.architecture", "llama")
    for number in range(TENSORS):
        model.tensor(f"t{number}", (300,))
        part = struct.pack("<300f", *values[300 * number : 300 * (number + 1)])
        data += part + bytes(-len(part) % 32)
    model.data = data
    path.write_bytes(model.build())
    return path


def whole(
    source: ByteSource,
    checkpoints: Checkpoints,
    killed_after: int | None = None,
    asked: dict[tuple[str, str], str] | None = None,
) -> Model:
    def listen(done: int, total: int | None) -> None:
        if killed_after is not None and done >= killed_after:
            raise Killed

    model = load_model(source, Limits())
    model.first.manifest = dict(ASKED) if asked is None else asked
    read_whole(model, source, listen, CHUNK, checkpoints)
    return model


def killed(path: Path, after: int, **how: Any) -> bytes:
    """Read ``path`` until ``after`` bytes; the last checkpoint made by then."""
    kept: list[bytes] = []
    with FileSource(path) as source, pytest.raises(Killed):
        whole(source, Checkpoints(keep=kept.append), after, **how)
    return kept[-1]


@pytest.mark.parametrize("after", [6_000, 12_345, 28_000])
def test_the_second_half_of_a_file_changes_nothing(path: Path, after: int) -> None:
    last = killed(path, after)
    with FileSource(path) as source:
        straight = whole(source, Checkpoints()).first
    checkpoints = Checkpoints(last=last)
    with FileSource(path) as source:
        file = whole(source, checkpoints).first
        read = source.reads.bytes - path.stat().st_size  # the header's reader took it all
    assert file.computed == {"sha256": hashlib.sha256(path.read_bytes()).hexdigest()}
    assert file.computed == straight.computed
    assert file.data == straight.data and len(file.data) == TENSORS
    assert file.faults == straight.faults and len(file.faults or []) == 2
    known = {name: value for name, value in straight.tensor_digests.items() if name != "xxh64"}
    assert file.tensor_digests == known, "XXH64 of all tensors as one cannot be taken up"
    assert "taken up at byte" in checkpoints.notes[0]
    assert read < path.stat().st_size - after + 6 * CHUNK


def test_a_checkpoint_lies_between_tensors(path: Path) -> None:
    facts = unpack(killed(path, 12_000))
    assert facts is not None
    with FileSource(path) as source:
        header = load_model(source, Limits()).header
    assert header is not None and header.data_offset is not None
    offset = facts["current"]["offset"] - header.data_offset
    inside = [t for t in header.tensors if t.offset < offset < t.offset + (t.bytes or 0)]
    assert inside == []
    assert len(facts["current"]["data"]) == sum(t.offset < offset for t in header.tensors)


def _another_byte(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[-40] ^= 1
    path.write_bytes(data)
    os.utime(path, ns=(1, 1))


def _longer(path: Path) -> None:
    path.write_bytes(path.read_bytes() + b"more")


@pytest.mark.parametrize("change", [_another_byte, _longer])
def test_a_changed_file_is_read_from_the_start(path: Path, change: Callable[[Path], None]) -> None:
    last = killed(path, 20_000)
    change(path)
    checkpoints = Checkpoints(last=last)
    with FileSource(path) as source:
        file = whole(source, checkpoints).first
    assert file.computed["sha256"] == hashlib.sha256(path.read_bytes()).hexdigest()
    assert "from the start" in checkpoints.notes[0]


def test_the_report_says_that_it_was_taken_up(path: Path) -> None:
    last = killed(path, 20_000, asked={})
    with FileSource(path) as source:
        document = inspect(source, depth=FULL, checkpoints=Checkpoints(last=last)).document
    assert any("taken up at byte" in note for note in document["notes"])
    (digest,) = document["files"][0]["digests"]
    assert digest["value"] == hashlib.sha256(path.read_bytes()).hexdigest()


def _damaged(packed: bytes) -> bytes:
    return packed[:40] + bytes([packed[40] ^ 1]) + packed[41:]


def _of_another_program(packed: bytes) -> bytes:
    facts = unpack(packed)
    assert facts is not None
    return pack({**facts, "platform": "OpenSSL 9"})


def _of_another_version(packed: bytes) -> bytes:
    facts = unpack(packed)
    assert facts is not None
    return pack({**facts, "version": 0})


@pytest.mark.parametrize(
    "spoil",
    [_damaged, _of_another_program, _of_another_version, lambda packed: b"", lambda p: p[:99]],
)
def test_a_checkpoint_that_is_no_good(path: Path, spoil: Callable[[bytes], bytes]) -> None:
    checkpoints = Checkpoints(last=spoil(killed(path, 20_000)))
    with FileSource(path) as source:
        file = whole(source, checkpoints).first
    assert file.computed["sha256"] == hashlib.sha256(path.read_bytes()).hexdigest()
    assert "from the start" in checkpoints.notes[0]


def test_other_digests_than_were_asked_for(path: Path) -> None:
    checkpoints = Checkpoints(last=killed(path, 20_000))
    with FileSource(path) as source:
        file = whole(source, checkpoints, asked={("", "sha1"): ""}).first
    assert file.tensor_digests.keys() == {"sha1"}
    assert "from the start" in checkpoints.notes[0]


def test_files_that_tell_no_change_need_a_proof(path: Path) -> None:
    source = MemorySource("m.gguf", {"m.gguf": path.read_bytes()})
    kept: list[bytes] = []
    whole(source, Checkpoints(keep=kept.append))
    assert kept == []
    whole(source, Checkpoints(proof="upload 1", keep=kept.append))
    checkpoints = Checkpoints(proof="upload 2", last=kept[-1])
    whole(source, checkpoints)
    assert "from the start" in checkpoints.notes[0]


def test_a_range_that_fails_far_inside(path: Path) -> None:
    class Failing(FileSource):
        def readinto(self, offset: int, buffer: memoryview) -> int:
            if offset >= 20_000:
                raise SourceError("connection", "The server is gone.")
            return super().readinto(offset, buffer)

    checkpoints = Checkpoints(keep=lambda packed: setattr(checkpoints, "last", packed))
    with Failing(path) as source, pytest.raises(SourceError, match="gone"):
        whole(source, checkpoints)
    with FileSource(path) as source:
        file = whole(source, checkpoints).first
    assert file.computed["sha256"] == hashlib.sha256(path.read_bytes()).hexdigest()
    assert "taken up" in checkpoints.notes[0]


def test_shards_that_were_read_are_not_read_again(tmp_path: Path) -> None:
    files = good_set()
    for name, data in files.items():
        (tmp_path / name).write_bytes(data + bytes(8 * CHUNK))
    first, *_, last = (tmp_path / name for name in files)
    total = sum(path.stat().st_size for path in tmp_path.iterdir())
    kept: list[bytes] = []
    with FileSource(first) as source, pytest.raises(Killed):
        whole(source, Checkpoints(keep=kept.append), total - 2 * CHUNK)
    checkpoints = Checkpoints(last=kept[-1])
    with FileSource(first) as source:
        model = whole(source, checkpoints)
        assert source.reads.bytes - total < 6 * CHUNK, "the headers' reader took it all"
    assert last.name in checkpoints.notes[0]
    for file in model.files:
        data = (tmp_path / file.name).read_bytes()
        assert file.computed["sha256"] == hashlib.sha256(data).hexdigest()
        assert file.faults is not None


# The digests


@pytest.mark.parametrize("algorithm", [name for name in ALGORITHMS if resumable(name)])
@pytest.mark.parametrize("cut", [0, 1, 63, 64, 127, 128, 4999])
def test_a_digest_goes_on_where_it_was(algorithm: str, cut: int) -> None:
    data = memoryview(bytearray(os.urandom(5000)))
    first = ResumableDigest(algorithm)
    first.update(data[:cut])
    assert first.hexdigest() == hashlib.new(algorithm, data[:cut]).hexdigest()
    second = digester(algorithm, first.state())
    second.update(data[cut:])
    assert second.hexdigest() == hashlib.new(algorithm, data).hexdigest()


def test_most_digests_can_be_taken_up_here() -> None:
    assert {name for name in ALGORITHMS if not resumable(name)} == {"blake2b", "xxh64"}


def test_without_the_library_hashlib_does_it(monkeypatch: pytest.MonkeyPatch, path: Path) -> None:
    def gone() -> None:
        raise OSError

    resumable.cache_clear()
    monkeypatch.setattr(hashing, "_library", gone)
    try:
        kept: list[bytes] = []
        with FileSource(path) as source:
            file = whole(source, Checkpoints(keep=kept.append)).first
        assert file.computed["sha256"] == hashlib.sha256(path.read_bytes()).hexdigest()
        assert kept == []
        with pytest.raises(ValueError, match="taken up"):
            digester("sha256", b"state")
    finally:
        resumable.cache_clear()


def test_a_state_of_another_digest_is_refused() -> None:
    with pytest.raises(ValueError, match="no state"):
        digester("sha256", digester_state("sha512"))


def digester_state(algorithm: str) -> bytes:
    return ResumableDigest(algorithm).state()


def test_limits_of_a_checkpoint(monkeypatch: pytest.MonkeyPatch, path: Path) -> None:
    packed = killed(path, 20_000)
    monkeypatch.setattr(checkpoint, "MOST_BYTES", 100)
    assert unpack(packed) is None


def test_time_alone_makes_one_due(monkeypatch: pytest.MonkeyPatch, path: Path) -> None:
    monkeypatch.setattr(checkpoint, "EVERY_BYTES", 1 << 40)
    monkeypatch.setattr(checkpoint, "EVERY_SECONDS", 0.0)
    kept: list[bytes] = []
    with FileSource(path) as source:
        whole(source, Checkpoints(keep=kept.append))
    assert len(kept) > 10


def test_a_replaced_identity_is_another_file(path: Path) -> None:
    with FileSource(path) as source:
        model = load_model(source, Limits())
    facts = checkpoint.files_facts(model.files, "")
    model.first.identity = replace(model.first.identity, etag='"2"')
    assert checkpoint.files_facts(model.files, "") != facts
