"""The Memory tab: what the model takes under a setting, where that lies, and what fits."""

from dataclasses import asdict, replace
from math import log2
from typing import Any

from django.http import HttpRequest

from ggufhub.errors import UsageError
from ggufhub.estimate.cache import CELLS, KV_TYPES
from ggufhub.estimate.fit import Part, bytes_of
from ggufhub.estimate.memory import CONTEXTS, Estimate, Estimator, estimator_from
from ggufhub.estimate.placement import place
from ggufhub.hub import beside, selectors
from ggufhub.hub.models import Inspection
from viewer.memory_chart import LAYERS, Point, chart
from viewer.memory_form import Asked, asked_of
from viewer.sizes import Sizes, sizes_of

STEPS = 6
"""Doublings of the context shown, up to the one chosen or trained for."""

LABELS = ("Projector", "Adapter", "Draft model")
"""Of what can be loaded beside a model (``beside.KINDS``)."""


def memory(request: HttpRequest, row: Inspection) -> dict[str, Any]:
    """Everything the page shows; ``known`` is False where there is nothing to estimate."""
    stored = selectors.document(row.report)["memory"]
    if stored is None:
        return {"known": False}
    estimator = estimator_from(stored)
    trained = stored["context_length"] or CONTEXTS[0]
    asked = asked_of(request.GET, trained)
    form = {
        "known": True,
        "stored": stored,
        "asked": asked,
        "choices": _choices(request, row, asked),
        "setting": asked.setting,
        "types": KV_TYPES,
        "slider": _slider(max(trained, asked.setting.context)),
        "problem": asked.problem,
    }
    try:
        parts = beside.parts(request.user, asked.beside, asked.setting)
        limit = _left(asked.limit, parts)
        figures = _figures(estimator, asked, trained, limit)
    except UsageError as error:
        return form | {"problem": error.message}
    estimate = figures["estimate"]
    return form | figures | _together(estimate, parts, sizes_of(row.report, estimate, limit))


def _choices(request: HttpRequest, row: Inspection, asked: Asked) -> list[dict[str, Any]]:
    """What can be loaded beside the model, of each kind of which there are reports."""
    return [
        {"name": what, "label": label, "rows": rows, "chosen": asked.beside.get(what)}
        for (what, rows), label in zip(
            beside.offered(request.user, row).items(), LABELS, strict=True
        )
        if rows
    ]


def _left(limit: int | None, parts: tuple[Part, ...]) -> int | None:
    """What of the memory is left to the model; None where nobody asked, or that is not known."""
    taken = bytes_of(parts)
    return None if limit is None or taken is None else max(limit - taken, 0)


def _together(estimate: Estimate, parts: tuple[Part, ...], sizes: Sizes) -> dict[str, Any]:
    taken = bytes_of(parts)
    unknown = estimate.total is None or taken is None
    total = None if unknown else (estimate.total or 0) + (taken or 0)
    return {"parts": parts, "total": total, "sizes": sizes}


def _slider(largest: int) -> dict[str, float]:
    """The ends of a slider of contexts on a scale of powers of two."""
    return {"least": log2(CELLS), "most": max(log2(largest), log2(CELLS))}


def _figures(estimator: Estimator, asked: Asked, trained: int, limit: int | None) -> dict[str, Any]:
    setting = asked.setting
    estimate = estimator.estimate(setting)
    contexts = _contexts(max(setting.context, trained))
    estimates = [estimator.estimate(replace(setting, context=context)) for context in contexts]
    complete = all(one.total is not None for one in estimates)
    return {
        "estimate": estimate,
        "estimates": estimates,
        "fits": None if limit is None else estimator.largest_context(limit, setting),
        "chart": chart([_point(one) for one in estimates], limit) if complete else None,
        "legend": LAYERS,
        "places": _places(estimator, asked) if asked.placed else None,
    }


def _contexts(largest: int) -> list[int]:
    return sorted({max(largest >> step, 1) for step in range(STEPS)})


def _point(estimate: Estimate) -> Point:
    cache = (estimate.cache.bytes or 0) + (estimate.states.bytes or 0)
    weights, compute = estimate.weights.bytes or 0, estimate.compute.bytes or 0
    return Point(estimate.setting.context, weights, cache, compute)


def _places(estimator: Estimator, asked: Asked) -> list[dict[str, Any]] | None:
    """What the processor and each device hold; None where the cache has no formula."""
    shares = place(estimator, asked.setting, asked.placement)
    if shares is None:
        return None
    return [
        asdict(share)
        | {
            "name": f"Device {number}" if number else "Processor",
            "cache": share.cache + share.states,
            "total": share.total,
        }
        for number, share in enumerate(shares)
    ]
