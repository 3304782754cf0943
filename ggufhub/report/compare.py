"""Compare: what changed from one model to another, from their two documents alone.

Weights are compared where every byte of both was read, by the XXH64 of each tensor's data. Else
two tensors of the same name, shape and type are the same here.
"""

import difflib
from collections.abc import Callable, Iterable
from typing import Any

from ggufhub.report.codec import Json

COMPARE_SCHEMA = "ggufhub.compare/1"

Document = dict[str, Json]

DIGEST = "xxh64"
"""What tells the data of two tensors apart: made against chance, not against intent."""

_CONTEXT = 3
"""Lines around a change in the difference of two templates."""


def compare(before: Document, after: Document) -> Document:
    """The differences, as a document. Each part lists what is in ``after`` but not in ``before``
    as added, the reverse as removed."""
    digests = _digests(before["tensors"]), _digests(after["tensors"])
    document: Document = {
        "schema": COMPARE_SCHEMA,
        "before": _about(before),
        "after": _about(after),
        "summary": _summary(before, after),
        "metadata": _parts(before["metadata"], after["metadata"], "key", _key_facts),
        "tensors": _parts(
            before["tensors"],
            after["tensors"],
            "name",
            _tensor_facts(digests[0].keys() & digests[1]),
        ),
        "weights": _weights(*digests),
        "types": _types(before["types"], after["types"]),
        "templates": _templates(before["templates"], after["templates"]),
        "findings": _findings(before["findings"], after["findings"]),
    }
    document["same"] = not any(
        _changes(document[part]) for part in ("metadata", "tensors", "types", "templates")
    )
    return document


def _changes(part: Any) -> bool:
    return any(part.values()) if isinstance(part, dict) else bool(part)


def _about(document: Document) -> Document:
    return {part: document[part] for part in ("source", "name", "kind", "verdict")}


def _summary(before: Document, after: Document) -> list[Document]:
    """The facts of the summary that differ, and the size, each with both values."""
    rows = [("size", _size(before), _size(after))]
    rows += [(name, before["summary"][name], after["summary"][name]) for name in before["summary"]]
    return [{"what": what, "before": old, "after": new} for what, old, new in rows if old != new]


def _size(document: Document) -> int | None:
    """Bytes of all files; None where one of them is unknown."""
    sizes = [file["size"] for file in document["files"]]
    return None if None in sizes else sum(sizes)


def _key_facts(entry: Document) -> Document:
    """Type and value; two long arrays are the same where their digests are."""
    return {part: entry[part] for part in ("type", "value", "text", "array") if part in entry}


def _tensor_facts(read: set[str]) -> Callable[[Document], Document]:
    """Shape, type and size, and the digest of the data of those ``read`` on both sides."""

    def facts(entry: Document) -> Document:
        found = {part: entry[part] for part in ("shape", "type", "bytes")}
        if entry["name"] in read:
            found[DIGEST] = entry["data"]["digests"][DIGEST]
        return found

    return facts


def _digests(tensors: list[Document]) -> dict[str, str]:
    """The digest of the data of each tensor of which every byte was read."""
    return {
        name: entry["data"]["digests"][DIGEST]
        for name, entry in _by(tensors, "name").items()
        if "data" in entry
    }


def _weights(old: dict[str, str], new: dict[str, str]) -> Document | None:
    """How many tensors hold other data than before, and which have another name now; None where
    not every byte of both models was read."""
    both = [name for name in new if name in old]
    if not old or not new:
        return None
    names = {digest: name for name, digest in reversed(old.items()) if name not in new}
    return {
        "compared": len(both),
        "changed": sum(old[name] != new[name] for name in both),
        "renamed": [
            {"before": names[digest], "after": name}
            for name, digest in new.items()
            if name not in old and digest in names
        ],
    }


def _by(entries: Iterable[Document], name: str) -> dict[str, Document]:
    """Entries by name; of two with one name the first, as readers take it."""
    found: dict[str, Document] = {}
    for entry in entries:
        found.setdefault(entry[name], entry)
    return found


def _parts(
    before: list[Document], after: list[Document], name: str, facts: Callable[[Document], Document]
) -> Document:
    """Entries added, removed and changed, in the order of their files."""
    old, new = _by(before, name), _by(after, name)
    return {
        "added": [{name: key, **facts(new[key])} for key in new if key not in old],
        "removed": [{name: key, **facts(old[key])} for key in old if key not in new],
        "changed": [
            {name: key, "before": facts(old[key]), "after": facts(new[key])}
            for key in new
            if key in old and facts(old[key]) != facts(new[key])
        ],
    }


def _types(before: list[Document], after: list[Document]) -> list[Document]:
    """Tensor types whose number of tensors or bytes differs; a missing side is null."""
    old, new = _by(before, "type"), _by(after, "type")
    names = dict.fromkeys([*new, *old])
    return [
        {"type": name, "before": _amount(old.get(name)), "after": _amount(new.get(name))}
        for name in names
        if _amount(old.get(name)) != _amount(new.get(name))
    ]


def _amount(share: Document | None) -> Document | None:
    return None if share is None else {part: share[part] for part in ("tensors", "bytes")}


def _templates(before: list[Document], after: list[Document]) -> list[Document]:
    """Templates that differ, each with a unified difference, a line an element."""
    old = {entry["name"]: entry["text"] for entry in before}
    new = {entry["name"]: entry["text"] for entry in after}
    return [
        {"name": name, "diff": _difference(old.get(name, ""), new.get(name, ""))}
        for name in dict.fromkeys([*old, *new])
        if old.get(name) != new.get(name)
    ]


def _difference(old: str, new: str) -> list[str]:
    lines = difflib.unified_diff(
        old.splitlines(), new.splitlines(), "before", "after", lineterm="", n=_CONTEXT
    )
    return list(lines)


def _findings(before: list[Document], after: list[Document]) -> Document:
    """Findings new and gone. File names differ between releases, so they do not count here."""
    old = {_subject(finding) for finding in before}
    new = {_subject(finding) for finding in after}
    return {
        "new": [finding for finding in after if _subject(finding) not in old],
        "gone": [finding for finding in before if _subject(finding) not in new],
    }


def _subject(finding: Document) -> tuple[str, str | None, str | None]:
    place = finding["place"]
    return finding["rule"], place.get("key"), place.get("tensor")
