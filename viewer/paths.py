"""Addresses inside the pages, for strings that were not made to be addresses."""

from typing import Any
from urllib.parse import quote, unquote, urlencode
from uuid import UUID

from django.urls import reverse

_EMPTY = "%"


class KeyConverter:
    """A metadata key as the rest of a path.

    A key may hold line feeds, ``..`` or ``//``, which browsers and the default converter would
    change; escaping it once more keeps it whole. An ordinary key looks like itself; the empty
    one, which would end the path too early, is a lone ``%``, which escaping never gives.
    """

    regex = r"[\s\S]+"

    def to_python(self, value: str) -> str:
        return "" if value == _EMPTY else unquote(value)

    def to_url(self, value: str) -> str:
        escaped = quote(value, safe="") or _EMPTY
        return escaped.replace(".", "%2E") if set(escaped) <= {"."} else escaped


def anchor(prefix: str, name: str) -> str:
    """An id for ``name``: what it says in a fragment is what it says in the page."""
    return f"{prefix}-{quote(name, safe='')}"


def tab(inspection_id: UUID, slug: str, fragment: str = "", /, **query: Any) -> str:
    """The address of a tab with its query and fragment."""
    address = reverse("viewer:tab", args=[inspection_id, slug])
    if query:
        address += "?" + urlencode(query)
    return f"{address}#{fragment}" if fragment else address


def tensor(inspection_id: UUID, name: str) -> str:
    """The row of one tensor."""
    return tab(inspection_id, "tensors", anchor("t", name), q=name)


def key(inspection_id: UUID, name: str) -> str:
    """The row of one key, on whichever page of the list it is."""
    return tab(inspection_id, "metadata", anchor("key", name), key=name)


def tensor_data(inspection_id: UUID, row: dict[str, Any]) -> str:
    """The first byte of a tensor's data, in whichever file it lies."""
    place = {"file": row["file"]} if "file" in row else {}
    return tab(inspection_id, "layout", "at", **place, tensor=row["name"])


def byte(inspection_id: UUID, offset: int, file: str = "", length: int = 0) -> str:
    """The bytes at a place of a file ('' is the first one), ``length`` of them marked."""
    query: dict[str, Any] = {"file": file} if file else {}
    query |= {"at": offset} | ({"length": length} if length else {})
    return tab(inspection_id, "layout", "at", **query)
