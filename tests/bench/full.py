"""`python -m tests.bench.full`: every byte of a large file, against its SHA-256 alone.

The file is made for it: 1 GiB of tensors of the usual types, on disk as a whole, read from the
page cache by all. Rounds take turns; reported are the best of each, its ratio to hashlib
and the peak memory of the process. The aim is 1.3 times the digest alone, on two cores.
`sha256sum` is often built without the processor's SHA instructions, which hashlib's OpenSSL uses,
so both are measured.
"""

import hashlib
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from ggufhub.formats.load import load_model
from ggufhub.formats.tensor_types import TENSOR_TYPES
from ggufhub.integrity.full_read import read_whole
from ggufhub.limits import MIB, Limits
from ggufhub.rules.samples import Gguf
from ggufhub.sources.file import FileSource
from tests.bench.__main__ import peak

ROUNDS = 5
TYPES = ("Q4_K", "Q6_K", "Q8_0", "F16", "BF16", "F32", "IQ1_M", "MXFP4")
TENSOR = 8 * MIB
"""About the bytes of one tensor."""


def make(path: Path, size: int) -> None:
    """A model of about ``size`` bytes whose numbers are all finite."""
    kinds = {kind.name: kind for kind in TENSOR_TYPES.values()}
    model = Gguf(data=b"").key("general.architecture", "llama")
    sizes = []
    for number in range(size // TENSOR):
        kind = kinds[TYPES[number % len(TYPES)]]
        rows = TENSOR // (kind.size * 256)
        model.tensor(f"blk.{number}.weight", (kind.block * 256, rows), kind.id)
        sizes.append(rows * 256 * kind.size)
    values = np.random.default_rng(1).integers(1, 60, TENSOR, dtype=np.uint8).tobytes()
    with path.open("wb") as file:
        file.write(model.build())
        for length in sizes:
            file.write(values[:length] + bytes(-length % 32))


def full_read(path: str) -> str:
    """What we do: digest and validity."""
    with FileSource(Path(path)) as source:
        model = load_model(source, Limits())
        read_whole(model, source, lambda done, total: None)
    assert model.first.faults == []
    return str(model.first.sha256)


def digest_alone(path: str) -> str:
    """The least anybody can do."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def sha256sum(path: str) -> str:
    done = subprocess.run(["sha256sum", path], capture_output=True, check=True, text=True)
    return done.stdout.split()[0]


READERS = {"hashlib": digest_alone, "sha256sum": sha256sum, "digest and validity": full_read}


def measure(reader: str, path: str) -> None:
    """Child: print seconds, digest and peak memory in MiB as JSON."""
    began = time.perf_counter()
    sha256 = READERS[reader](path)
    seconds = time.perf_counter() - began
    print(json.dumps({"seconds": seconds, "sha256": sha256, "mib": peak()}))


def _child(reader: str, path: Path) -> dict:
    command = [sys.executable, "-m", "tests.bench.full", "--child", reader, str(path)]
    return dict(json.loads(subprocess.run(command, capture_output=True, check=True).stdout))


def main(size: int = 1024 * MIB) -> None:
    results: dict[str, list[dict]] = {name: [] for name in READERS}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "large.gguf"
        make(path, size)
        length = path.stat().st_size
        for _ in range(ROUNDS):
            for name, rounds in results.items():
                rounds.append(_child(name, path))
    assert len({result["sha256"] for rounds in results.values() for result in rounds}) == 1
    least = min(result["seconds"] for result in results["hashlib"])
    print(f"\n{f'every byte of {length:,}':<28} {'GB/s':>6} {'x hashlib':>10} {'peak MiB':>9}")
    for name, rounds in results.items():
        seconds = min(result["seconds"] for result in rounds)
        most = max(result["mib"] for result in rounds)
        rate = length / seconds / 1e9
        print(f"{name:<28} {rate:>6.2f} {seconds / least:>10.2f} {most:>9.0f}")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--child"]:
        measure(*sys.argv[2:4])
    else:
        main()
