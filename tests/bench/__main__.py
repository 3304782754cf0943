"""`make bench`: CPU time of reading a header, side by side with its peers, in one run.

Each reader runs in a process of its own, takes turns with the others, and reads from the page
cache. Reported: the median CPU milliseconds of one read, the peak memory of the process, and the
ratio to the reference's own C reader. Imports are not counted; starting a process is, below.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from tests.bench.attacks import ATTACKS
from tests.corpus import SHARED

ROUNDS = 7
"""Reads by each reader and file; the first of each process is a warm-up."""

MODELS = ("ggml-vocab-gemma-4.gguf", "ggml-vocab-llama-bpe.gguf")

Read = Callable[[str], object]


def _ours() -> Read:
    from ggufhub.formats import string_index  # noqa: F401  (a first use would import it)
    from ggufhub.formats.gguf import read_gguf
    from ggufhub.limits import Limits
    from ggufhub.sources.file import FileSource
    from ggufhub.sources.window import Window

    return lambda path: read_gguf(Window(FileSource(Path(path)), Limits()))


def _reference() -> Read:
    from tests.reference import Reader

    return Reader().accepts


def _report() -> Read:
    from ggufhub.report.build import inspect
    from ggufhub.sources.file import FileSource

    return lambda path: inspect(FileSource(Path(path)))


def _modelvet() -> Read:
    import modelvet

    return modelvet.verify_path


def _gguf_py() -> Read:
    from gguf import GGUFReader

    return GGUFReader


READERS: dict[str, tuple[Callable[[], Read], int]] = {
    "reference": (_reference, ROUNDS),
    "ggufhub": (_ours, ROUNDS),
    "modelvet": (_modelvet, ROUNDS),
    "gguf-py": (_gguf_py, 1),
    "whole report": (_report, 1),
}
"""Readers by name, with the rounds each gets: gguf-py needs about 20 seconds for one."""


def measure(reader: str, path: str, rounds: int) -> None:
    """Child: print CPU milliseconds of each round and peak memory in MiB as JSON."""
    read = READERS[reader][0]()
    spent = []
    for _ in range(rounds + (rounds > 1)):
        began = time.process_time()
        read(path)
        spent.append((time.process_time() - began) * 1000)
    print(json.dumps({"ms": spent[1:] or spent, "mib": peak()}))


def peak() -> float:
    """Peak memory of this process in MiB (``ru_maxrss`` would count the parent's as well)."""
    status = Path("/proc/self/status").read_text()
    line = next(line for line in status.splitlines() if line.startswith("VmHWM"))
    return int(line.split()[1]) / 1024


def _child(reader: str, path: Path, rounds: int) -> dict:
    command = [sys.executable, "-m", "tests.bench", "--child", reader, str(path), str(rounds)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return dict(json.loads(done.stdout))


def header_walk(models: list[Path], readers: list[str]) -> None:
    print(f"{'header walk':<28} {'reader':<10} {'CPU ms':>10} {'peak MiB':>9} {'x reference':>12}")
    for path in models:
        medians: dict[str, float] = {}
        for reader in readers:
            result = _child(reader, path, READERS[reader][1])
            medians[reader] = statistics.median(result["ms"])
            ratio = medians[reader] / medians["reference"]
            print(
                f"{path.name:<28} {reader:<10} {medians[reader]:>10.1f} "
                f"{result['mib']:>9.0f} {ratio:>12.2f}"
            )


def attacks() -> None:
    """Whole reports on files made to exhaust readers; the aim is 2 s and 200 MiB each."""
    print(f"\n{'attack file':<28} {'CPU ms':>10} {'peak MiB':>9}")
    with tempfile.TemporaryDirectory() as folder:
        for name, make in ATTACKS.items():
            path = Path(folder) / "attack.gguf"
            path.write_bytes(make())
            result = _child("whole report", path, 1)
            print(f"{name:<28} {result['ms'][0]:>10.1f} {result['mib']:>9.0f}")


def cold_start(path: Path) -> None:
    """Wall time of `ggufhub show` from process start, median of ten."""
    spent = []
    for _ in range(10):
        began = time.perf_counter()
        command = [sys.executable, "-m", "ggufhub.cli", "show", str(path)]
        subprocess.run(command, capture_output=True, check=True)
        spent.append((time.perf_counter() - began) * 1000)
    print(f"\n`ggufhub show` of {path.name} from process start: {statistics.median(spent):.0f} ms")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench")
    parser.add_argument("--child", nargs=3, metavar=("READER", "PATH", "ROUNDS"))
    parser.add_argument("--quick", action="store_true", help="leave gguf-py out")
    options = parser.parse_args()
    if options.child:
        measure(options.child[0], options.child[1], int(options.child[2]))
        return
    left_out = {"whole report", "gguf-py"} if options.quick else {"whole report"}
    readers = [name for name in READERS if name not in left_out]
    attacks()
    header_walk([SHARED / "models" / name for name in MODELS], readers)
    cold_start(SHARED / "corpus" / "model" / "tiny-F16.gguf")


if __name__ == "__main__":
    main()
