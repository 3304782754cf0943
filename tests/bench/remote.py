"""`python -m tests.bench.remote`: what reading a header over a network costs.

A tiny model and real vocabularies, each with a table of 300 tensors and 75 MiB of weights, are
served by range on loopback. Printed: the size of the header, requests, bytes read, and seconds.
The aims are 1 request for small headers, and for those over 1 MB at most 3 requests and 1.05
times the header's bytes; the exit code is 1 where they are missed.

With ``--beside`` the same files are read by the reader of the hub's own pages in the same run;
npm puts it into a folder that is deleted afterwards.
"""

import argparse
import json
import struct
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from ggufhub.formats.gguf import read_gguf
from ggufhub.formats.load import load_model
from ggufhub.limits import Limits
from ggufhub.sources.http import HttpSource
from ggufhub.sources.window import Window
from tests.builders import Gguf
from tests.core.rangeserver import LOOPBACK, RangeServer
from tests.core.reading import source_of
from tests.corpus import SHARED

SMALL = "small"
"""A model of a few keys, made here."""

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

PEER = "@huggingface/gguf@0.4.6"

_PEER_SCRIPT = """
import { gguf } from "@huggingface/gguf";
const began = performance.now();
const { tensorInfos } = await gguf(process.argv[2]);
console.log(JSON.stringify([tensorInfos.length, (performance.now() - began) / 1000]));
"""

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
        """Whether the aims are met. A small header comes with the first request."""
        if self.header < 10**6:
            return self.requests == 1
        return self.requests <= MOST_REQUESTS and self.bytes <= MOST_OVERHEAD * self.header


def keys_of(name: str) -> bytes:
    """A file that holds the keys of model ``name``."""
    if name == SMALL:
        return Gguf().key("general.architecture", "llama").key("general.name", "Tiny").build()
    return (SHARED / "models" / name).read_bytes()


def with_weights(data: bytes, rows: int) -> tuple[bytes, int]:
    """The keys of ``data`` as a model of ``rows`` tensors, and the length of its header."""
    header = read_gguf(Window(source_of(data), Limits()))
    assert header.keys_end is not None
    head = data[:8] + struct.pack("<Q", rows) + data[16 : header.keys_end]
    table = []
    for number in range(rows):
        name = f"blk.{number}.ffn_up.weight".encode()
        table.append(struct.pack("<Q", len(name)) + name)
        table.append(struct.pack("<IQQIQ", 2, *_SHAPE, 0, number * _BYTES))
    head += b"".join(table)
    return head + bytes(-len(head) % 32) + bytes(rows * _BYTES), len(head)


class Served:
    """One model on a server of its own, to be read by several readers in turn."""

    def __init__(self, name: str) -> None:
        self.rows = 16 if name == SMALL else _ROWS
        model, self.header = with_weights(keys_of(name), self.rows)
        self.model = {"model.gguf": model}

    def ours(self) -> Cost:
        with (
            RangeServer(self.model) as server,
            HttpSource(server.url("model.gguf"), policy=LOOPBACK) as source,
        ):
            began = time.perf_counter()
            loaded = load_model(source, Limits())
            seconds = time.perf_counter() - began
            assert len(loaded.tensors) == self.rows
            assert source.reads.requests == len(server.requests)
            reads = source.reads
            return Cost(self.header, reads.requests, reads.bytes, server.bytes_sent, seconds)

    def theirs(self, folder: Path) -> Cost:
        """The same by the peer in ``folder``; its seconds are those of the call, in its process."""
        with RangeServer(self.model) as server:
            call = ["node", "read.mjs", server.url("model.gguf")]
            done = subprocess.run(call, cwd=folder, check=True, capture_output=True, timeout=120)
            tensors, seconds = json.loads(done.stdout)
            assert tensors == self.rows
            sent = server.bytes_sent
            return Cost(self.header, len(server.requests), sent, sent, seconds)


def install_peer(folder: Path) -> None:
    """Put the peer into ``folder``. Needs npm and its registry."""
    (folder / "read.mjs").write_text(_PEER_SCRIPT)
    install = ["npm", "install", "--no-audit", "--no-fund", "--ignore-scripts", PEER]
    subprocess.run(install, cwd=folder, check=True, capture_output=True, timeout=300)


def _print(name: str, reader: str, cost: Cost) -> None:
    print(
        f"{name:<32} {reader:<14} {cost.header:>12,} {cost.requests:>9} {cost.bytes:>12,} "
        f"{cost.bytes / cost.header:>9.3f} {cost.seconds:>6.2f}"
    )


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--beside", action="store_true", help=f"read with {PEER} as well")
    beside = parser.parse_args(arguments).beside
    columns = f"{'header':>12} {'requests':>9} {'bytes':>12} {'x header':>9} {'s':>6}"
    print(f"{'model':<32} {'reader':<14} {columns}")
    good = True
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        if beside:
            install_peer(folder)
        for name in (SMALL, *MODELS):
            served = Served(name)
            cost = served.ours()
            good = good and cost.good
            _print(name, "ggufhub", cost)
            if beside:
                _print(name, PEER.rpartition("/")[2], served.theirs(folder))
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
