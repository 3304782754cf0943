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
from ggufhub.rules.model_samples import llama
from tests.core.reading import report
from tests.fuzz.differential import disagreements, loading_disagreements, tally
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


def run_loader(count: int, maker: random.Random) -> bool:
    """Mutants of the smallest whole model through the full loader; whether all agreed."""
    stream = mutants(llama(), ByteOrder.LITTLE, maker)
    with tempfile.TemporaryDirectory() as folder:
        found = loading_disagreements(list(islice(stream, count)), Path(folder))
    print(f"{count:,} mutants through the full loader, {len(found)} disagreements")
    for ours, said in found:
        print(f"  we: {', '.join(sorted(ours)) or 'sound'}; the loader: {said or 'loads'}")
    return not found


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
    parser.add_argument("--load", type=int, default=0, help="mutants for the full loader, too")
    options = parser.parse_args()
    if options.load and not run_loader(options.load, random.Random(options.seed)):
        return 1
    return 0 if run(options.count, random.Random(options.seed)) else 1


if __name__ == "__main__":
    sys.exit(main())
