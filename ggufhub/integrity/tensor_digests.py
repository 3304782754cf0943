"""Digests of the data of each tensor and of all tensors as one, as llama-gguf-hash prints them.

Source: ``examples/gguf-hash/gguf-hash.cpp`` of llama.cpp 0c1e57098. The data of all tensors goes
into one digest in the order of the tensor table; the UUID is version 5, made from the SHA-1 of the
namespace and that data.
"""

from collections.abc import Iterable, Iterator, Mapping
from uuid import UUID

from ggufhub.formats.header import Header
from ggufhub.integrity.hashing import XXH64, Digester, ResumableDigest, digester
from ggufhub.integrity.rows import Row, Walk, in_table_order

UUID5 = "uuid"

PRINTED = (XXH64, "sha1", "sha256")
"""Digests that llama-gguf-hash knows, in the order of its lines."""

_NAMESPACE = UUID("ef001206-dadc-5f6d-a15f-3359e577d4e5")
"""``UUID_NAMESPACE_LLAMA_CPP``."""


class TensorDigests:
    """Computes them while the bytes of a file pass in order.

    XXH64 of each tensor always: it costs little, and tells equal tensors from others (nobody who
    means to deceive, though). The rest only where ``asked``: algorithm names, and ``uuid``.
    ``found`` holds the digests of each row passed; ``whole`` is None where the data of a file
    does not lie in the order of its table.
    """

    def __init__(self, header: Header | None, rows: list[Row], asked: Iterable[str] = ()) -> None:
        wanted = set(asked)
        self.found: list[dict[str, str]] = []
        self._walk = Walk(rows)
        self._each = [name for name in PRINTED if name == XXH64 or name in wanted]
        self._running = {name: digester(name) for name in self._each}
        self._whole: dict[str, Digester] = {}
        if wanted and header is not None and in_table_order(rows, header):
            names = [name for name in (*PRINTED, UUID5) if name in wanted]
            self._whole = {name: digester(_basis(name)) for name in names}
            if UUID5 in self._whole:
                self._whole[UUID5].update(memoryview(bytearray(_NAMESPACE.bytes)))

    def feed(self, offset: int, data: memoryview) -> None:
        """Take the bytes of the file from ``offset``, which follow those before."""
        for piece in self._walk.pieces(offset, data):
            for running in (*self._running.values(), *self._whole.values()):
                running.update(piece.data)
            if piece.last:
                self.found.append({name: of.hexdigest() for name, of in self._running.items()})
                self._running = {name: digester(name) for name in self._each}

    @property
    def whole(self) -> dict[str, str]:
        """Digests of the data of all tensors as one, and the UUID, as far as ``asked``."""
        found = {name: running.hexdigest() for name, running in self._whole.items()}
        if UUID5 in found:
            found[UUID5] = str(UUID(bytes=bytes.fromhex(found[UUID5])[:16], version=5))
        return found

    def states(self) -> dict[str, bytes]:
        """What is needed to go on after a row, beside ``found``.

        The state of XXH64 cannot be had from its library, so that one is left out, and then not
        known in the end.
        """
        running = self._whole.items()
        return {name: of.state() for name, of in running if isinstance(of, ResumableDigest)}

    def resume(self, found: list[dict[str, str]], states: Mapping[str, bytes]) -> None:
        """Go on after as many rows as were ``found``. ``ValueError`` for states of another kind."""
        self.found = list(found)
        self._walk.next = len(found)
        self._whole = {
            name: digester(_basis(name), states[name]) for name in self._whole if name in states
        }


def _basis(name: str) -> str:
    return "sha1" if name == UUID5 else name


def manifest_lines(
    name: str, tensors: Iterable[tuple[str, Mapping[str, str]]], whole: Mapping[str, str]
) -> Iterator[str]:
    """The lines that llama-gguf-hash prints for the file it was given as ``name``."""
    for tensor, digests in tensors:
        for algorithm in PRINTED:
            if algorithm in digests:
                yield f"{algorithm:<8}  {digests[algorithm]}  {name}:{tensor}"
    for algorithm in (*PRINTED, UUID5):
        if algorithm in whole:
            yield f"{algorithm:<8}  {whole[algorithm]}  {name}"
