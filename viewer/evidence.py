"""Digests of files and who gives them, and the signature beside a model, in words."""

from dataclasses import dataclass
from typing import Any

from ggufhub.integrity.beside import COMPUTED

_STANDINGS = {
    "verified": ("pass", "The signature is good"),
    "not verified": ("", "The signature itself was not checked"),
    "bad": ("fail", "The signature is bad"),
}
"""How ``standing`` begins, the class of a tag, and what it means."""


@dataclass(frozen=True, slots=True)
class Given:
    """One digest of a file: who gives it, and whether all bytes have it (None: nobody looked, or
    it is the computed one that stands alone)."""

    algorithm: str
    value: str
    bases: list[str]
    agrees: bool | None


def digests(file: dict[str, Any]) -> list[Given]:
    """The digests of a file of the document, those that are equal as one."""
    groups: dict[tuple[str, str], list[str]] = {}
    for digest in file["digests"]:
        groups.setdefault((digest["algorithm"], digest["value"]), []).append(digest["basis"])
    computed = {algorithm for (algorithm, _), bases in groups.items() if COMPUTED in bases}
    return [
        Given(algorithm, value, bases, _agrees(bases, algorithm in computed))
        for (algorithm, value), bases in groups.items()
    ]


def _agrees(bases: list[str], computed: bool) -> bool | None:
    if COMPUTED in bases:
        return True if len(bases) > 1 else None
    return False if computed else None


@dataclass(frozen=True, slots=True)
class Standing:
    """What is known of a signature: a class, what it means, and what the checker said."""

    css: str
    words: str
    said: str


def standing(signature: dict[str, Any]) -> Standing:
    """In words that claim no more than what was checked."""
    how, _, said = signature["standing"].partition(": ")
    css, words = _STANDINGS[how]
    return Standing(css, words, said)
