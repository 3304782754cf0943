"""Where the bytes of a file lie: the document's layout as segments of a bar, and as rows."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from viewer.svg import Segment

MOST_SEGMENTS = 240
"""Segments of the detailed map; more would be narrower than a pixel on a phone."""

CSS = {
    "header": "m-h", "key": "m-h", "tensor table": "m-t", "padding": "m-p", "tensor": "m-d",
    "gap": "m-x", "overlap": "m-x", "trailing": "m-x", "missing": "m-x",
}  # fmt: skip
IN_HEADER = frozenset({"header", "key", "tensor table"})
"""What comes before the data."""

_PLURALS = {"gap": "gaps", "overlap": "overlaps"}
_EMBEDDINGS = {"token_embd", "output"}


def overview(document: dict[str, Any]) -> list[Segment]:
    """Header, embeddings, blocks, other tensors, and whatever should not be there, summed."""
    roles = {tensor["name"]: tensor for tensor in document["tensors"]}
    blocks = {tensor["block"] for tensor in document["tensors"]} - {None}
    sums: dict[str, int] = {}
    for piece in document["layout"]:
        group = _group(piece, roles)
        sums[group] = sums.get(group, 0) + (piece["length"])
    named = f"{len(blocks)} block{'' if len(blocks) == 1 else 's'}"
    colours = {
        "header": "m-h", "embeddings": "m-e", "blocks": "m-d", "other tensors": "m-o",
        "padding": "m-p", "gaps": "m-x", "overlaps": "m-x", "trailing": "m-x", "missing": "m-x",
    }  # fmt: skip
    return [
        Segment(named if group == "blocks" else group, sums[group], css)
        for group, css in colours.items()
        if sums.get(group)
    ]


def _group(piece: dict[str, Any], roles: dict[str, dict[str, Any]]) -> str:
    what = piece["what"]
    if what in IN_HEADER:
        return "header"
    if what == "tensor":
        tensor = roles.get(piece["name"])
        if tensor is None:
            return "other tensors"
        if tensor["block"] is not None:
            return "blocks"
        return "embeddings" if tensor["role"] in _EMBEDDINGS else "other tensors"
    return _PLURALS.get(what, what)


def detailed(
    layout: list[dict[str, Any]], begin: int, end: int, link: Callable[[int], str]
) -> list[Segment]:
    """The pieces between two bytes in file order, neighbours of one kind merged until few enough
    remain. ``link(offset)`` is the address of a byte.
    """
    merged: list[Segment] = []
    least = (end - begin) / MOST_SEGMENTS
    for piece in layout:
        start, stop = max(piece["offset"], begin), min(piece["offset"] + piece["length"], end)
        if stop <= start:
            continue
        css = CSS.get(piece["what"], "m-o")
        size = stop - start
        last = merged[-1] if merged else None
        if last and last.css == css and last.size + size < least:
            merged[-1] = replace(last, size=last.size + size)
        else:
            merged.append(Segment(piece["name"] or piece["what"], size, css, link(start)))
    return merged[: 4 * MOST_SEGMENTS]


def index_at(layout: list[dict[str, Any]], offset: int) -> int | None:
    """The index of the piece that holds byte ``offset``, or of the last one before it.

    Pieces may overlap; the last that holds the byte says most (a missing end over its tensor).
    """
    before = [index for index, piece in enumerate(layout) if piece["offset"] <= offset]
    holding = (i for i in reversed(before) if offset < layout[i]["offset"] + layout[i]["length"])
    return next(holding, before[-1] if before else None)
