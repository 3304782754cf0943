"""Repository: what the rules about many models at once judge. Plain facts, no headers: a
repository may hold ten thousand models, and what is kept of each is a few hundred bytes.
"""

from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from ggufhub.formats.kind import MMPROJ, MODEL
from ggufhub.integrity.manifests import Manifest
from ggufhub.integrity.signatures import Signed
from ggufhub.rules.registry import Severity
from ggufhub.sources.listing import Entry


@dataclass(frozen=True, slots=True)
class Member:
    """What is kept of one inspected model. A fact the model does not give is None or empty.

    ``quant`` is what name or folder claims, ``label`` what ``general.file_type`` names,
    ``main_type`` the tensor type most weights have. ``tokenizer``, ``template`` and
    ``tensor_set`` are digests; ``special`` and ``context`` are the keys of special tokens, and of
    context length and rope, with their values; ``origin`` the keys that say where it comes from.
    ``bases`` are the models it was made from, as ``owner/name``. ``files`` have the digests that
    the listing declares and those that were computed. ``projection`` is the width of a
    projector's output, ``error`` why it could not be read.
    """

    path: str
    family: str
    role: str
    files: tuple[Entry, ...] = ()
    kind: str = MODEL
    error: str | None = None
    quant: str = ""
    label: str | None = None
    main_type: str | None = None
    architecture: str | None = None
    parameters: int | None = None
    tensors: int | None = None
    tokenizer: str | None = None
    template: str | None = None
    tensor_set: str | None = None
    special: Mapping[str, Any] = field(default_factory=dict)
    context: Mapping[str, Any] = field(default_factory=dict)
    origin: Mapping[str, Any] = field(default_factory=dict)
    license: str | None = None
    bases: tuple[str, ...] = ()
    embedding: int | None = None
    projection: int | None = None

    @property
    def folder(self) -> str:
        return self.path.rpartition("/")[0]

    @property
    def name(self) -> str:
        return self.path.rpartition("/")[2]


@dataclass(frozen=True, slots=True)
class Card:
    """What the card of a repository (the head of its README) declares."""

    path: str
    license: str | None = None
    base_models: tuple[str, ...] = ()


@dataclass
class Repository:
    """Every model of a repository and what its listing holds beside them.

    ``manifests`` are checksum files and ``signatures`` those of models, each by path;
    ``declared`` is what the hub itself says about the repository, ``parts`` the pieces of files
    that were cut at a byte.
    """

    members: list[Member]
    files: list[Entry] = field(default_factory=list)
    manifests: dict[str, Manifest] = field(default_factory=dict)
    signatures: dict[str, Signed] = field(default_factory=dict)
    cards: list[Card] = field(default_factory=list)
    declared: Mapping[str, Any] = field(default_factory=dict)
    parts: list[Entry] = field(default_factory=list)

    @property
    def stored(self) -> Iterator[Entry]:
        """The files of all models, with every digest known of them."""
        for member in self.members:
            yield from member.files

    @cached_property
    def families(self) -> dict[str, list[Member]]:
        """The readable text models by family: the quants that ought to agree."""
        found: dict[str, list[Member]] = {}
        for member in self.members:
            if member.kind == MODEL and member.role == MODEL and member.error is None:
                found.setdefault(member.family, []).append(member)
        return {family: members for family, members in found.items() if len(members) > 1}

    @cached_property
    def projectors(self) -> list[Member]:
        return [member for member in self.members if member.kind == MMPROJ]

    def card(self, folder: str) -> Card | None:
        """The card that speaks for a folder: in it or in the nearest folder above."""
        by_folder = {card.path.rpartition("/")[0]: card for card in self.cards}
        while folder and folder not in by_folder:
            folder = folder.rpartition("/")[0]
        return by_folder.get(folder)


@dataclass(frozen=True, slots=True)
class RepositoryHit:
    """One disagreement; ``paths`` are the files it is about, the one to look at first."""

    message: str
    paths: tuple[str, ...]
    expected: str | None = None
    actual: str | None = None
    severity: Severity | None = None


RepositoryCheck = Callable[[Repository], Iterator[RepositoryHit]]


def odd_ones(
    members: list[Member], fact: Callable[[Member], Hashable]
) -> tuple[Member, list[Member]] | None:
    """A member that speaks for most of ``members``, and those whose ``fact`` is another.

    Members without the fact (None) do not count. Where no value has a majority the first member,
    by path, speaks. None where all agree.
    """
    known = [member for member in members if fact(member) is not None]
    counts = Counter(fact(member) for member in known)
    if len(counts) < 2:
        return None
    most = counts.most_common(1)[0][0]
    speaker = next(member for member in known if fact(member) == most)
    return speaker, [member for member in known if fact(member) != most]


def frozen(values: Mapping[str, Any]) -> tuple[tuple[str, str], ...] | None:
    """A mapping as something to compare; None for an empty one."""
    return tuple(sorted((key, str(value)) for key, value in values.items())) or None


def difference(known: Mapping[str, Any], other: Mapping[str, Any]) -> tuple[str, str]:
    """The entries in which two mappings differ, as text: those of the first, of the second."""
    keys = [key for key in sorted({*known, *other}) if known.get(key) != other.get(key)]
    return _shown(known, keys), _shown(other, keys)


def _shown(values: Mapping[str, Any], keys: list[str]) -> str:
    return ", ".join(f"{key} {values.get(key, 'absent')}" for key in keys)


MOST_PATHS = 5
"""Paths in one message, and in one hit."""


def listed(names: list[str]) -> str:
    """The first names, and how many more there are."""
    more = len(names) - MOST_PATHS
    return ", ".join(names[:MOST_PATHS]) + (f" and {more:,} more" if more > 0 else "")


def inside(beside: str, path: str) -> str | None:
    """``path`` as seen from the folder that ``beside`` lies in; None where it is outside."""
    folder = beside.rpartition("/")[0]
    if not folder:
        return path
    return path.removeprefix(f"{folder}/") if path.startswith(f"{folder}/") else None
