"""One pass over every byte of a model: digests of each file, and what is in its tensors.

Threads compute the digests of one buffer while the next is read and its blocks are looked at:
the digests and numpy let other threads run, so two cores do it in the time of the SHA-256 alone.
"""

from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from itertools import cycle

from ggufhub.errors import SourceChanged
from ggufhub.formats.model import Model, ModelFile, TensorData
from ggufhub.integrity.checkpoint import (
    Checkpoints,
    Clock,
    Facts,
    data_facts,
    data_of,
    files_facts,
    pack,
    unmistakable,
    unpack,
)
from ggufhub.integrity.hashing import ALGORITHMS, Digester, ResumableDigest, digester, resumable
from ggufhub.integrity.rows import data_rows
from ggufhub.integrity.tensor_data import DataCheck
from ggufhub.integrity.tensor_digests import TensorDigests
from ggufhub.limits import MIB
from ggufhub.sources.base import ByteSource, Identity
from ggufhub.sources.slice import SliceSource

CHUNK = 8 * MIB
"""Bytes of one read, so of one request where the file is remote."""

BUFFERS = 3
"""One is filled, one waits for its turn, and the digests of one are computed."""

SHA256 = "sha256"

Lane = Callable[[int, memoryview], None]
"""Takes the bytes of a file from an offset, which follow those before."""

Passed = Callable[[int, int | None], None]
"""Hears the bytes of the model read so far and how many there are (None where nobody says).
What it raises ends the pass."""


def read_whole(
    model: Model,
    source: ByteSource,
    passed: Passed,
    chunk: int = CHUNK,
    checkpoints: Checkpoints | None = None,
) -> None:
    """Read every byte of every file of ``model``; set all that ``ModelFile`` says of them.

    ``source`` is the file that was asked for. Computed are the SHA-256 and every other digest
    that somebody gives for a file and that is known here. Memory: three buffers of ``chunk``
    bytes. Raises ``SourceError``, as ``SourceChanged`` where a file is not the one whose header
    was read.
    """
    _Pass(model, source, passed, chunk, checkpoints or Checkpoints()).run()


class _Pass:
    """The pass, file by file. ``done`` bytes of the files before the current one are read."""

    def __init__(
        self,
        model: Model,
        source: ByteSource,
        passed: Passed,
        chunk: int,
        checkpoints: Checkpoints,
    ) -> None:
        self._model, self._source, self._passed = model, source, passed
        sizes = [file.identity.size for file in model.files]
        self._total = None if None in sizes else sum(size or 0 for size in sizes)
        self._buffers = cycle([memoryview(bytearray(chunk)) for _ in range(BUFFERS)])
        self._rows = [data_rows(file.header) for file in model.files]
        self._readings = [_Reading(file) for file in model.files]
        self._checkpoints = checkpoints
        self._facts = files_facts(model.files, checkpoints.proof)
        self._finished: list[Facts] = []
        self._done = 0
        self._clock = Clock()

    def run(self) -> None:
        last = self._taken_up()
        self._finished = [] if last is None else last["finished"]
        for number, file in enumerate(self._model.files):
            reading = self._readings[number]
            if number < len(self._finished):
                reading.finish_as(self._finished[number])
                self._done += file.identity.size or 0
                continue
            begin = 0
            if last is not None and number == last["file"]:
                begin = reading.resume(last["current"])
            if file is self._model.opened:
                self._read(reading, _inside(file, self._source), begin)
            else:
                with self._source.sibling(file.name) as sibling:
                    self._read(reading, sibling, begin)

    def _taken_up(self) -> Facts | None:
        """The last checkpoint, if it is of the very same files."""
        packed = self._checkpoints.last
        if packed is None:
            return None
        facts = unpack(packed)
        same = facts is not None and all(facts[name] == self._facts[name] for name in self._facts)
        if facts is None or not same:
            self._checkpoints.notes.append(
                "An earlier attempt could not be taken up, because the file or the program is "
                "another one now: every byte was read from the start."
            )
            return None
        self._checkpoints.notes.append(
            f"An earlier attempt was taken up at byte {facts['current']['offset']:,} of "
            f"{self._model.files[facts['file']].name}."
        )
        return facts

    def _read(self, reading: "_Reading", source: ByteSource, begin: int) -> None:
        """Read one file from ``begin`` on."""
        if _version(source.identity) != _version(reading.file.identity):
            raise SourceChanged
        with _Lanes(reading.lanes) as lanes:
            offset = self._read_bytes(reading, source, begin, lanes)
        size = source.identity.size
        if size is not None and offset < size:
            raise SourceChanged
        source.check_unchanged()
        reading.finish()
        self._finished.append(reading.finished())
        self._done += offset

    def _read_bytes(
        self, reading: "_Reading", source: ByteSource, begin: int, lanes: "_Lanes"
    ) -> int:
        """Hand every byte from ``begin`` on to all that want it; where they end."""
        size, offset = source.identity.size, begin
        self._clock.restart(self._done + offset)
        for buffer in self._buffers:
            lanes.wait(BUFFERS - 1)
            wanted = len(buffer) if size is None else min(len(buffer), size - offset)
            if reading.resumable and self._checkable and self._clock.due(self._done + offset):
                pause = reading.check.walk.pause(offset)
                if pause == offset:
                    lanes.wait(0)
                    self._keep(reading, offset)
                else:
                    wanted = min(wanted, pause - offset)
            part = buffer[: source.readinto(offset, buffer[:wanted])]
            lanes.take(offset, part)
            reading.check.feed(offset, part)
            offset += len(part)
            self._passed(self._done + offset, self._total)
            if len(part) < wanted or offset == size:
                break
        return offset

    @property
    def _checkable(self) -> bool:
        """Whether a checkpoint could not be mistaken for one of other files."""
        return bool(self._checkpoints.proof) or unmistakable(self._model.files)

    def _keep(self, reading: "_Reading", offset: int) -> None:
        facts = {
            "finished": self._finished,
            "file": len(self._finished),
            "current": reading.state(offset),
        }
        self._checkpoints.keep(pack({**self._facts, **facts}))
        self._clock.restart(self._done + offset)


class _Lanes:
    """One thread for each digest; each takes the buffers in their order."""

    def __init__(self, lanes: list[Lane]) -> None:
        self._lanes = lanes
        self._pools = [ThreadPoolExecutor(1) for _ in lanes]
        self._waiting: deque[list[Future[None]]] = deque()

    def __enter__(self) -> "_Lanes":
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        try:
            if kind is None:
                self.wait(0)
        finally:
            for pool in self._pools:
                pool.shutdown()

    def take(self, offset: int, data: memoryview) -> None:
        pairs = zip(self._pools, self._lanes, strict=True)
        self._waiting.append([pool.submit(lane, offset, data) for pool, lane in pairs])

    def wait(self, most: int) -> None:
        """Until at most so many buffers are still in use."""
        while len(self._waiting) > most:
            for future in self._waiting.popleft():
                future.result()


class _Reading:
    """Everything that runs along while one file is read. ``lanes`` each need a thread."""

    def __init__(self, file: ModelFile) -> None:
        self.file = file
        self._rows = data_rows(file.header)
        given = {digest.algorithm for digest in file.identity.digests}
        self._digests = {
            name: digester(name) for name in ALGORITHMS if name == SHA256 or name in given
        }
        asked = {algorithm for _, algorithm in file.manifest}
        self._tensors = TensorDigests(file.header, self._rows, asked)
        self.check = DataCheck(file.header, self._rows)

    @property
    def lanes(self) -> list[Lane]:
        return [*map(_lane, self._digests.values()), self._tensors.feed]

    @property
    def resumable(self) -> bool:
        return all(map(resumable, self._digests))

    def state(self, offset: int) -> Facts:
        """What it takes to go on at ``offset``, as JSON."""
        running = self._digests.items()
        return {
            "offset": offset,
            "digests": {
                n: of.state().hex() for n, of in running if isinstance(of, ResumableDigest)
            },
            "tensors": {name: state.hex() for name, state in self._tensors.states().items()},
            **self._found(),
        }

    def resume(self, state: Facts) -> int:
        """Go on where ``state`` was noted down; the offset of the next byte to read."""
        self._digests = {
            name: digester(name, bytes.fromhex(kept)) for name, kept in state["digests"].items()
        }
        data, faults = data_of(state, self._rows)
        tensors = {name: bytes.fromhex(kept) for name, kept in state["tensors"].items()}
        self._tensors.resume([one.digests for one in data], tensors)
        self.check.resume(faults, data)
        return int(state["offset"])

    def _found(self) -> Facts:
        return data_facts(self._with_digests(), self.check.faults, self._rows)

    def _with_digests(self) -> list[TensorData]:
        pairs = zip(self.check.data, self._tensors.found, strict=True)
        return [replace(data, digests=digests) for data, digests in pairs]

    def finish(self) -> None:
        """Tell the file what was found."""
        self.file.computed = {name: of.hexdigest() for name, of in self._digests.items()}
        self.file.faults = self.check.faults
        self.file.data = self._with_digests()
        self.file.tensor_digests = self._tensors.whole

    def finished(self) -> Facts:
        """What ``finish`` told, as JSON."""
        return {
            "computed": self.file.computed,
            "tensor_digests": self.file.tensor_digests,
            **self._found(),
        }

    def finish_as(self, finished: Facts) -> None:
        """Tell the file what an earlier attempt found."""
        self.file.computed = finished["computed"]
        self.file.tensor_digests = finished["tensor_digests"]
        self.file.data, self.file.faults = data_of(finished, self._rows)


def _lane(digest: Digester) -> Lane:
    def update(offset: int, data: memoryview) -> None:
        digest.update(data)

    return update


def _inside(file: ModelFile, source: ByteSource) -> ByteSource:
    """Where the bytes of ``file`` are: in the middle of a program, if that is what it is from."""
    member = None if file.archive is None else file.archive.member
    if member is None:
        return source
    return SliceSource(source, member.offset, member.size, file.name)


def _version(identity: Identity) -> tuple[object, ...]:
    """What must be the same for two reads to be of the same file."""
    return identity.size, identity.etag, identity.last_modified
