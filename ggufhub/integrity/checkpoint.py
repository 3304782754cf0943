"""Checkpoints of a pass over every byte: what it takes to go on in the middle of a large file.

A checkpoint is made where no tensor is half read. It holds the state of every digest, what was
found so far, and the identity of the file. It is only taken up where all of that still fits:
the same files, unchanged, with the same tensor table, read by the same library. Anything else
starts over: a wrong digest would be worse than a second pass.
"""

import hashlib
import json
import time
import zlib
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any

from ggufhub.formats.header import Span
from ggufhub.formats.model import FaultKind, ModelFile, Sample, TensorData, TensorFault
from ggufhub.integrity.hashing import PLATFORM
from ggufhub.integrity.rows import Row, data_rows
from ggufhub.limits import MIB

VERSION = 1
"""Of what a checkpoint holds; others are of no use."""

EVERY_BYTES = 1024 * MIB
EVERY_SECONDS = 30.0
"""A checkpoint is due after whichever comes first."""

MOST_BYTES = 64 * MIB
"""Of one checkpoint, unpacked: 131,072 tensors take 30 MB."""

Facts = dict[str, Any]


@dataclass(slots=True)
class Checkpoints:
    """Where the checkpoints of one pass are kept. ``last`` is the one to take up, if any;
    ``keep`` stores the next, which replaces it. ``notes`` tell what became of ``last``.

    ``proof`` stands for the content of files that do not tell themselves when they change: it is
    another one when they are others. Without it such files are read from the start.
    """

    proof: str = ""
    last: bytes | None = None
    keep: Callable[[bytes], None] = lambda packed: None
    notes: list[str] = field(default_factory=list)


class Clock:
    """Says when the next checkpoint is due."""

    def __init__(self) -> None:
        self.restart(0)

    def restart(self, offset: int) -> None:
        """A checkpoint was made, or reading began, at ``offset``."""
        self._offset, self._time = offset, time.monotonic()

    def due(self, offset: int) -> bool:
        waited = time.monotonic() - self._time
        return offset - self._offset >= EVERY_BYTES or waited >= EVERY_SECONDS


def pack(facts: Facts) -> bytes:
    """``facts`` with a digest of their own, so that damage is noticed."""
    text = json.dumps(facts, separators=(",", ":")).encode()
    return hashlib.sha256(text).digest() + zlib.compress(text, 1)


def unpack(packed: bytes) -> Facts | None:
    """The facts again; None where they are damaged, too large, or of another version."""
    unpacker = zlib.decompressobj()
    try:
        text = unpacker.decompress(packed[32:], MOST_BYTES)
        facts = json.loads(text) if hashlib.sha256(text).digest() == packed[:32] else None
    except (zlib.error, ValueError):
        return None
    if not isinstance(facts, dict) or facts.get("version") != VERSION:
        return None
    return facts


def files_facts(files: list[ModelFile], proof: str) -> Facts:
    """What must be the same for a checkpoint to be taken up."""
    return {
        "version": VERSION,
        "platform": PLATFORM,
        "proof": proof,
        "files": [_file_facts(file) for file in files],
    }


def _file_facts(file: ModelFile) -> list[str | int | None]:
    """Who the file is, where its tensors are, and which digests were asked for."""
    table = hashlib.sha256()
    for row in data_rows(file.header):
        table.update(repr((row.index, row.tensor.type, row.data)).encode())
    for asked in sorted({digest.algorithm for digest in file.identity.digests}):
        table.update(asked.encode() + b"\0")
    for asked in sorted({algorithm for _, algorithm in file.manifest}):
        table.update(asked.encode() + b"\1")
    identity = file.identity
    return [file.name, identity.size, identity.etag, identity.last_modified, table.hexdigest()]


def unmistakable(files: list[ModelFile]) -> bool:
    """Whether every file would show if it were another one by the next attempt."""
    return all(
        file.identity.size is not None
        and (file.identity.etag is not None or file.identity.last_modified is not None)
        for file in files
    )


def data_facts(data: list[TensorData], faults: list[TensorFault], rows: list[Row]) -> Facts:
    """What was found of the first tensors of one file, as JSON."""
    index = {id(row.tensor): number for number, row in enumerate(rows)}
    return {
        "data": [
            [
                one.digests,
                one.blocks,
                one.zero_blocks,
                one.scales,
                one.rows,
                one.constant_rows,
                None if one.sample is None else list(asdict(one.sample).values()),
            ]
            for one in data
        ],
        "faults": [
            [
                fault.kind.name,
                index[id(fault.tensor)],
                [fault.span.offset, fault.span.length],
                fault.block,
                fault.blocks,
                fault.total,
            ]
            for fault in faults
        ],
    }


def data_of(facts: Facts, rows: list[Row]) -> tuple[list[TensorData], list[TensorFault]]:
    """What ``data_facts`` wrote down."""
    data = [
        TensorData(
            tensor=row.tensor,
            digests=digests,
            blocks=blocks,
            zero_blocks=zero_blocks,
            scales=None if scales is None else (scales[0], scales[1]),
            rows=count,
            constant_rows=constant_rows,
            sample=None if sample is None else Sample(*sample),
        )
        for row, (digests, blocks, zero_blocks, scales, count, constant_rows, sample) in zip(
            rows, facts["data"], strict=False
        )
    ]
    faults = [
        TensorFault(FaultKind[kind], rows[number].tensor, Span(*span), block, blocks, total)
        for kind, number, span, block, blocks, total in facts["faults"]
    ]
    return data, faults
