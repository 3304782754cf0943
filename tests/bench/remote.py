"""`python -m tests.bench.remote`: what reading a header over a network costs.

Real vocabularies get a table of 300 tensors and 75 MiB of weights, and are served by range on
loopback. Printed: the size of the header, requests, bytes read, and seconds. The aims for
headers over 1 MB are at most 3 requests and 1.05 times the header's bytes; the exit code is 1
where they are missed.
"""

import struct
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from ggufhub.formats.gguf import read_gguf
from ggufhub.formats.load import load_model
from ggufhub.limits import Limits
from ggufhub.sources.file import FileSource
from ggufhub.sources.http import HttpSource
from ggufhub.sources.window import Window
from tests.core.rangeserver import LOOPBACK, RangeServer
from tests.corpus import SHARED

MODELS = (
    "ggml-vocab-bert-bge.gguf",
    "ggml-vocab-deepseek-coder.gguf",
    "ggml-vocab-qwen35.gguf",
    "ggml-vocab-nomic-bert-moe.gguf",
    "ggml-vocab-llama-bpe.gguf",
    "ggml-vocab-gemma-4.gguf",
)

MOST_REQUESTS = 3
MOST_OVERHEAD = 1.05

_ROWS = 300
_SHAPE = (64, 1024)
_BYTES = 4 * 64 * 1024


@dataclass(frozen=True, slots=True)
class Cost:
    """What one header took; ``sent`` is what the server counted."""

    header: int
    requests: int
    bytes: int
    sent: int
    seconds: float

    @property
    def good(self) -> bool:
        overhead = self.bytes / self.header
        return self.requests <= MOST_REQUESTS and (self.header < 10**6 or overhead <= MOST_OVERHEAD)


def with_weights(path: Path) -> tuple[bytes, int]:
    """The vocabulary of ``path`` as a model with weights, and the length of its header."""
    data = path.read_bytes()
    header = read_gguf(Window(FileSource(path), Limits()))
    assert header.keys_end is not None
    head = data[:8] + struct.pack("<Q", _ROWS) + data[16 : header.keys_end]
    rows = []
    for number in range(_ROWS):
        name = f"blk.{number}.ffn_up.weight".encode()
        rows.append(struct.pack("<Q", len(name)) + name)
        rows.append(struct.pack("<IQQIQ", 2, *_SHAPE, 0, number * _BYTES))
    head += b"".join(rows)
    return head + bytes(-len(head) % 32) + bytes(_ROWS * _BYTES), len(head)


def measure(path: Path) -> Cost:
    """Read the header of ``path`` as a model from a server on loopback."""
    model, header = with_weights(path)
    with (
        RangeServer({path.name: model}) as server,
        HttpSource(server.url(path.name), policy=LOOPBACK) as source,
    ):
        began = time.perf_counter()
        loaded = load_model(source, Limits())
        seconds = time.perf_counter() - began
        assert len(loaded.tensors) == _ROWS
        assert source.reads.requests == len(server.requests)
        return Cost(header, source.reads.requests, source.reads.bytes, server.bytes_sent, seconds)


def main() -> int:
    print(f"{'model':<28} {'header':>12} {'requests':>9} {'bytes':>12} {'x header':>9} {'s':>6}")
    costs = {name: measure(SHARED / "models" / name) for name in MODELS}
    for name, cost in costs.items():
        print(
            f"{name:<28} {cost.header:>12,} {cost.requests:>9} {cost.bytes:>12,} "
            f"{cost.bytes / cost.header:>9.3f} {cost.seconds:>6.2f}"
        )
    return 0 if all(cost.good for cost in costs.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
