"""The full reference loader, in a capped subprocess: does a model load, and what does it say?

`python -m tests.loader PATH` loads one model for a tiny context, as a server would, and exits 0;
a model it refuses exits 1, one that makes it abort dies by a signal. `python -m tests.loader
--weights PATH` only reads keys and tensors, through the C interface, and names each tensor that
the loader asks for. It runs once for each model, so it loads nothing it does not need.
"""

import ctypes
import os
import re
import resource
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

MEMORY = 8 << 30
SECONDS = 60

_SAID = re.compile(r"error|ASSERT|abort", re.IGNORECASE)
_ASKED = re.compile(r"create_tensor: loading tensor (\S+)")


class Loaded(NamedTuple):
    """``said`` is what the loader printed about its refusal; ``asked`` the tensors it wanted."""

    ok: bool
    said: str
    asked: frozenset[str] = frozenset()


def load(path: Path) -> Loaded:
    """What the reference loader of llama.cpp says of a model: keys, tensors, first graph."""
    return _run(str(path))


def load_weights(path: Path) -> Loaded:
    """The same without a context: keys and tensors only."""
    return _run("--weights", str(path))


def _run(*arguments: str) -> Loaded:
    done = subprocess.run(
        [sys.executable, "-m", "tests.loader", *arguments],
        capture_output=True,
        text=True,
        errors="replace",
        timeout=SECONDS,
        check=False,
        cwd=Path(__file__).parents[1],
        # Without it an abort starts a debugger to print a backtrace: four seconds instead of none.
        env={**os.environ, "GGML_NO_BACKTRACE": "1"},
    )
    printed = done.stderr + done.stdout
    lines = [line for line in printed.splitlines() if _SAID.search(line)]
    asked = frozenset(_ASKED.findall(printed))
    return Loaded(done.returncode == 0, " | ".join(lines[:3])[:600], asked)


class _Parameters(ctypes.Structure):
    """Room for ``struct llama_model_params``; its fields are of no interest here."""

    _fields_ = (("room", ctypes.c_char * 256),)


def _weights(path: str) -> bool:
    import xllamacpp.xllamacpp as module

    library = ctypes.CDLL(module.__file__)
    library.llama_model_default_params.restype = _Parameters
    library.llama_model_load_from_file.restype = ctypes.c_void_p
    library.llama_model_load_from_file.argtypes = (ctypes.c_char_p, _Parameters)
    library.llama_backend_init()
    parameters = library.llama_model_default_params()
    return bool(library.llama_model_load_from_file(path.encode(), parameters))


def _serve(path: str) -> bool:
    import xllamacpp

    parameters = xllamacpp.CommonParams()
    parameters.model.path = path
    parameters.n_ctx = 64
    parameters.n_parallel = 1
    parameters.warmup = False
    parameters.cpuparams.n_threads = 1
    try:
        _kept.append(xllamacpp.Server(parameters))
    except RuntimeError as error:
        print(f"error: {error}", file=sys.stderr)
        return False
    return True


_kept: list[object] = []
"""Servers that are never taken down: the destructor may wait for a loop that has not begun."""


def main() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    loads = _weights if sys.argv[1] == "--weights" else _serve
    ok = loads(sys.argv[-1])
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0 if ok else 1)


if __name__ == "__main__":
    main()
