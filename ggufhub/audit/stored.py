"""Listings and the files of models as compressed JSON, for whoever works in steps."""

import json
import zlib
from collections.abc import Sequence
from typing import Any

from ggufhub.sources.base import Digest
from ggufhub.sources.listing import Entry, Listing, Problem


def pack_files(files: Sequence[Entry]) -> bytes:
    """The files of one model."""
    return _pack([_entry(file) for file in files])


def unpack_files(packed: bytes) -> tuple[Entry, ...]:
    return tuple(map(_entry_of, _unpack(packed)))


def pack_listing(listing: Listing) -> bytes:
    """A whole listing: what the rules about repositories look at."""
    return _pack(
        {
            "locator": listing.locator,
            "entries": [_entry(entry) for entry in listing.entries],
            "revision": listing.revision,
            "texts": listing.texts,
            "declared": listing.declared,
            "problems": [[problem.path, problem.message] for problem in listing.problems],
            "root": listing.root,
        }
    )


def unpack_listing(packed: bytes) -> Listing:
    told = _unpack(packed)
    told["entries"] = list(map(_entry_of, told["entries"]))
    told["problems"] = [Problem(path, message) for path, message in told["problems"]]
    return Listing(**told)


def _entry(entry: Entry) -> list[Any]:
    digests = [[digest.algorithm, digest.value, digest.basis] for digest in entry.digests]
    return [entry.path, entry.locator, entry.size, digests, entry.version, entry.named]


def _entry_of(told: list[Any]) -> Entry:
    path, locator, size, digests, version, named = told
    return Entry(path, locator, size, tuple(Digest(*d) for d in digests), version, named)


def _pack(value: Any) -> bytes:
    # Escaped: names of files on disk may hold undecodable bytes, which UTF-8 cannot carry.
    return zlib.compress(json.dumps(value, separators=(",", ":")).encode(), 1)


def _unpack(packed: bytes) -> Any:
    return json.loads(zlib.decompress(packed))
