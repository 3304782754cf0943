"""Webhooks: addresses that are told when an inspection has ended."""

from http import HTTPStatus
from uuid import UUID

from django.shortcuts import get_object_or_404
from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from ggufhub.api.webhook_serializers import (
    DeliveriesOutput,
    NewWebhookOutput,
    WebhookInput,
    WebhooksOutput,
    delivery_dict,
    webhook_dict,
)
from ggufhub.hub import webhooks

PRIVATE = {"Cache-Control": "no-store"}
SHOWN = 100
ASKED = OpenApiExample(
    "A receiver", value={"url": "https://ci.example/hooks/models"}, request_only=True
)


class Webhooks(APIView):
    """The caller's webhooks."""

    scope = "admin"

    @extend_schema(operation_id="webhooks_list", responses=WebhooksOutput)
    def get(self, request: Request) -> Response:
        """Newest first, without their secrets."""
        rows = [webhook_dict(webhook) for webhook in webhooks.of(request.user)]
        return Response({"items": rows}, headers=PRIVATE)

    @extend_schema(
        operation_id="webhooks_create",
        request=WebhookInput,
        responses={201: NewWebhookOutput},
        examples=[ASKED],
    )
    def post(self, request: Request) -> Response:
        """Tell this address of every inspection that ends from now on (Standard Webhooks)."""
        data = WebhookInput(data=request.data)
        data.is_valid(raise_exception=True)
        owner = request.user if request.user.is_authenticated else None
        webhook = webhooks.create(owner=owner, **data.validated_data)
        body = {**webhook_dict(webhook), "secret": webhook.secret}
        return Response(body, HTTPStatus.CREATED, headers=PRIVATE)


class OneWebhook(APIView):
    """One of the caller's webhooks."""

    scope = "admin"

    @extend_schema(operation_id="webhooks_delete", request=None, responses={204: None})
    def delete(self, request: Request, id: UUID) -> Response:
        """Forget it with its deliveries."""
        get_object_or_404(webhooks.of(request.user), pk=id).delete()
        return Response(status=HTTPStatus.NO_CONTENT)


class Deliveries(APIView):
    """What was sent to one webhook."""

    scope = "admin"

    @extend_schema(operation_id="webhooks_deliveries", responses=DeliveriesOutput)
    def get(self, request: Request, id: UUID) -> Response:
        """The newest hundred, with what came of them and when they are tried again."""
        webhook = get_object_or_404(webhooks.of(request.user), pk=id)
        rows = [delivery_dict(one) for one in webhook.deliveries.all()[:SHOWN]]
        return Response({"items": rows}, headers=PRIVATE)
