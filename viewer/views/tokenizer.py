"""The tokenizer tab: the vocabulary by pages and by search, special tokens by name."""

from typing import Any

from django.http import Http404, HttpRequest

from ggufhub.hub import selectors
from ggufhub.hub.models import Inspection, Report
from ggufhub.report import codec
from viewer import paths
from viewer.paging import Page, whole_number
from viewer.present import TOKENS
from viewer.tokens import KINDS, readable, special_ids

ROWS = 200
_KINDS = "tokenizer.ggml.token_type"
_SCORES = "tokenizer.ggml.scores"


def tokenizer(request: HttpRequest, row: Inspection) -> dict[str, Any]:
    """Context of the tab; 404 if the file has no vocabulary."""
    metadata = {entry["key"]: entry for entry in selectors.document(row.report)["metadata"]}
    if TOKENS not in metadata:
        raise Http404("This file has no vocabulary.")
    model = str(metadata.get("tokenizer.ggml.model", {}).get("value", ""))
    q = request.GET.get("q", "")
    start = whole_number(request.GET.get("start"))
    pairs, total, count = _find(row.report, q, start)
    return {
        "q": q,
        "model": model,
        "pre": metadata.get("tokenizer.ggml.pre", {}).get("value"),
        "count": count,
        "rows": _rows(row.report, pairs, model, metadata),
        "page": Page(start, ROWS, total),
        "has_scores": _SCORES in metadata,
        "specials": _specials(row, metadata, count),
        "arrays": [key for key in (_KINDS, _SCORES, "tokenizer.ggml.merges") if key in metadata],
    }


def _find(report: Report, q: str, start: int) -> tuple[list[tuple[int, Any]], int, int]:
    """``(id, token)`` pairs, how many match, how many there are. Digits find an id as well."""
    if not q:
        page = selectors.array_page(report, TOKENS, start=start, limit=ROWS)
        return list(enumerate(page["items"], start)), page["count"], page["count"]
    found = selectors.array_search(report, TOKENS, q=q, start=start, limit=ROWS)
    pairs = [(index, token) for index, token in found["items"]]
    total = found["total"]
    by_id = whole_number(q, None)
    if by_id is not None and start == 0 and by_id < found["count"]:
        named = selectors.array_page(report, TOKENS, start=by_id, limit=1)["items"]
        pairs = [(by_id, named[0]), *(pair for pair in pairs if pair[0] != by_id)]
        total = max(total, len(pairs))
    return pairs, total, found["count"]


def _rows(
    report: Report, pairs: list[tuple[int, Any]], model: str, metadata: dict[str, Any]
) -> list[dict[str, Any]]:
    kinds = _beside(report, _KINDS, pairs) if _KINDS in metadata else {}
    scores = _beside(report, _SCORES, pairs) if _SCORES in metadata else {}
    rows = []
    for index, token in pairs:
        text = _text(token)
        reads = readable(text, model)
        kind = kinds.get(index)
        rows.append(
            {"id": index, "token": token, "reads": reads if reads != text else None,
             "kind": KINDS.get(kind, kind), "score": scores.get(index)}
        )  # fmt: skip
    return rows


def _beside(report: Report, key: str, pairs: list[tuple[int, Any]]) -> dict[int, Any]:
    """The elements of a parallel array at the ids shown.

    Hits of a search lie anywhere; those of one stored chunk are read together.
    """
    chunks: dict[int, list[int]] = {}
    for index, _ in pairs:
        chunks.setdefault(index // codec.CHUNK, []).append(index)
    found = {}
    for ids in chunks.values():
        start = min(ids)
        page = selectors.array_page(report, key, start=start, limit=max(ids) - start + 1)
        found.update(enumerate(page["items"], start))
    return found


def _specials(row: Inspection, metadata: dict[str, Any], count: int) -> list[dict[str, Any]]:
    """Each ``…_token_id`` key with the text of the token it names, or None outside the list."""
    found = []
    for special in special_ids(list(metadata.values())):
        token = None
        if 0 <= special["id"] < count:
            page = selectors.array_page(row.report, TOKENS, start=special["id"], limit=1)
            token = page["items"][0]
        found.append(special | {"token": token, "url": paths.key(row.pk, special["key"])})
    return found


def _text(token: Any) -> str:
    """A token as text; one that is not UTF-8 arrives as a dict."""
    return str(token.get("text", "")) if isinstance(token, dict) else str(token)
