"""The Memory tab: what the model takes under a setting, where that lies, and what fits."""

from dataclasses import asdict, replace
from math import log2
from typing import Any

from django.http import HttpRequest

from ggufhub.errors import UsageError
from ggufhub.estimate.cache import CELLS, KV_TYPES
from ggufhub.estimate.memory import CONTEXTS, Estimate, Estimator, estimator_from
from ggufhub.estimate.placement import place
from ggufhub.hub import selectors
from ggufhub.hub.models import Inspection
from viewer.memory_chart import LAYERS, Point, chart
from viewer.memory_form import Asked, asked_of
from viewer.sizes import sizes_of

STEPS = 6
"""Doublings of the context shown, up to the one chosen or trained for."""


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
        "setting": asked.setting,
        "types": KV_TYPES,
        "slider": _slider(max(trained, asked.setting.context)),
        "problem": asked.problem,
    }
    try:
        figures = _figures(estimator, asked, trained)
    except UsageError as error:
        return form | {"problem": error.message}
    return form | figures | {"sizes": sizes_of(row.report, figures["estimate"], asked.limit)}


def _slider(largest: int) -> dict[str, float]:
    """The ends of a slider of contexts on a scale of powers of two."""
    return {"least": log2(CELLS), "most": max(log2(largest), log2(CELLS))}


def _figures(estimator: Estimator, asked: Asked, trained: int) -> dict[str, Any]:
    setting, limit = asked.setting, asked.limit
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
