"""`make fuzz`: many mutants of six seeds through the whole core, and against the reference.

Prints per seed the mutants read, what was uncaught (none may be), the slowest, the peak memory,
and every kind of difference from the reference. Exit code 1 on anything uncaught or unexplained.
"""

import argparse
import random
import resource
import sys
import tempfile
import time
from collections import Counter
from itertools import islice
from pathlib import Path

from ggufhub.formats.values import ByteOrder
from tests.core.reading import report
from tests.fuzz.differential import disagreements, tally
from tests.fuzz.mutants import VARIANTS, mutants, seed

BATCH = 2_000


def run(count: int, maker: random.Random) -> bool:
    """Fuzz with ``count`` mutants in all; whether all went well."""
    good, explained = True, Counter[str]()
    for version, order in VARIANTS:
        stream = mutants(seed(version, order), order, maker)
        slowest, verdicts, left = 0.0, Counter[str](), count // len(VARIANTS)
        while left > 0:
            batch = list(islice(stream, min(BATCH, left)))
            left -= len(batch)
            for data in batch:
                began = time.perf_counter()
                verdicts[report(data).verdict] += 1
                slowest = max(slowest, time.perf_counter() - began)
            if order is ByteOrder.LITTLE and version > 1:
                good &= _compare(batch, explained)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(
            f"v{version} {order.value:<6} {sum(verdicts.values()):>8,} mutants  "
            f"slowest {slowest * 1000:.0f} ms  peak {peak:.0f} MiB  {dict(verdicts)}"
        )
    for why, number in explained.most_common():
        print(f"{number:>8,} differences: {why}")
    return good


def _compare(batch: list[bytes], explained: Counter[str]) -> bool:
    with tempfile.TemporaryDirectory() as folder:
        counts, unexplained = tally(disagreements(batch, Path(folder)))
    explained.update(counts)
    for number, data in enumerate(unexplained):
        Path(f"fuzz-unexplained-{number}.gguf").write_bytes(data)
    return not unexplained


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz")
    parser.add_argument("count", type=int, nargs="?", default=100_000)
    parser.add_argument("--seed", type=int, default=75)
    options = parser.parse_args()
    return 0 if run(options.count, random.Random(options.seed)) else 1


if __name__ == "__main__":
    sys.exit(main())
