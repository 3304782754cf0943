"""The files below a folder of this machine, without leaving it and without walking in circles."""

import os
from collections.abc import Iterator
from pathlib import Path

from ggufhub.errors import SourceError
from ggufhub.sources.listing import TEXT_BYTES, Collector, Entry, Interest, Listing

MOST_VISITED = 1_000_000
"""Directory entries looked at: a tree larger than this is no model repository."""


def list_folder(root: Path, interest: Interest) -> Listing:
    """Everything below ``root`` that matters, sorted by path.

    A symbolic link is followed where it stays below ``root``; each folder is visited once.
    ``SourceError('not_found')`` where there is no such folder.
    """
    if not root.is_dir():
        raise SourceError("not_found", f"There is no folder {root}.")
    listing = Listing(str(root))
    collector = Collector(listing, interest)
    walk = _Walk(root, collector)
    for path, found in walk.files():
        if not collector.add(_entry(path, found)):
            break
    listing.entries.sort(key=lambda entry: entry.path)
    for entry in listing.entries:
        if collector.wants_text(entry):
            _read_text(entry, listing)
    return listing


class _Walk:
    def __init__(self, root: Path, collector: Collector) -> None:
        self._root = os.path.realpath(root)
        self._collector = collector
        status = os.stat(self._root)
        self._seen = {(status.st_dev, status.st_ino)}
        self._visited = 0

    def files(self) -> Iterator[tuple[str, "os.DirEntry[str]"]]:
        """``(path below the root, entry)`` of every regular file, folder by folder."""
        waiting = [""]
        while waiting:
            below = waiting.pop()
            try:
                with os.scandir(os.path.join(self._root, below)) as entries:
                    for entry in entries:
                        self._visited += 1
                        if self._visited > MOST_VISITED:
                            message = f"Only the first {MOST_VISITED:,} entries were looked at."
                            self._collector.skip(below, message)
                            return
                        path = f"{below}/{entry.name}" if below else entry.name
                        if self._enters(entry, path):
                            waiting.append(path)
                        elif self._takes(entry, path):
                            yield path, entry
            except OSError as error:
                self._collector.skip(below or ".", f"It cannot be listed: {error.strerror}.")

    def _enters(self, entry: "os.DirEntry[str]", path: str) -> bool:
        try:
            if not entry.is_dir():
                return False
            if not self._inside(entry, path):
                return False
            status = entry.stat()
        except OSError:
            return False
        place = (status.st_dev, status.st_ino)
        if place in self._seen:
            return False
        self._seen.add(place)
        return True

    def _takes(self, entry: "os.DirEntry[str]", path: str) -> bool:
        try:
            return entry.is_file() and self._inside(entry, path)
        except OSError:
            return False

    def _inside(self, entry: "os.DirEntry[str]", path: str) -> bool:
        """Whether the entry, links resolved, is below the root; what is not is told."""
        if not entry.is_symlink():
            return True
        if is_below(entry.path, self._root):
            return True
        self._collector.skip(path, "The link leads out of the folder.")
        return False


def is_below(path: str, root: str) -> bool:
    """Whether ``path``, every symbolic link resolved, lies below ``root``."""
    real, top = os.path.realpath(path), os.path.realpath(root)
    return os.path.commonpath([real, top]) == top


def _entry(path: str, entry: "os.DirEntry[str]") -> Entry:
    """The entry; bytes of its name that are no UTF-8 are written out in ``path``."""
    path = os.fsencode(path).decode("utf-8", "backslashreplace")
    try:
        status = entry.stat()
    except OSError:
        return Entry(path, entry.path)
    return Entry(path, entry.path, status.st_size, version=str(status.st_mtime_ns))


def _read_text(entry: Entry, listing: Listing) -> None:
    try:
        data = Path(entry.locator).read_bytes()[:TEXT_BYTES]
    except OSError:
        return
    listing.texts[entry.path] = data.decode("utf-8", "replace")
