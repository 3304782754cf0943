"""Which file of a repository does ``llama.cpp -hf repo[:tag]`` load?

Follows ``common_download_get_hf_plan`` in ``common/download.cpp`` of llama.cpp 0c1e57098, quirks
included: the tag may match anywhere in the path, the first match in the listing wins, and the
words that mark side files are looked for in lower case only.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

DEFAULT_TAGS = ("Q4_K_M", "Q8_0")

PRESET = "preset.ini"

SIDE_WORDS = {
    "mmproj": "mmproj",
    "mtp": "mtp-",
    "dflash": "dflash-",
    "eagle3": "eagle3-",
    "dspark": "dspark-",
}
"""Side files by kind, with the word in their path that marks them."""

_NOT_MODELS = (*SIDE_WORDS.values(), "imatrix")
_SPLIT = re.compile(r"(.+)-([0-9]{5})-of-([0-9]{5})", re.IGNORECASE | re.DOTALL)
_TAG = re.compile(r"[-.]([A-Z0-9_]+)$", re.IGNORECASE)
_DIGITS = re.compile(r"[0-9]{1,9}")


@dataclass(frozen=True, slots=True)
class Plan:
    """What is loaded: ``primary`` ("" for nothing) with its ``shards``, and the side files.

    ``why`` completes "this file was chosen because …".
    """

    primary: str = ""
    why: str = ""
    shards: tuple[str, ...] = ()
    sides: dict[str, str] = field(default_factory=dict)
    preset: bool = False


def choose(paths: Sequence[str], tag: str = "", file: str = "") -> Plan:
    """The plan for a listing, with every side file there is to find."""
    if PRESET in paths:
        return Plan(preset=True, why=f"the repository holds {PRESET}, which llama.cpp follows")
    if file:
        primary, why = (file, "it was asked for") if file in paths else ("", "")
        if not primary:
            return Plan()
    else:
        primary, why = _best_model(paths, tag)
    shards = tuple(_shards(paths, primary)) if primary else ()
    sides = {
        kind: found
        for kind, word in SIDE_WORDS.items()
        if (primary or kind != "mmproj")
        and (found := _best_side(paths, primary, word, "" if kind == "mmproj" else tag))
    }
    return Plan(primary, why, shards, sides)


def models(paths: Iterable[str]) -> list[str]:
    """The paths that may be chosen: models, and of split ones the first shard."""
    return [path for path in paths if _is_model(path) and _split(path)[1] == 1]


def _best_model(paths: Sequence[str], tag: str) -> tuple[str, str]:
    candidates = models(paths)
    for wanted in (tag,) if tag else DEFAULT_TAGS:
        pattern = re.compile(re.escape(wanted) + "[.-]", re.IGNORECASE)
        for path in candidates:
            if pattern.search(path):
                why = f"it is the first that matches {wanted}"
                return path, why if tag else f"{why}, the default"
    if candidates and not tag:
        defaults = " or ".join(DEFAULT_TAGS)
        return candidates[0], f"it is the first model, and none matches {defaults}"
    return "", ""


def _is_model(path: str) -> bool:
    name = path.rpartition("/")[2]
    return path.endswith(".gguf") and not any(word in name for word in _NOT_MODELS)


def _split(path: str) -> tuple[str, int, int]:
    """Prefix, number and count of a shard; number and count are 1 for a whole file."""
    stem = path.removesuffix(".gguf")
    match = _SPLIT.fullmatch(stem)
    return (match[1], int(match[2]), int(match[3])) if match else (stem, 1, 1)


def _shards(paths: Sequence[str], primary: str) -> list[str]:
    prefix, _, count = _split(primary)
    if count <= 1:
        return [primary]
    return [path for path in paths if _split(path)[::2] == (prefix, count)]


def _bits(text: str) -> int:
    """``8`` for Q8_0: the first number in the tag."""
    digits = _DIGITS.search(text)
    return int(digits[0]) if digits else 0


def _name_tag(path: str) -> str:
    match = _TAG.search(_split(path)[0]) if path.endswith(".gguf") else None
    return match[1] if match else ""


def _best_side(paths: Sequence[str], primary: str, word: str, tag: str) -> str:
    """The side file nearest to the model: deepest shared folder, exact tag, closest bits."""
    folder = primary.split("/")[:-1]
    bits = _bits(tag) if tag else _bits(_name_tag(primary))
    best, best_rank = "", (-1, False, 0)
    for path in paths:
        parts = path.split("/")[:-1]
        if not path.endswith(".gguf") or word not in path or folder[: len(parts)] != parts:
            continue
        exact = bool(tag) and f"-{tag}.".upper() in path.upper()
        rank = (len(parts), exact, -abs(_bits(_name_tag(path)) - bits))
        if not best or rank > best_rank:
            best, best_rank = path, rank
    return best
