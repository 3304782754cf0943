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
from ggufhub.estimate.memory import CONTEXTS, Estimate, Estimator, estimate_row, estimator_from
from ggufhub.hub import selectors
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
    "total": 307840,
    "largest_context": None,
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
        stored = selectors.document(report)["memory"]
        if stored is None:
            detail = "There is nothing to estimate: no language model, or it says too little."
            raise Problem(HTTPStatus.NOT_FOUND, "no-memory", detail)
        context = query.get("context") or stored["context_length"] or CONTEXTS[0]
        setting = Setting(
            context, query["kv"], query["kv"], query["sequences"], flash_attention=query["flash"]
        )
        limit = query.get("gib")
        estimate, largest = _estimated(estimator_from(stored), setting, limit)
        about = {name: stored[name] for name in ("architecture", "context_length")}
        notes = {name: stored[name] for name in ("at_least", "assumed")}
        return {**about, **notes, **estimate_row(estimate), "largest_context": largest}


def _estimated(
    estimator: Estimator, setting: Setting, gib: float | None
) -> tuple[Estimate, int | None]:
    """The estimate, and the largest context that fits into ``gib``; 422 for what none would run."""
    try:
        estimate = estimator.estimate(setting)
        fits = None if gib is None else estimator.largest_context(int(gib * GIB), setting)
    except UsageError as error:
        raise Problem(HTTPStatus.UNPROCESSABLE_ENTITY, "no-such-setting", error.message) from error
    return estimate, fits
