"""From the files of a listing to models: shards together, quants of one model in one family."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from hashlib import sha256

from ggufhub.formats.model_names import MODEL, ModelName, is_quant, parse_model_name
from ggufhub.integrity.manifests import GENERAL_NAMES, OWN_SUFFIXES
from ggufhub.sources.listing import Entry, Interest

_PARTS = re.compile(
    r".+\.gguf(?:[.-]?(?:part|split)[._-]?(?:\d{1,4}(?:of\d{1,4})?|[a-z]{1,3})|\.\d{3})",
    re.IGNORECASE,
)
"""Pieces of a file cut at any byte, as ``split`` and old uploads made them."""

_NOT_MODELS = re.compile(r"(?:^|/)\.(?:cache|git)/")
"""What download tools keep for themselves."""


@dataclass(frozen=True, slots=True)
class Item:
    """One model: its files, the first shard first; ``family`` is the key its quants share,
    ``role`` what its name says it is for, ``quant`` the one its name or folder claims.
    """

    files: tuple[Entry, ...]
    family: str
    role: str = MODEL
    quant: str = ""

    @property
    def path(self) -> str:
        return self.files[0].path

    @property
    def size(self) -> int | None:
        """Bytes of all files; None where one of them is unknown."""
        sizes = [file.size for file in self.files]
        known = [size for size in sizes if size is not None]
        return sum(known) if len(known) == len(sizes) else None

    @property
    def missing(self) -> int:
        """Shards that its names promise and the listing lacks."""
        shard = parse_model_name(self.files[0].name).shard
        return 0 if shard is None else max(shard.shards - len(self.files), 0)

    @property
    def identity(self) -> str | None:
        """Changes whenever a file of the model does, as far as the listing tells; None where it
        tells too little to know."""
        marks = []
        for file in self.files:
            mark = file.sha256 or file.version
            if mark is None:
                return None
            marks.append(f"{file.path}\0{file.size}\0{mark}")
        return sha256("\0".join(marks).encode("utf-8", "surrogateescape")).hexdigest()


@dataclass(frozen=True, slots=True)
class Filter:
    """Which models of a listing are wanted. ``globs`` match path or name, any of them; ``tags``
    are quant labels; sizes are in bytes, and a model of unknown size is never left out.
    """

    globs: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    smallest: int | None = None
    largest: int | None = None

    def takes(self, item: Item) -> bool:
        first = item.files[0]
        named = any(
            fnmatchcase(first.path, glob) or fnmatchcase(first.name, glob) for glob in self.globs
        )
        if self.globs and not named:
            return False
        if self.tags and item.quant.upper() not in {tag.upper() for tag in self.tags}:
            return False
        size = item.size
        if size is None:
            return True
        return (self.smallest or 0) <= size and (self.largest is None or size <= self.largest)


@dataclass(slots=True)
class Groups:
    """What a listing holds: ``items`` in the order of their paths, and the byte-split ``parts``."""

    items: list[Item] = field(default_factory=list)
    parts: list[Entry] = field(default_factory=list)


def group(entries: Iterable[Entry]) -> Groups:
    """The models of a listing. Shards of one set are one model, under whichever folder they are."""
    groups = Groups()
    sets: dict[tuple[str, str, int], list[tuple[int, Entry]]] = {}
    for entry in sorted(entries, key=lambda entry: entry.path):
        if is_part(entry.path):
            groups.parts.append(entry)
            continue
        if not is_model(entry.path) and not entry.named:
            continue
        name = parse_model_name(entry.name)
        if name.shard is None:
            groups.items.append(_item((entry,), name))
            continue
        key = (entry.folder, name.shard.prefix, name.shard.shards)
        sets.setdefault(key, []).append((name.shard.number, entry))
    for numbered in sets.values():
        files = tuple(entry for _, entry in sorted(numbered, key=lambda pair: pair[0]))
        groups.items.append(_item(files, parse_model_name(files[0].name)))
    groups.items.sort(key=lambda item: item.path)
    return groups


def _item(files: tuple[Entry, ...], name: ModelName) -> Item:
    folders = files[0].folder.split("/") if files[0].folder else []
    quant = name.quant
    # A folder for each quant, or one named like the file, is no boundary between families.
    while folders and is_of_quant(folders[-1]):
        quant = quant or parse_model_name(folders[-1]).quant
        folders.pop()
    family = "/".join([*folders, name.family])
    return Item(files, family, name.role, quant)


def is_of_quant(folder: str) -> bool:
    """Whether a folder of this name holds one quant of a model."""
    return is_quant(folder) or folder.lower().endswith(".gguf")


def is_model(path: str) -> bool:
    """By name: GGUF, the older formats' usual names, and importance matrices."""
    if _NOT_MODELS.search(path):
        return False
    name = path.rpartition("/")[2].lower()
    legacy = name.startswith("ggml-") and name.endswith(".bin")
    return name.endswith(".gguf") or legacy or name == "imatrix.dat"


def is_part(path: str) -> bool:
    """Whether this is a piece of a file that somebody cut at a byte."""
    return _PARTS.fullmatch(path.rpartition("/")[2]) is not None


def is_manifest_name(name: str) -> bool:
    """Whether this is the name of a checksum file, whatever it speaks about."""
    lowered = name.lower()
    return lowered in GENERAL_NAMES or lowered.endswith(OWN_SUFFIXES)


def _is_text(path: str) -> bool:
    name = path.rpartition("/")[2]
    return name.lower() == "readme.md" or name.endswith(".sig") or is_manifest_name(name)


INTEREST = Interest(
    keeps=lambda path: is_model(path) or is_part(path) or _is_text(path), reads=_is_text
)
"""What an audit wants to know of a listing."""
