"""The tokenizer tab: the vocabulary by pages and by search, special tokens by name."""

from typing import Any

from django.http import Http404, HttpRequest

from ggufhub.hub import selectors
from ggufhub.hub.models import Inspection, Report
from ggufhub.rules.vocabulary import UNSET
from viewer import paths
from viewer.paging import Page, whole_number
from viewer.present import TOKENS, first_by_key, has_vocabulary, is_array
from viewer.tokens import kind_name, readable, special_ids

ROWS = 200
MOST_SPECIALS = 64
"""Keys that name a token; real files have about ten, a hostile one may claim thousands."""

_KINDS = "tokenizer.ggml.token_type"
_SCORES = "tokenizer.ggml.scores"
_ARRAYS = (_KINDS, _SCORES, "tokenizer.ggml.merges")


def tokenizer(request: HttpRequest, row: Inspection) -> dict[str, Any]:
    """Context of the tab; 404 if the file has no vocabulary."""
    document = selectors.document(row.report)
    if not has_vocabulary(document):
        raise Http404("This file has no vocabulary.")
    metadata = first_by_key(document["metadata"])
    arrays = [key for key in _ARRAYS if key in metadata and is_array(metadata[key]["value"])]
    model = metadata.get("tokenizer.ggml.model", {}).get("value", "")
    q = request.GET.get("q", "")
    start = whole_number(request.GET.get("start"))
    pairs, total, count = _find(row.report, q, start)
    return {
        "q": q,
        "model": model,
        "pre": metadata.get("tokenizer.ggml.pre", {}).get("value"),
        "count": count,
        "rows": _rows(row.report, pairs, model if isinstance(model, str) else ""),
        "page": Page(start, ROWS, total),
        "has_scores": _SCORES in arrays,
        "specials": _specials(row, list(metadata.values()), count),
        "arrays": arrays,
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
        named = selectors.array_elements(report, TOKENS, [by_id])
        pairs = [*named.items(), *(pair for pair in pairs if pair[0] != by_id)]
        total = max(total, len(pairs))
    return pairs, total, found["count"]


def _rows(report: Report, pairs: list[tuple[int, Any]], model: str) -> list[dict[str, Any]]:
    ids = [index for index, _ in pairs]
    kinds, scores = (selectors.array_elements(report, key, ids) for key in (_KINDS, _SCORES))
    rows = []
    for index, token in pairs:
        text = _text(token)
        reads = readable(text, model)
        rows.append(
            {"id": index, "token": token, "reads": reads if reads != text else None,
             "kind": kind_name(kinds.get(index)), "score": scores.get(index)}
        )  # fmt: skip
    return rows


def _specials(row: Inspection, metadata: list[dict[str, Any]], count: int) -> list[dict[str, Any]]:
    """Each ``…_token_id`` key with the text of the token it names: None outside the list, and
    where the key says that there is none."""
    named = special_ids(metadata)[:MOST_SPECIALS]
    tokens = selectors.array_elements(
        row.report, TOKENS, [one["id"] for one in named if 0 <= one["id"] < count]
    )
    return [
        special
        | {
            "token": tokens.get(special["id"]),
            "unset": special["id"] in (UNSET, -1),
            "url": paths.key(row.pk, special["key"]),
        }
        for special in named
    ]


def _text(token: Any) -> str:
    """A token as text; one that is not UTF-8 arrives as a dict."""
    return str(token.get("text", "")) if isinstance(token, dict) else str(token)
