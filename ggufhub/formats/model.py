"""Model: one file, or all shards of one split model, as read and not yet judged."""

from dataclasses import dataclass, field
from enum import Enum

from ggufhub.errors import SourceError
from ggufhub.formats.detect import FileForm
from ggufhub.formats.header import Header, Key, Span, Tensor
from ggufhub.formats.kind import UNKNOWN
from ggufhub.formats.llamafile import Archive
from ggufhub.sources.base import Identity


class FaultKind(Enum):
    """What can be wrong with the data of a tensor."""

    NAN = "NaN"
    INFINITE = "infinite"
    REFUSED = "refused"
    """Of a type whose blocks the reference never takes as valid."""
    ZERO = "zero"
    """Nothing but zero bytes."""


@dataclass(frozen=True, slots=True)
class TensorFault:
    """Wrong data of one tensor: ``blocks`` of its ``total`` blocks are wrong, the first of them
    the one at index ``block``; ``span`` is where in the file that shows."""

    kind: FaultKind
    tensor: Tensor
    span: Span
    block: int
    blocks: int
    total: int


@dataclass(frozen=True, slots=True)
class Sample:
    """Numbers of ``elements`` weights taken evenly from one tensor; ``zeros`` of them are 0.

    Weights that are infinite or no number are left out of it.
    """

    elements: int
    mean: float
    deviation: float
    least: float
    most: float
    zeros: int


@dataclass(frozen=True, slots=True)
class TensorData:
    """What was seen of the data of one tensor, where every byte of it was read.

    ``digests`` are of its bytes, in hex by algorithm. ``zero_blocks`` of its ``blocks`` have no
    scale but zero (of float types: are zero), None where the type has no scale.
    ``scales`` are the least and the largest magnitude of a scale (of float types: of a value),
    those that are no finite numbers included. ``constant_rows`` of its ``rows`` hold one value
    again and again, None where rows are too long to be looked at in one go.
    """

    tensor: Tensor
    digests: dict[str, str]
    blocks: int = 0
    zero_blocks: int | None = None
    scales: tuple[float, float] | None = None
    rows: int = 0
    constant_rows: int | None = None
    sample: Sample | None = None


@dataclass(frozen=True, slots=True)
class Signature:
    """What the signature beside a model says of its files, in the file ``name``.

    ``problems`` tell why it makes no sense; ``unsigned`` are files beside the model that were not
    signed, ``absent`` signed ones that are not there. ``pieces`` tells that parts of files were
    signed, whose digests are those of no file. ``standing`` says whether the signature itself is
    good: it begins with ``verified``, ``not verified`` or ``bad``.
    """

    name: str
    standing: str
    problems: tuple[str, ...] = ()
    unsigned: tuple[str, ...] = ()
    absent: tuple[str, ...] = ()
    pieces: bool = False


@dataclass(slots=True)
class ModelFile:
    """One file: who it is, what form it has, and its header where it is a model.

    ``trailing`` holds the first bytes after the last tensor where there are any and they could
    be had; ``archive`` tells what is behind a program, where the file begins with one;
    ``computed`` are the digests of all bytes, in hex by algorithm, where all of them were read;
    ``faults`` is what is wrong with the data of its tensors, in file order, None where not every
    byte of it was looked at; ``data`` is what was seen of each tensor, ``tensor_digests`` the
    digests of the data of all tensors as one, with ``uuid`` among them. ``manifest`` are the
    digests of tensors that a manifest beside the file gives: of the one named, or of all (empty
    name), each with its algorithm; ``signature`` lies beside the file that was asked for.
    """

    identity: Identity
    form: FileForm
    header: Header | None = None
    trailing: bytes | None = None
    archive: Archive | None = None
    computed: dict[str, str] = field(default_factory=dict)
    faults: list[TensorFault] | None = None
    data: list[TensorData] = field(default_factory=list)
    tensor_digests: dict[str, str] = field(default_factory=dict)
    manifest: dict[tuple[str, str], str] = field(default_factory=dict)
    signature: Signature | None = None

    @property
    def name(self) -> str:
        return self.identity.name

    @property
    def size(self) -> int | None:
        """Bytes in the whole file; None where nobody says."""
        if self.header is not None and self.header.size is not None:
            return self.header.size
        return self.identity.size

    @property
    def keys(self) -> list[Key]:
        """The keys that were read."""
        return [] if self.header is None else self.header.keys

    @property
    def tensors(self) -> list[Tensor]:
        """The rows of the tensor table that were read."""
        return [] if self.header is None else self.header.tensors

    @property
    def data_end(self) -> int | None:
        """Where the padded data of the last tensor ends; None where that cannot be computed.

        Only GGUF pads after the data; the formats before it padded in front of it or not at all.
        """
        header = self.header
        if header is None or header.data_offset is None or header.alignment is None:
            return None
        alignment = header.alignment if header.format == "gguf" else 1
        end = 0
        for tensor in header.tensors:
            size = tensor.bytes
            if size is None:
                return None
            end = max(end, tensor.offset + size + -size % alignment)
        return header.data_offset + end


@dataclass(slots=True)
class Model:
    """The files of one model in shard order; ``files[0]`` carries the metadata.

    ``missing`` names the shards that could not be had, each with the reason; ``asked`` is the
    index of the file that was asked for. ``companion`` is the text model beside a projector.
    """

    files: list[ModelFile]
    kind: str = UNKNOWN
    missing: dict[str, SourceError] = field(default_factory=dict)
    asked: int = 0
    companion: ModelFile | None = None

    @property
    def opened(self) -> ModelFile:
        """The file that was asked for: any shard of the model."""
        return self.files[self.asked]

    @property
    def first(self) -> ModelFile:
        return self.files[0]

    @property
    def header(self) -> Header | None:
        """The header of the first file."""
        return self.files[0].header

    @property
    def tensors(self) -> list[Tensor]:
        """Tensors of all shards, in file order."""
        return [tensor for file in self.files for tensor in file.tensors]

    def find(self, name: str) -> Key | None:
        return None if self.header is None else self.header.find(name)

    def text(self, name: str) -> str | None:
        return None if self.header is None else self.header.text(name)

    def number(self, name: str) -> int | None:
        return None if self.header is None else self.header.number(name)
