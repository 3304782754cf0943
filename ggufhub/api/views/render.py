"""A conversation of the caller's, rendered by a report's chat template."""

from http import HTTPStatus
from typing import Any
from uuid import UUID

from django.urls import reverse
from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from ggufhub.api.limited import LimitedView
from ggufhub.api.parsers import SmallJSONParser
from ggufhub.api.views.reports import find_report
from ggufhub.hub import budgets, renders
from ggufhub.hub.render_models import RenderJob
from ggufhub.templating.facts import DEFAULT

PRIVATE = {"Cache-Control": "no-store"}

EXAMPLE = {
    "messages": [{"role": "user", "content": "Which tide comes at noon?"}],
    "add_generation_prompt": True,
}


class ConversationParser(SmallJSONParser):
    """JSON no larger than a conversation may be."""

    most = renders.MOST_GIVEN


class RenderInput(serializers.Serializer[Any]):
    messages = serializers.ListField(child=serializers.DictField(), min_length=1)
    tools = serializers.ListField(child=serializers.DictField(), required=False)
    add_generation_prompt = serializers.BooleanField(default=True)
    template = serializers.CharField(
        default=DEFAULT, max_length=512, help_text="The name of one of the report's templates."
    )


class RenderJobOutput(serializers.Serializer[Any]):
    """``failure`` is null, or syntax, raised, undefined, refused, error, limit or internal."""

    id = serializers.UUIDField()
    state = serializers.ChoiceField(("queued", "done", "failed"))
    template = serializers.CharField()
    output = serializers.CharField(allow_null=True)
    failure = serializers.CharField(allow_null=True)
    message = serializers.CharField(allow_blank=True)


def job_dict(job: RenderJob) -> dict[str, Any]:
    """The job as the API shows it; there is an output once it is done."""
    return {
        "id": str(job.pk),
        "state": job.state,
        "template": job.template,
        "output": job.output if job.state == "done" else None,
        "failure": job.failure or None,
        "message": job.message,
    }


class Render(LimitedView):
    parser_classes = (ConversationParser,)
    budgets = {"POST": budgets.SUBMIT}

    @extend_schema(
        operation_id="reports_render",
        request=RenderInput,
        responses={202: RenderJobOutput},
        examples=[OpenApiExample("One question", value=EXAMPLE, request_only=True)],
    )
    def post(self, request: Request, id: UUID) -> Response:
        """Render a conversation by the model's own template, in an isolated process. The answer
        names the place where the result is found a moment later, for an hour."""
        report = find_report(request.user, id)
        asked = RenderInput(data=request.data)
        asked.is_valid(raise_exception=True)
        job = renders.submit(report, **asked.validated_data)
        place = {"Location": reverse("api:render-job", args=[id, job.pk])}
        return Response(job_dict(job), HTTPStatus.ACCEPTED, headers={**PRIVATE, **place})


class RenderJobView(APIView):
    @extend_schema(operation_id="reports_render_job", responses=RenderJobOutput)
    def get(self, request: Request, id: UUID, job: UUID) -> Response:
        """What came of a conversation that was sent to be rendered."""
        row = renders.find(find_report(request.user, id), job)
        return Response(job_dict(row), headers=PRIVATE)
