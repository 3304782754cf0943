"""Will it fit: one way to run a model with everything that is loaded beside it, and what fits."""

import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from ggufhub.errors import UsageError
from ggufhub.estimate.cache import Setting
from ggufhub.estimate.memory import Estimator, estimate_row, estimator_from
from ggufhub.estimate.placement import Placement, place
from ggufhub.estimate.quants import Size, sizes

_UNITS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}
_AMOUNT = re.compile(r"(\d{1,12}(?:\.\d{1,6})?)\s*([kmgt]?)(?:i?b)?", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Part:
    """What is loaded beside the model: a projector, an adapter, or a draft model.

    ``bytes`` are its weights, exactly, and for a draft model its cache as well; None where that
    has no formula. A projector also needs room for pictures, which is not counted.
    """

    what: str
    name: str
    bytes: int | None


@dataclass(frozen=True, slots=True)
class Quant:
    """A quant of the model as it lies in its repository or folder.

    ``quant`` is the label its name claims, "" where it claims none. ``bytes`` are those of all its
    files, None where the listing does not tell or ``missing`` shards are not there; ``own`` marks
    the one the estimate was made from.
    """

    path: str
    quant: str
    bytes: int | None
    missing: int = 0
    own: bool = False


def amount(text: str) -> int:
    """Bytes of ``24G``, ``24 GiB``, ``512M`` or a plain number; units count by 1,024.

    ``UsageError`` for anything else.
    """
    match = _AMOUNT.fullmatch(text.strip())
    if match is None:
        raise UsageError(f"{text} is no amount of memory; 24G is one.")
    return int(float(match[1]) * _UNITS[match[2].lower()])


def weights_of(document: dict[str, Any]) -> int:
    """The bytes of all tensors of a report."""
    return sum(row["bytes"] or 0 for row in document["tensors"])


def part_of(what: str, document: dict[str, Any], setting: Setting) -> Part:
    """A part from its own report; a draft model runs with the model's own setting.

    ``UsageError`` for one that could not be read, and for a draft that cannot be one.
    """
    name = str(document["name"])
    if document["verdict"] == "unreadable":
        raise UsageError(f"{name} cannot be read: {document['error']['message']}")
    if what != "draft":
        return Part(what, name, weights_of(document))
    if document["memory"] is None:
        raise UsageError(f"{name} is no model that could draft for another.")
    return Part(what, name, estimator_from(document["memory"]).estimate(setting).total)


def fit_document(
    document: dict[str, Any],
    setting: Setting,
    placement: Placement,
    parts: tuple[Part, ...] = (),
    limit: int | None = None,
) -> dict[str, Any] | None:
    """What one way to run the model takes and, where there is a ``limit`` in bytes, what fits
    into that; None where there is nothing to estimate.

    ``UsageError`` for what llama.cpp would refuse.
    """
    if document["memory"] is None:
        return None
    estimator = estimator_from(document["memory"])
    estimate = estimator.estimate(setting)
    shares = place(estimator, setting, placement)
    beside = bytes_of(parts)
    total = None if estimate.total is None or beside is None else estimate.total + beside
    left = None if limit is None or beside is None else limit - beside
    return {
        **estimate_row(estimate),
        "unified": setting.unified,
        "full_window": setting.full_window,
        "places": None if shares is None else [asdict(s) | {"total": s.total} for s in shares],
        "parts": [asdict(part) for part in parts],
        "total": total,
        "limit": limit,
        "largest_context": None if left is None else estimator.largest_context(left, setting),
        "quants": None if left is None else _quants(document, estimator, setting, left),
    }


def bytes_of(parts: Sequence[Part]) -> int | None:
    """The bytes of what is loaded beside the model; None where one is unknown."""
    known = [part.bytes for part in parts if part.bytes is not None]
    return sum(known) if len(known) == len(parts) else None


def fitting_quants(
    document: dict[str, Any],
    setting: Setting,
    quants: Sequence[Quant],
    parts: tuple[Part, ...] = (),
    limit: int = 0,
) -> list[dict[str, Any]]:
    """Each of ``quants`` with the ``total`` it takes under ``setting`` and whether that ``fits``
    into ``limit`` bytes beside ``parts`` (None for both: unknown), the largest first.

    Cache and compute are those of this model, which its quants share; so is what a file holds
    besides its tensors. None was opened.
    """
    estimate = estimator_from(document["memory"]).estimate(setting)
    beside, weights = bytes_of(parts), estimate.weights.bytes or 0
    around = _around(document, quants, weights)
    rows = []
    for quant in sorted(quants, key=lambda one: (-(one.bytes or 0), one.path)):
        total = None
        if None not in (quant.bytes, estimate.total, beside):
            tensors = max((quant.bytes or 0) - around, 0)
            total = (estimate.total or 0) - weights + tensors + (beside or 0)
        rows.append(
            asdict(quant) | {"total": total, "fits": None if total is None else total <= limit}
        )
    return rows


def _around(document: dict[str, Any], quants: Sequence[Quant], weights: int) -> int:
    """Bytes of the files of this model that are no tensors: header and padding."""
    own = next((one.bytes for one in quants if one.own and one.bytes is not None), None)
    return document["format"]["data_offset"] or 0 if own is None else max(own - weights, 0)


def _quants(
    document: dict[str, Any], estimator: Estimator, setting: Setting, limit: int
) -> list[dict[str, Any]] | None:
    """Every mix with what it takes under ``setting``, the least loss first; None where the cache
    has no formula."""
    estimate = estimator.estimate(setting)
    if estimate.total is None:
        return None
    other = estimate.total - (estimate.weights.bytes or 0)
    return [_fitting(size, size.tensor_bytes + other, limit) for size in sizes(document)]


def _fitting(size: Size, total: int, limit: int) -> dict[str, Any]:
    return {**asdict(size), "total": total, "fits": total <= limit}
