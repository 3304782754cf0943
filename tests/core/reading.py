"""Reading bytes in tests."""

from ggufhub.errors import SourceError
from ggufhub.formats.gguf import read_gguf
from ggufhub.formats.header import Header
from ggufhub.limits import HEADER, Limits
from ggufhub.report.build import inspect
from ggufhub.report.document import Report
from ggufhub.rules.policy import Policy
from ggufhub.sources.base import ByteSource, Identity
from ggufhub.sources.window import Window


class MemorySource(ByteSource):
    """Files in memory, by name; ``sized=False`` plays a server that does not tell the size."""

    def __init__(self, name: str, files: dict[str, bytes], *, sized: bool = True) -> None:
        super().__init__(name)
        self.name = name
        self.files = files
        self.sized = sized

    @property
    def identity(self) -> Identity:
        size = len(self.files[self.name]) if self.sized else None
        return Identity(self.locator, self.name, size)

    def readinto(self, offset: int, buffer: memoryview) -> int:
        part = self.files[self.name][offset : offset + len(buffer)]
        buffer[: len(part)] = part
        self.reads.add(len(part))
        return len(part)

    def sibling(self, name: str) -> "MemorySource":
        if name not in self.files:
            raise SourceError("not_found", f"There is no {name}.")
        return MemorySource(name, self.files, sized=self.sized)

    def sibling_names(self) -> list[str]:
        return sorted(self.files)

    def close(self) -> None:
        pass


def source_of(data: bytes, name: str = "model.gguf", *, sized: bool = True) -> MemorySource:
    return MemorySource(name, {name: data}, sized=sized)


def read(data: bytes, limits: Limits | None = None, *, sized: bool = True) -> Header:
    return read_gguf(Window(source_of(data, sized=sized), limits or Limits()))


def report(
    data: bytes | dict[str, bytes],
    limits: Limits | None = None,
    policy: Policy | None = None,
    depth: str = HEADER,
) -> Report:
    """A report on one file, or on a set of files of which the first is opened."""
    files = data if isinstance(data, dict) else {"model.gguf": data}
    source = MemorySource(next(iter(files)), files)
    return inspect(source, limits=limits, policy=policy, depth=depth)


def rules_hit(result: Report) -> set[str]:
    return {finding["rule"] for finding in result.document["findings"]}
