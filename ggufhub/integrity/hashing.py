"""Digests whose state can be written down, so that a pass over a large file can be taken up again.

The digests of ``hashlib`` cannot be copied out of a process. The plain functions of OpenSSL's
libcrypto below them can: ``SHA256_Init``, ``SHA256_Update``, ``SHA256_Final`` and their relatives
keep everything in a C struct of integers without a pointer (``openssl/sha.h``, ``openssl/md5.h``),
whose bytes are the state. They use the same code for the processor's SHA instructions as hashlib:
measured, both do 1.1 GB/s here. Libraries with a state of their own are several times slower,
because they lack those instructions, and nobody maintains them.

Where Python was built without that library (or before the functions go, which OpenSSL calls
deprecated since 3.0), hashlib does the work and there is no state.
"""

import ctypes
import hashlib
import ssl
import sys
from dataclasses import dataclass
from functools import cache
from typing import Protocol

import xxhash

XXH64 = "xxh64"

ALGORITHMS = ("md5", "sha1", "sha224", "sha256", "sha384", "sha512", "blake2b", XXH64)
"""What can be computed here. Anything else that somebody publishes is said to be unknown."""

PLATFORM = f"{ssl.OPENSSL_VERSION}, {sys.byteorder}, {ctypes.sizeof(ctypes.c_void_p)}"
"""A state is only good for the library that made it."""


class Digester(Protocol):
    """A digest that is being computed. ``update`` may be called from any thread, one at a time."""

    def update(self, data: memoryview, /) -> object: ...

    def hexdigest(self) -> str: ...


@dataclass(frozen=True, slots=True)
class _Kind:
    """Names of the functions in libcrypto, and bytes of the context and of the digest."""

    name: str
    context: int
    digest: int


_KINDS = {
    "md5": _Kind("MD5", 92, 16),
    "sha1": _Kind("SHA1", 96, 20),
    "sha224": _Kind("SHA224", 112, 28),
    "sha256": _Kind("SHA256", 112, 32),
    "sha384": _Kind("SHA384", 216, 48),
    "sha512": _Kind("SHA512", 216, 64),
}
"""Sizes of MD5_CTX, SHA_CTX, SHA256_CTX and SHA512_CTX on 32 and 64 bits alike."""

_SPARE = 64
"""Bytes behind a context that nobody should touch, in case a build of the library has more."""


class ResumableDigest:
    """A digest by OpenSSL's plain functions."""

    def __init__(self, algorithm: str, state: bytes | None = None) -> None:
        self._kind = _KINDS[algorithm]
        self._library = _library()
        self._context = ctypes.create_string_buffer(self._kind.context + _SPARE)
        if state is None:
            self._call("Init", self._context)
        elif len(state) != len(self._context):
            raise ValueError("this is no state of that digest")
        else:
            self._context.raw = state

    def update(self, data: memoryview, /) -> None:
        if len(data):
            first = (ctypes.c_char * len(data)).from_buffer(data)
            self._call("Update", self._context, first, ctypes.c_size_t(len(data)))

    def hexdigest(self) -> str:
        copy = ctypes.create_string_buffer(self.state(), len(self._context))
        out = ctypes.create_string_buffer(self._kind.digest)
        self._call("Final", out, copy)
        return out.raw.hex()

    def state(self) -> bytes:
        return self._context.raw

    def _call(self, what: str, *arguments: object) -> None:
        if getattr(self._library, f"{self._kind.name}_{what}")(*arguments) != 1:
            raise RuntimeError(f"OpenSSL refused {self._kind.name}_{what}")


@cache
def _library() -> ctypes.CDLL:
    """libcrypto, as Python's own ``_hashlib`` is linked with it."""
    import _hashlib

    return ctypes.CDLL(_hashlib.__file__)


@cache
def resumable(algorithm: str) -> bool:
    """Whether the digest can be taken up again here: tried, not believed."""
    if algorithm not in _KINDS:
        return False
    data = memoryview(bytearray(range(251)) * 3)
    try:
        first = ResumableDigest(algorithm)
        first.update(data[:300])
        second = ResumableDigest(algorithm, first.state())
        second.update(data[300:])
        found = second.hexdigest()
    except (ImportError, AttributeError, OSError, RuntimeError):
        return False
    return found == hashlib.new(algorithm, data, usedforsecurity=False).hexdigest()


def digester(algorithm: str, state: bytes | None = None) -> Digester:
    """A new digest, or one taken up at ``state``. ``ValueError`` where it has no such state."""
    if resumable(algorithm):
        return ResumableDigest(algorithm, state)
    if state is not None:
        raise ValueError(f"{algorithm} cannot be taken up here")
    if algorithm == XXH64:
        return xxhash.xxh64()
    return hashlib.new(algorithm, usedforsecurity=False)
