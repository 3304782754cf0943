"""The full reference loader, in a capped subprocess: does a model load, and what does it say?

`python -m tests.loader PATH` loads one model for a tiny context and exits 0; a model it refuses
exits 1, one that makes it abort dies by a signal.
"""

import resource
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

MEMORY = 8 << 30
SECONDS = 60


class Loaded(NamedTuple):
    """``said`` is what the loader printed last."""

    ok: bool
    said: str


def load(path: Path) -> Loaded:
    """What the reference loader of llama.cpp says of a model."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.loader", str(path)],
        capture_output=True,
        text=True,
        errors="replace",
        timeout=SECONDS,
        check=False,
    )
    lines = [line for line in (done.stderr + done.stdout).splitlines() if "error" in line.lower()]
    return Loaded(done.returncode == 0, " | ".join(lines[:3])[:600])


def main() -> int:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    import xllamacpp

    parameters = xllamacpp.CommonParams()
    parameters.model.path = sys.argv[1]
    parameters.n_ctx = 64
    parameters.n_parallel = 1
    parameters.warmup = False
    parameters.cpuparams.n_threads = 1
    try:
        xllamacpp.Server(parameters)
    except RuntimeError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
