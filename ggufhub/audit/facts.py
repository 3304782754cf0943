"""What an audit keeps of each model: a row made from its report, small enough to hold many."""

import json
import zlib
from collections import Counter
from typing import Any

from ggufhub.audit.groups import Item
from ggufhub.report.codec import Json
from ggufhub.rules.kind import PROJECTOR_OUTPUTS
from ggufhub.rules.repository import Member
from ggufhub.sources.base import Digest
from ggufhub.sources.listing import Entry

Row = dict[str, Json]

_ORIGIN = (
    "general.basename",
    "general.size_label",
    "general.organization",
    "general.finetune",
    "general.version",
)
"""Keys about the origin that every quant of a model has in common; ``general.name`` is not among
them, because many quantisers write the file's own name into it."""

_SUPER_BLOCK = 256
"""Rows of another length fall back to other types (``QK_K`` in ``ggml-common.h``)."""

KEPT = (
    "source",
    "name",
    "verdict",
    "error",
    "files",
    "findings",
    "not_evaluated",
    "ignored",
    "rule_set",
    "seconds",
    "kind",
    "format",
    "summary",
)
"""Parts of a report that a row keeps: enough for every export."""


def make_row(item: Item, document: dict[str, Json]) -> Row:
    """The row of one model."""
    severities = Counter(finding["severity"] for finding in document["findings"])
    return {
        "path": item.path,
        "family": item.family,
        "role": item.role,
        "size": _size(item, document),
        "identity": item.identity,
        "counts": {name: severities[name] for name in ("error", "warning", "info")},
        "facts": _facts(item, document),
        "report": {part: document.get(part) for part in KEPT},
    }


def _size(item: Item, document: dict[str, Json]) -> int | None:
    """Bytes of all files: what was found, or what the listing says."""
    sizes: list[int | None] = [file["size"] for file in document["files"]]
    known = [size for size in sizes if size is not None]
    return sum(known) if len(known) == len(item.files) else item.size


def _facts(item: Item, document: dict[str, Json]) -> dict[str, Any]:
    values = {entry["key"]: entry["value"] for entry in document.get("metadata") or []}
    summary, parts = document["summary"], document.get("parts") or {}
    architecture = summary["architecture"]
    return {
        "files": _files(item, document),
        "kind": document["kind"],
        "error": document["error"]["code"] if document["error"] else None,
        "quant": item.quant,
        "label": summary["quant"] if summary["file_type"] is not None else None,
        "main_type": _main_type(document.get("tensors") or []),
        "architecture": architecture,
        "parameters": summary["parameters"],
        "tensors": document["format"]["tensor_count"],
        "tokenizer": parts.get("tokenizer"),
        "template": parts.get("template"),
        "tensor_set": parts.get("tensors"),
        "special": _special(values),
        "context": _context(values, architecture),
        "origin": {key: values[key] for key in _ORIGIN if isinstance(values.get(key), str)},
        "license": summary["license"],
        "bases": _bases(values),
        "embedding": _whole(values.get(f"{architecture}.embedding_length")),
        "projection": _projection(values, document.get("tensors") or []),
    }


def _files(item: Item, document: dict[str, Json]) -> list[Json]:
    """Path, size and digests of each file: those the listing declares and those of the report."""
    found = {file["name"]: file for file in document["files"]}
    return [_file(entry, found.get(entry.name)) for entry in item.files]


def _file(entry: Entry, file: dict[str, Json] | None) -> Json:
    digests = [[d.algorithm, d.value, d.basis] for d in entry.digests]
    for digest in file["digests"] if file else []:
        known = [digest["algorithm"], digest["value"], digest["basis"]]
        if known not in digests:
            digests.append(known)
    return [entry.path, entry.size if file is None else file["size"], digests]


def _main_type(tensors: list[Json]) -> str | None:
    """The type of most weights inside the blocks, of those that need no fallback."""
    weight = Counter[str]()
    for tensor in tensors:
        shape = tensor["shape"]
        if tensor["block"] is not None and len(shape) > 1 and shape[0] % _SUPER_BLOCK == 0:
            weight[tensor["type"]] += tensor["elements"]
    return weight.most_common(1)[0][0] if weight else None


def _special(values: dict[str, Json]) -> dict[str, Json]:
    wanted = ("_token_id", ".add_bos_token", ".add_eos_token", ".add_space_prefix")
    return {
        key.removeprefix("tokenizer.ggml."): value
        for key, value in values.items()
        if key.startswith("tokenizer.") and key.endswith(wanted) and isinstance(value, int)
    }


def _context(values: dict[str, Json], architecture: str | None) -> dict[str, Json]:
    prefix = f"{architecture}."
    return {
        key.removeprefix(prefix): value
        for key, value in values.items()
        if key.startswith((f"{prefix}rope.", f"{prefix}context_length"))
        and not isinstance(value, dict)
    }


def _bases(values: dict[str, Json]) -> list[str]:
    """``owner/name`` of each base model whose repository is given."""
    urls = (
        value
        for key, value in values.items()
        if key.startswith("general.base_model.") and key.endswith(".repo_url")
    )
    parts = [url.rstrip("/").split("/")[-2:] for url in urls if isinstance(url, str)]
    return ["/".join(two) for two in parts if len(two) == 2]


def _projection(values: dict[str, Json], tensors: list[Json]) -> int | None:
    kind = values.get("clip.projector_type") or values.get("clip.vision.projector_type")
    name, dimension = PROJECTOR_OUTPUTS.get(kind if isinstance(kind, str) else "", ("", 0))
    found = (tensor["shape"] for tensor in tensors if tensor["name"] == name)
    shape: list[int] = next(found, [])
    return shape[dimension] if len(shape) > dimension else None


def _whole(value: Json) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def member_of(row: Row) -> Member:
    """What the rules about a repository see of a row."""
    facts = dict(row["facts"])
    files = tuple(
        Entry(path, path, size, tuple(Digest(*told) for told in digests))
        for path, size, digests in facts.pop("files")
    )
    facts["bases"] = tuple(facts["bases"])
    return Member(path=row["path"], family=row["family"], role=row["role"], files=files, **facts)


def pack_row(row: Row) -> bytes:
    """A row as compressed JSON: about a kilobyte."""
    return zlib.compress(json.dumps(row, separators=(",", ":")).encode(), 1)


def unpack_row(packed: bytes) -> Row:
    row: Row = json.loads(zlib.decompress(packed))
    return row
