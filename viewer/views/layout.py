"""The Layout tab: the map of a file to scale, and the bytes of any place with what they mean."""

import re
from dataclasses import asdict
from typing import Any
from uuid import UUID

from django.http import HttpRequest

from ggufhub.hub import headers, selectors
from ggufhub.hub.models import Inspection
from viewer import filemap, hexdump, paths, svg
from viewer.fields import Field, Meaning, field_at
from viewer.paging import LARGEST_INDEX, Page, whole_number
from viewer.present import layout_of
from viewer.zoom import Stretch

ROWS = 200
NOT_KEPT = "Nothing of this file is kept here. Inspect it again to see its bytes."
NOT_READ = "This place was not read: only headers are, and the data of tensors is not kept."
_HEXADECIMAL = re.compile(r"0[xX]([0-9a-fA-F]{1,16})")


def layout(request: HttpRequest, row: Inspection) -> dict[str, Any]:
    """Context of the tab. ``?at=`` is the byte shown, ``?file=`` one of several files,
    ``?from=&to=`` the stretch on the map, ``?length=`` how many bytes from ``at`` are meant."""
    document = selectors.document(row.report)
    names = [file["name"] for file in document["files"]]
    asked = request.GET.get("file", "")
    file = asked if asked in names else names[0]
    pieces = layout_of(document, file)
    at = _asked_place(request, document, file, pieces)
    context = {
        "file": file,
        "files": names if len(names) > 1 else [],
        "at": at,
        "asked_at": request.GET.get("at", ""),
        **_map(request, row.pk, document, pieces, file, at),
        **_places(request, row.pk, pieces, at),
    }
    if pieces:
        context |= _bytes(request, row, document, pieces, file, at or 0)
    return context


def _asked_place(
    request: HttpRequest, document: dict[str, Any], file: str, pieces: list[dict[str, Any]]
) -> int | None:
    """The byte asked for: by its number, or as the data of ``?tensor=``."""
    name = request.GET.get("tensor")
    if name is not None:
        named = (piece for piece in pieces if piece["what"] == "tensor" and piece["name"] == name)
        return next((piece["offset"] for piece in named), None)
    return byte_number(request.GET.get("at"))


def byte_number(text: str | None) -> int | None:
    """A byte as people write it, ``4096`` or ``0x1000``; None for anything else."""
    match = _HEXADECIMAL.fullmatch(text.strip()) if text else None
    if match:
        return min(int(match[1], 16), LARGEST_INDEX)
    return whole_number(text.strip().replace(",", "") if text else None, None)


def _map(
    request: HttpRequest,
    inspection_id: UUID,
    document: dict[str, Any],
    pieces: list[dict[str, Any]],
    file: str,
    at: int | None,
) -> dict[str, Any]:
    end = max((piece["offset"] + piece["length"] for piece in pieces), default=0)
    asked = (whole_number(request.GET.get(name), None) for name in ("from", "to"))
    shown = Stretch.of(*asked, end)
    fixed = {"file": file} if len(document["files"]) > 1 else {}

    def link(offset: int) -> str:
        near = {} if shown.whole else {"from": shown.begin, "to": shown.end}
        return paths.tab(inspection_id, "layout", "at", **fixed, **near, at=offset)

    def stretch(one: Stretch) -> str:
        place = {} if at is None else {"at": at}
        near = {} if one.whole else {"from": one.begin, "to": one.end}
        return paths.tab(inspection_id, "layout", "layout", **fixed, **near, **place)

    header = next((p["offset"] for p in pieces if p["what"] not in filemap.IN_HEADER), None)
    segments = filemap.detailed(pieces, shown.begin, shown.end, link)
    mark = None if at is None else at - shown.begin
    return {
        "map": svg.bar(segments, "Map of the file, to scale", height=34, least=1.5, mark=mark),
        "shown": shown,
        "steps": [(name, stretch(one)) for name, one in shown.steps(at, header)],
        "kept": {**fixed, **({} if shown.whole else {"from": shown.begin, "to": shown.end})},
    }


def _places(
    request: HttpRequest, inspection_id: UUID, pieces: list[dict[str, Any]], at: int | None
) -> dict[str, Any]:
    start = whole_number(request.GET.get("start")) or 0
    here = filemap.index_at(pieces, at) if at is not None else None
    if here is not None and "start" not in request.GET:
        start = here // ROWS * ROWS
    rows = [
        piece | {"css": filemap.CSS.get(piece["what"], "m-o"), "here": index == here,
                 "url": piece_url(inspection_id, piece), "end": piece["offset"] + piece["length"]}
        for index, piece in enumerate(pieces[start : start + ROWS], start)
    ]  # fmt: skip
    return {"rows": rows, "page": Page(start, ROWS, len(pieces))}


def piece_url(inspection_id: UUID, piece: dict[str, Any]) -> str:
    """Where the key or tensor of a piece is listed; '' for other pieces."""
    if piece["what"] in ("tensor", "overlap"):
        return paths.tensor(inspection_id, piece["name"])
    return paths.key(inspection_id, piece["name"]) if piece["what"] == "key" else ""


class _Reader:
    """The kept bytes of one file; ``said`` is why the last read gave none, '' where it did."""

    def __init__(self, row: Inspection, file: str) -> None:
        self._row, self._file = row, file
        self.said = ""

    def __call__(self, offset: int, length: int) -> bytes:
        self.said = ""
        try:
            return selectors.header_bytes(self._row, offset, length, file=self._file)
        except headers.NotKept:
            self.said = NOT_KEPT
        except headers.NotThere:
            self.said = NOT_READ
        return b""


def _bytes(
    request: HttpRequest,
    row: Inspection,
    document: dict[str, Any],
    pieces: list[dict[str, Any]],
    file: str,
    at: int,
) -> dict[str, Any]:
    """The page of bytes that holds ``at``, and the fields of the piece it lies in."""
    read = _Reader(row, file)
    index = filemap.index_at(pieces, at) or 0
    fields = Meaning(document, file, read).fields(pieces[index], at)
    here = field_at(fields, at)
    start = at // hexdump.PAGE * hexdump.PAGE
    raw = read(start, hexdump.PAGE)
    marks = _marks(fields, here, at, whole_number(request.GET.get("length"), None))
    end = max(one["offset"] + one["length"] for one in pieces)
    following = start + hexdump.PAGE
    return {
        "piece": pieces[index] | {"url": piece_url(row.pk, pieces[index])},
        "fields": [asdict(one) | {"here": one is here} for one in fields],
        "hex_rows": hexdump.rows(raw, start, marks),
        "said": read.said,
        "byte": at,
        "previous_at": start - hexdump.PAGE if start else None,
        "next_at": following if following < end else None,
        "before": pieces[index - 1]["offset"] if index else None,
        "after": pieces[index + 1]["offset"] if index + 1 < len(pieces) else None,
    }


def _marks(
    fields: list[Field], here: Field | None, at: int, length: int | None
) -> list[tuple[int, int, str]]:
    """What is marked in the bytes: the fields in turn, what is meant, and the byte itself."""
    marks = [
        (one.offset, one.offset + one.length, "odd" if index % 2 else "even")
        for index, one in enumerate(fields)
    ]
    if length:
        marks.append((at, at + length, "sel"))
    elif here is not None:
        marks.append((here.offset, here.offset + here.length, "sel"))
    return [*marks, (at, at + 1, "at")]
