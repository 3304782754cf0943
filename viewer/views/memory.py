"""The Memory tab: what the model takes under a setting, and what fits."""

from dataclasses import replace
from typing import Any

from django.http import HttpRequest

from ggufhub.errors import UsageError
from ggufhub.estimate.cache import KV_TYPES, Setting
from ggufhub.estimate.memory import Estimate, Estimator, estimator_from
from ggufhub.hub import selectors
from ggufhub.hub.models import Inspection
from viewer.memory_chart import LAYERS, Point, chart
from viewer.paging import whole_number

GIB = 1024**3
MOST_CONTEXT = 1 << 30
STEPS = 6
"""Doublings of the context shown, up to the one chosen or trained for."""


def memory(request: HttpRequest, row: Inspection) -> dict[str, Any]:
    """Everything the page shows; ``known`` is False where there is nothing to estimate."""
    stored = selectors.document(row.report)["memory"]
    if stored is None:
        return {"known": False}
    estimator = estimator_from(stored)
    trained = stored["context_length"] or 4096
    setting, problem = _setting(request, trained)
    limit = whole_number(request.GET.get("gib"), None)
    form = {
        "known": True,
        "stored": stored,
        "setting": setting,
        "types": KV_TYPES,
        "gib": limit,
        "trained": trained,
    }
    try:
        return form | _figures(estimator, setting, trained, limit) | {"problem": problem}
    except UsageError as error:
        return form | {"problem": error.message}


def _setting(request: HttpRequest, trained: int) -> tuple[Setting, str | None]:
    """What the form asks for; what makes no sense falls back, and the page says so."""
    asked = request.GET
    kv = asked.get("kv", "F16")
    context = whole_number(asked.get("context"), None)
    setting = Setting(
        min(context or trained, MOST_CONTEXT) or 1,
        kv if kv in KV_TYPES else "F16",
        kv if kv in KV_TYPES else "F16",
        min(max(whole_number(asked.get("sequences"), 1) or 1, 1), 256),
        flash_attention=asked.get("flash") != "off",
    )
    beyond = context is not None and context > trained
    words = f"The model was trained for {trained:,} tokens; beyond that it gets worse."
    return setting, words if beyond else None


def _figures(
    estimator: Estimator, setting: Setting, trained: int, limit: int | None
) -> dict[str, Any]:
    estimate = estimator.estimate(setting)
    contexts = _contexts(max(setting.context, trained))
    estimates = [estimator.estimate(replace(setting, context=context)) for context in contexts]
    fits = None if limit is None else estimator.largest_context(limit * GIB, setting)
    complete = all(one.total is not None for one in estimates)
    picture = None
    if complete:
        points = [_point(one) for one in estimates]
        picture = chart(points, None if limit is None else limit * GIB)
    return {
        "estimate": estimate,
        "estimates": estimates,
        "fits": fits,
        "chart": picture,
        "legend": LAYERS,
    }


def _contexts(largest: int) -> list[int]:
    return sorted({max(largest >> step, 1) for step in range(STEPS)})


def _point(estimate: Estimate) -> Point:
    cache = (estimate.cache.bytes or 0) + (estimate.states.bytes or 0)
    weights, compute = estimate.weights.bytes or 0, estimate.compute.bytes or 0
    return Point(estimate.setting.context, weights, cache, compute)
