"""A listing: the files of a repository, folder, bucket or list, before any of them is opened."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from ggufhub.limits import MIB
from ggufhub.sources.base import Digest

MOST_ENTRIES = 100_000
"""Files of one listing that are kept; an organisation of 1,000 repositories has about 20,000."""

MOST_PROBLEMS = 1_000

MOST_TEXTS = 2_000
TEXT_BYTES = 1 * MIB
"""Small texts read with a listing: cards, checksum files, signatures. A list of 10,000 digests
takes 800 KB."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One file. ``path`` is relative to the listing, with slashes; ``locator`` opens the file.

    ``size`` in bytes. ``version`` changes with the content (an ETag, a time of change), as far as
    the place tells; together with size and digests it says whether this is the file of last time.
    ``named`` marks what somebody asked for by its name: it is taken for a model whatever it is
    called.
    """

    path: str
    locator: str
    size: int | None = None
    digests: tuple[Digest, ...] = ()
    version: str | None = None
    named: bool = False

    @property
    def name(self) -> str:
        return self.path.rpartition("/")[2]

    @property
    def folder(self) -> str:
        """The folder it lies in, "" at the top."""
        return self.path.rpartition("/")[0]

    @property
    def sha256(self) -> str | None:
        """The declared SHA-256, where there is one."""
        return next((d.value for d in self.digests if d.algorithm == "sha256"), None)


@dataclass(frozen=True, slots=True)
class Problem:
    """Something in a listing that was left out, and why."""

    path: str
    message: str


@dataclass(slots=True)
class Listing:
    """``texts`` holds small texts by path (cards, checksum files, signatures); ``declared`` what
    a hub says about a repository; ``revision`` pins it; ``root`` is the folder all paths begin
    with."""

    locator: str
    entries: list[Entry] = field(default_factory=list)
    revision: str | None = None
    texts: dict[str, str] = field(default_factory=dict)
    declared: dict[str, object] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)
    root: str = ""

    def under(self, root: str) -> "Listing":
        """The same files under a folder: how one of several listings is told from the others."""
        return replace(
            self,
            entries=[replace(entry, path=f"{root}/{entry.path}") for entry in self.entries],
            texts={f"{root}/{path}": text for path, text in self.texts.items()},
            problems=[
                replace(problem, path=f"{root}/{problem.path}".rstrip("/"))
                for problem in self.problems
            ],
            root=root,
        )


@dataclass(frozen=True, slots=True)
class Interest:
    """What a listing is read for: ``keeps`` tells by its path whether an entry matters at all,
    ``reads`` whether it is a small text that is read at once."""

    keeps: Callable[[str], bool]
    reads: Callable[[str], bool]


class Collector:
    """Fills a listing within its bounds; what does not fit is a problem told once."""

    def __init__(self, listing: Listing, interest: Interest) -> None:
        self.listing = listing
        self.interest = interest
        self.full = False

    def add(self, entry: Entry) -> bool:
        """Take the entry if it matters; False once nothing more is taken."""
        if not entry.named and not self.interest.keeps(entry.path):
            return not self.full
        if len(self.listing.entries) >= MOST_ENTRIES:
            if not self.full:
                self.full = True
                self.skip(entry.path, f"Only the first {MOST_ENTRIES:,} files are looked at.")
            return False
        self.listing.entries.append(entry)
        return True

    def wants_text(self, entry: Entry) -> bool:
        """Whether the text of this entry is to be read."""
        small = entry.size is None or entry.size <= TEXT_BYTES
        return small and len(self.listing.texts) < MOST_TEXTS and self.interest.reads(entry.path)

    def skip(self, path: str, message: str) -> None:
        if len(self.listing.problems) < MOST_PROBLEMS:
            self.listing.problems.append(Problem(path, message))
