"""The reference C reader, through ctypes, in a capped subprocess.

Its duplicate check is quadratic and it aborts on some inputs, so it never runs in the process
that asks. `python -m tests.reference LIMIT_SECONDS` reads file names from standard input and
answers one line each: ``ok`` or ``fail``; a missing answer means it aborted or ran out of time.
"""

import ctypes
import resource
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

MEMORY = 2 << 30
"""Bytes of address space the reference may use."""


class _Parameters(ctypes.Structure):
    """``struct gguf_init_params`` in ``gguf.h``."""

    _fields_ = (("no_alloc", ctypes.c_bool), ("context", ctypes.c_void_p))


class Reader:
    """``gguf_init_from_file`` of ggml-base."""

    def __init__(self) -> None:
        import libggml

        folder = Path(libggml.__file__).parent
        path = next(iter(sorted(folder.rglob("libggml-base.so*"))))
        self._library = ctypes.CDLL(str(path))
        self._library.gguf_init_from_file.restype = ctypes.c_void_p
        self._library.gguf_init_from_file.argtypes = (ctypes.c_char_p, _Parameters)
        self._library.gguf_free.argtypes = (ctypes.c_void_p,)
        self._library.ggml_validate_row_data.restype = ctypes.c_bool
        self._library.ggml_validate_row_data.argtypes = (
            ctypes.c_int,
            ctypes.c_void_p,
            ctypes.c_size_t,
        )
        self._silence()

    def _silence(self) -> None:
        kind = ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.c_char_p, ctypes.c_void_p)
        self._quiet = kind(lambda level, text, data: None)
        self._library.ggml_log_set(self._quiet, None)

    def accepts(self, path: str) -> bool:
        """Whether the container is read: keys, tensor table, offsets; no tensor data."""
        found = self._library.gguf_init_from_file(path.encode(), _Parameters(True, None))
        if not found:
            return False
        self._library.gguf_free(found)
        return True

    def valid(self, kind: int, address: int, length: int) -> bool:
        """Whether the ``length`` bytes at ``address``, of tensor type ``kind``, hold numbers
        (``ggml_validate_row_data``, which the loader calls with ``--check-tensors``)."""
        return bool(self._library.ggml_validate_row_data(kind, address, length))


def answers(paths: list[Path], seconds: int = 20) -> Iterator[bool | None]:
    """What the reference says of each file; None where it aborted or ran out of time."""
    left = list(paths)
    while left:
        command = [sys.executable, "-m", "tests.reference", str(seconds)]
        names = "".join(f"{path}\n" for path in left)
        done = subprocess.run(command, input=names, capture_output=True, text=True, check=False)
        lines = done.stdout.splitlines()[: len(left)]
        yield from (line == "ok" for line in lines)
        left = left[len(lines) :]
        if left:
            yield None
            left = left[1:]


def main() -> None:
    seconds = int(sys.argv[1])
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    reader = Reader()
    for line in sys.stdin:
        used = int(sum(resource.getrusage(resource.RUSAGE_SELF)[:2]))
        resource.setrlimit(resource.RLIMIT_CPU, (used + seconds, used + seconds + 1))
        print("ok" if reader.accepts(line.rstrip("\n")) else "fail", flush=True)


if __name__ == "__main__":
    main()
