"""Parts of a report that are more than a slice of a list: chat templates, memory."""

from http import HTTPStatus
from typing import Any
from uuid import UUID

from django.http import HttpResponseBase
from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework.request import Request

from ggufhub.api.part_serializers import MemoryOutput, MemoryQuery, TemplatesOutput
from ggufhub.api.problems import Problem
from ggufhub.api.views.exports import REVALIDATE, render_etag
from ggufhub.api.views.reports import ReportView
from ggufhub.errors import UsageError
from ggufhub.estimate.cache import Setting
from ggufhub.estimate.fit import fit_document
from ggufhub.estimate.memory import CONTEXTS
from ggufhub.estimate.placement import EVERYTHING, Placement
from ggufhub.hub import beside, selectors
from ggufhub.hub.models import Report

GIB = 1024**3

EXAMPLE = {
    "architecture": "llama",
    "context_length": 128,
    "at_least": False,
    "assumed": False,
    "context": 128,
    "key_type": "F16",
    "value_type": "F16",
    "sequences": 1,
    "flash_attention": True,
    "micro_batch": 512,
    "weights": {"bytes": 78464, "basis": "exact"},
    "cache": {"bytes": 32768, "basis": "formula"},
    "states": {"bytes": 0, "basis": "formula"},
    "compute": {"bytes": 196608, "basis": "approximate"},
    "parts": [],
    "total": 307840,
    "places": [
        {"layers": 0, "weights": 4096, "cache": 0, "states": 0, "compute": 0, "total": 4096},
        {
            "layers": 2,
            "weights": 74368,
            "cache": 32768,
            "states": 0,
            "compute": 196608,
            "total": 303744,
        },
    ],
    "largest_context": None,
    "quants": None,
}


class Templates(ReportView):
    @extend_schema(operation_id="reports_template", responses=TemplatesOutput)
    def get(self, request: Request, id: UUID) -> HttpResponseBase:
        """The chat templates, the default one first: source, capabilities, sample renders."""
        return self.answer(request, id)

    def body(self, report: Report) -> Any:
        return {"items": selectors.document(report)["templates"]}


class Memory(ReportView):
    query = MemoryQuery

    @extend_schema(
        operation_id="reports_memory",
        parameters=[MemoryQuery],
        responses=MemoryOutput,
        examples=[OpenApiExample("128 tokens of a small model", value=EXAMPLE)],
    )
    def get(self, request: Request, id: UUID) -> HttpResponseBase:
        """What the model takes in memory under a setting, and the largest context that fits."""
        return self.answer(request, id)

    def validators(self, report: Report) -> tuple[str, str]:
        return render_etag(report.digest, "memory"), REVALIDATE

    def body(self, report: Report, **query: Any) -> Any:
        document = selectors.document(report)
        stored = document["memory"]
        if stored is None:
            detail = "There is nothing to estimate: no language model, or it says too little."
            raise Problem(HTTPStatus.NOT_FOUND, "no-memory", detail)
        limit = None if query.get("gib") is None else int(query["gib"] * GIB)
        context = query.get("context") or stored["context_length"] or CONTEXTS[0]
        try:
            setting = _setting(context, query)
            chosen = {what: query[what] for what in beside.KINDS if what in query}
            parts = beside.parts(self.request.user, chosen, setting)
            fit = fit_document(document, setting, _placement(query), parts, limit)
        except UsageError as error:
            status = HTTPStatus.UNPROCESSABLE_ENTITY
            raise Problem(status, "no-such-setting", error.message) from error
        about = {name: stored[name] for name in ("architecture", "context_length")}
        notes = {name: stored[name] for name in ("at_least", "assumed")}
        shown = {name: value for name, value in (fit or {}).items() if name not in _UNSHOWN}
        return {**about, **notes, **shown}


_UNSHOWN = ("unified", "full_window", "limit")
"""What whoever asked has said."""


def _setting(context: int, query: dict[str, Any]) -> Setting:
    return Setting(
        context=context,
        key_type=query["kv"],
        value_type=query.get("kv_values", query["kv"]),
        sequences=query["sequences"],
        unified=query["unified"],
        flash_attention=query["flash"],
        full_window=query["swa_full"],
        micro_batch=query["ubatch"],
    )


def _placement(query: dict[str, Any]) -> Placement:
    split = tuple(float(share) for share in query["split"].split(","))
    return Placement(query.get("offload", EVERYTHING), split)
