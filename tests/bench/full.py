"""`python -m tests.bench.full`: every byte of a large file, against its SHA-256 alone.

The file is made for it: 4 GB of tensors of the usual types, on disk as a whole, read from the
page cache by all; real models in `../shared/models` of more than 100 MB are read too. Rounds take
turns; reported are the best of each, its ratio to hashlib and the peak memory of the process. The
aim is 1.3 times the digest alone, on two cores. `sha256sum` is often built without the processor's
SHA instructions, which hashlib's OpenSSL uses, so both are measured; so is the reference's own
check of tensors, which computes no digest.

Then the reading is killed (SIGKILL) in the middle and goes on at its last checkpoint: reported are
the bytes that were read again, and the digest must be the same.
"""

import hashlib
import json
import mmap
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from ggufhub.formats.load import load_model
from ggufhub.formats.tensor_types import TENSOR_TYPES
from ggufhub.integrity.checkpoint import Checkpoints
from ggufhub.integrity.full_read import read_whole
from ggufhub.integrity.rows import data_rows
from ggufhub.integrity.sampling import dequantisers
from ggufhub.limits import MIB, Limits
from ggufhub.rules.samples import Gguf
from ggufhub.sources.file import FileSource
from tests.bench.__main__ import peak
from tests.corpus import SHARED
from tests.reference import Reader

ROUNDS = 3
SIZE = 4_000 * MIB
LARGE = 100 * MIB
MODELS = SHARED / "models"
TYPES = ("Q4_K", "Q6_K", "Q8_0", "F16", "BF16", "F32", "IQ1_M", "MXFP4")
NO_DIGEST = ""
"""What the reader says that computes none."""

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
    """What we do: digests, validity, and what is told of every tensor."""
    with FileSource(Path(path)) as source:
        model = load_model(source, Limits())
        read_whole(model, source, lambda done, total: None)
    assert model.first.faults is not None
    return model.first.computed["sha256"]


def read_on(path: str, kept: str) -> None:
    """Child: read with checkpoints in the file ``kept``, from the last one on; print what came."""
    place = Path(kept)

    def keep(packed: bytes) -> None:
        place.with_suffix(".new").write_bytes(packed)
        place.with_suffix(".new").replace(place)

    last = place.read_bytes() if place.exists() else None
    with FileSource(Path(path)) as source:
        model = load_model(source, Limits())
        checkpoints = Checkpoints(last=last, keep=keep)
        read_whole(model, source, lambda done, total: None, checkpoints=checkpoints)
        read = source.reads.bytes
    sha256 = model.first.computed["sha256"]
    print(json.dumps({"sha256": sha256, "bytes": read, "notes": checkpoints.notes}))


def digest_alone(path: str) -> str:
    """The least anybody can do."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def sha256sum(path: str) -> str:
    done = subprocess.run(["sha256sum", path], capture_output=True, check=True, text=True)
    return done.stdout.split()[0]


def reference_check(path: str) -> str:
    """The reference's check of every tensor's blocks, without any digest."""
    reference = Reader()
    with FileSource(Path(path)) as source, open(path, "rb") as file:
        model = load_model(source, Limits())
        whole = np.frombuffer(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ), np.uint8)
        for row in data_rows(model.first.header):
            address = whole[row.data.offset :].ctypes.data
            assert reference.valid(row.tensor.type, address, row.data.length), row.tensor.name
    return NO_DIGEST


READERS = {
    "hashlib": digest_alone,
    "sha256sum": sha256sum,
    "reference's check": reference_check,
    "digest and validity": full_read,
}


def measure(reader: str, path: str) -> None:
    """Child: print seconds, digest and peak memory in MiB as JSON."""
    dequantisers()  # a worker has loaded them with its first file
    began = time.perf_counter()
    sha256 = READERS[reader](path)
    seconds = time.perf_counter() - began
    print(json.dumps({"seconds": seconds, "sha256": sha256, "mib": peak()}))


def _child(reader: str, path: Path) -> dict:
    command = [sys.executable, "-m", "tests.bench.full", "--child", reader, str(path)]
    return dict(json.loads(subprocess.run(command, capture_output=True, check=True).stdout))


def compare(path: Path) -> str:
    """Print how quick each reader is; the digest they agree on."""
    results: dict[str, list[dict]] = {name: [] for name in READERS}
    length = path.stat().st_size
    for number in range(ROUNDS):
        for name, rounds in results.items():
            if number == 0 or name != "sha256sum":
                rounds.append(_child(name, path))
    told = {result["sha256"] for rounds in results.values() for result in rounds}
    (sha256,) = told - {NO_DIGEST}
    least = min(result["seconds"] for result in results["hashlib"])
    print(f"\n{f'every byte of {length:,}':<28} {'GB/s':>6} {'x hashlib':>10} {'peak MiB':>9}")
    for name, rounds in results.items():
        seconds = min(result["seconds"] for result in rounds)
        most = max(result["mib"] for result in rounds)
        rate = length / seconds / 1e9
        print(f"{name:<28} {rate:>6.2f} {seconds / least:>10.2f} {most:>9.0f}")
    return str(sha256)


def kill_and_go_on(path: Path, sha256: str) -> None:
    """Kill a reader after its second checkpoint, and let another one finish."""
    kept = path.with_suffix(".checkpoint")
    command = [sys.executable, "-m", "tests.bench.full", "--on", str(path), str(kept)]
    first = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    seen: set[int] = set()
    while len(seen) < 2 and first.poll() is None:
        seen |= {kept.stat().st_mtime_ns} if kept.exists() else set()
        time.sleep(0.01)
    first.kill()
    first.wait()
    done = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
    assert done["sha256"] == sha256 and done["notes"], done
    length = path.stat().st_size
    share = 100 * done["bytes"] / length
    print(
        f"\nkilled in the middle: {done['bytes']:,} of {length:,} bytes read again ({share:.0f} %)"
    )
    print("same digest")


def main(size: int = SIZE) -> None:
    for model in sorted(MODELS.glob("*.gguf")):
        if model.stat().st_size > LARGE:
            compare(model)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "large.gguf"
        make(path, size)
        kill_and_go_on(path, compare(path))


if __name__ == "__main__":
    if sys.argv[1:2] == ["--child"]:
        measure(*sys.argv[2:4])
    elif sys.argv[1:2] == ["--on"]:
        read_on(*sys.argv[2:4])
    else:
        main()
