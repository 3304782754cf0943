"""Addresses under /api/v1."""

from typing import Any, NoReturn

from django.http import Http404
from django.urls import path, re_path, register_converter
from django.urls.converters import StringConverter
from drf_spectacular.utils import extend_schema
from drf_spectacular.views import SpectacularJSONAPIView
from rest_framework.request import Request
from rest_framework.views import APIView

from ggufhub.api import schema  # noqa: F401  (describes our authentication to the generator)
from ggufhub.api.views import (
    audits,
    docs,
    exports,
    header,
    inspections,
    parts,
    render,
    reports,
    rules,
    tokens,
    uploads,
    webhooks,
)


class AnyText(StringConverter):
    """The rest of the path, whatever it holds: a metadata key may have slashes and line feeds."""

    regex = r"[\s\S]+"


register_converter(AnyText, "any")

app_name = "api"


@extend_schema(exclude=True)
class Nowhere(APIView):
    """Every other address under the API: a problem document, not the pages' 404."""

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> NoReturn:
        raise Http404


urlpatterns = [
    path("inspections", inspections.Inspections.as_view(), name="inspections"),
    path("inspections/<uuid:id>", inspections.OneInspection.as_view(), name="inspection"),
    path("reports/<uuid:id>", exports.Document.as_view(), name="report"),
    path("reports/<uuid:id>/badge.svg", exports.Badge.as_view(), name="badge"),
    path("reports/<uuid:id>/compare/<uuid:other>", exports.Compare.as_view(), name="compare"),
    path("reports/<uuid:id>/metadata", reports.Metadata.as_view(), name="metadata"),
    path(
        "reports/<uuid:id>/metadata/<any:key>",
        reports.MetadataArray.as_view(),
        name="metadata-array",
    ),
    path("reports/<uuid:id>/tensors", reports.Tensors.as_view(), name="tensors"),
    path("reports/<uuid:id>/findings", reports.Findings.as_view(), name="findings"),
    path("reports/<uuid:id>/layout", reports.Layout.as_view(), name="layout"),
    path("reports/<uuid:id>/bytes", header.HeaderBytes.as_view(), name="bytes"),
    path("reports/<uuid:id>/render", render.Render.as_view(), name="render"),
    path("reports/<uuid:id>/render/<uuid:job>", render.RenderJobView.as_view(), name="render-job"),
    path("reports/<uuid:id>/template", parts.Templates.as_view(), name="template"),
    path("reports/<uuid:id>/memory", parts.Memory.as_view(), name="memory"),
    path("audits", audits.Audits.as_view(), name="audits"),
    path("audits/<uuid:id>", audits.OneAudit.as_view(), name="audit"),
    path("audits/<uuid:id>/models", audits.Models.as_view(), name="audit-models"),
    path("audits/<uuid:id>/findings", audits.Findings.as_view(), name="audit-findings"),
    path("audits/<uuid:id>/changes", audits.Changes.as_view(), name="audit-changes"),
    path("schedules", audits.Schedules.as_view(), name="schedules"),
    path("schedules/<uuid:id>", audits.OneSchedule.as_view(), name="schedule"),
    path("tokens", tokens.Tokens.as_view(), name="tokens"),
    path("tokens/<slug:id>", tokens.OneToken.as_view(), name="token"),
    path("webhooks", webhooks.Webhooks.as_view(), name="webhooks"),
    path("webhooks/<uuid:id>", webhooks.OneWebhook.as_view(), name="webhook"),
    path("webhooks/<uuid:id>/ping", webhooks.Ping.as_view(), name="ping"),
    path("webhooks/<uuid:id>/rotate", webhooks.Rotate.as_view(), name="rotate"),
    path("webhooks/<uuid:id>/deliveries", webhooks.Deliveries.as_view(), name="deliveries"),
    path("uploads", uploads.Uploads.as_view(), name="uploads"),
    path("uploads/<uuid:id>", uploads.OneUpload.as_view(), name="upload"),
    path("profiles", rules.Profiles.as_view(), name="profiles"),
    path("rules", rules.Rules.as_view(), name="rules"),
    path("rules/<slug:id>", rules.OneRule.as_view(), name="rule"),
    path("docs", docs.docs, name="docs"),
    path("openapi.json", SpectacularJSONAPIView.as_view(), name="openapi"),
    re_path("", Nowhere.as_view(), name="nowhere"),
]
