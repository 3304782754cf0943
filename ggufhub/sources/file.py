"""A file on this machine, read by position: not mapped, so a file that shrinks is harmless."""

import os
import stat
from pathlib import Path

from ggufhub.errors import SourceChanged, SourceError
from ggufhub.sources.base import ByteSource, Identity


class FileSource(ByteSource):
    """A local file. ``SourceError`` codes: not_found, forbidden, not_a_file, unreadable."""

    def __init__(self, path: Path, *, name: str | None = None) -> None:
        super().__init__(str(path))
        self.path = path
        self._name = path.name if name is None else name
        self._descriptor = _open(path)
        self._stat = os.fstat(self._descriptor)

    @property
    def identity(self) -> Identity:
        return Identity(
            locator=self.locator,
            name=self._name,
            size=self._stat.st_size,
            last_modified=str(self._stat.st_mtime_ns),
        )

    def readinto(self, offset: int, buffer: memoryview) -> int:
        done = 0
        try:
            while done < len(buffer):
                count = os.preadv(self._descriptor, [buffer[done:]], offset + done)
                if count == 0:
                    break
                done += count
        except OSError as error:
            message = f"Reading {self._name} failed: {error.strerror}."
            raise SourceError("unreadable", message) from error
        self.reads.add(done)
        if done < len(buffer) and offset + done < self._stat.st_size:
            raise SourceChanged
        return done

    def sibling(self, name: str) -> "FileSource":
        if Path(name).name != name:
            raise SourceError("not_found", "A sibling is a plain file name.")
        found = FileSource(self.path.with_name(name))
        found.reads = self.reads
        return found

    def sibling_names(self) -> list[str]:
        try:
            return sorted(entry.name for entry in os.scandir(self.path.parent) if entry.is_file())
        except OSError:
            return []

    def check_unchanged(self) -> None:
        now = os.fstat(self._descriptor)
        if (now.st_size, now.st_mtime_ns) != (self._stat.st_size, self._stat.st_mtime_ns):
            raise SourceChanged

    def reset(self) -> None:
        """Open the path again: the file there may be another one by now."""
        self.close()
        self._descriptor = _open(self.path)
        self._stat = os.fstat(self._descriptor)

    def close(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1


def _open(path: Path) -> int:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except FileNotFoundError as error:
        raise SourceError("not_found", f"There is no file {path}.") from error
    except PermissionError as error:
        raise SourceError("forbidden", f"The file {path} may not be read.") from error
    except (OSError, ValueError) as error:
        raise SourceError("unreadable", f"The file {path} cannot be opened.") from error
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise SourceError("not_a_file", f"{path} is not a regular file.")
    return descriptor
