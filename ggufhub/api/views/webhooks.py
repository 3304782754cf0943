"""Webhooks: addresses that are told when an inspection has ended."""

from http import HTTPStatus
from typing import Any
from uuid import UUID

from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from ggufhub.api import examples
from ggufhub.api.limited import LimitedView
from ggufhub.api.pagination import NewestFirst
from ggufhub.api.serializers import PageQuery
from ggufhub.api.webhook_serializers import (
    DeliveriesOutput,
    DeliveryOutput,
    NewWebhookOutput,
    WebhookInput,
    WebhooksOutput,
    delivery_dict,
    webhook_dict,
)
from ggufhub.hub import budgets, webhooks
from ggufhub.hub.models import Webhook
from ggufhub.hub.owners import owner_of

PRIVATE = {"Cache-Control": "no-store"}


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
        examples=examples.RECEIVER,
    )
    def post(self, request: Request) -> Response:
        """Tell this address of every inspection that ends from now on (Standard Webhooks)."""
        data = WebhookInput(data=request.data)
        data.is_valid(raise_exception=True)
        webhook = webhooks.create(owner=owner_of(request.user), **data.validated_data)
        return Response(_with_secret(webhook), HTTPStatus.CREATED, headers=PRIVATE)


class OneWebhook(APIView):
    """One of the caller's webhooks."""

    scope = "admin"

    @extend_schema(operation_id="webhooks_delete", request=None, responses={204: None})
    def delete(self, request: Request, id: UUID) -> Response:
        """Forget it with its deliveries."""
        webhooks.delete(get_object_or_404(webhooks.of(request.user), pk=id))
        return Response(status=HTTPStatus.NO_CONTENT)


class Rotate(APIView):
    """A new secret for one webhook."""

    scope = "admin"

    @extend_schema(
        operation_id="webhooks_rotate",
        request=None,
        responses=NewWebhookOutput,
        examples=examples.ROTATED,
    )
    def post(self, request: Request, id: UUID) -> Response:
        """Give it a new secret, shown in this answer only. For 24 hours both secrets sign every
        message: webhook-signature then holds two signatures."""
        webhook = get_object_or_404(webhooks.of(request.user), pk=id)
        return Response(_with_secret(webhooks.rotate(webhook, timezone.now())), headers=PRIVATE)


class Ping(LimitedView):
    """A test message to one webhook."""

    scope = "admin"
    budgets = {"POST": budgets.PING}

    @extend_schema(
        operation_id="webhooks_ping",
        request=None,
        responses={202: DeliveryOutput},
        examples=examples.PING,
    )
    def post(self, request: Request, id: UUID) -> Response:
        """Send a signed test message (type ping). The list of deliveries tells what came of it."""
        webhook = get_object_or_404(webhooks.of(request.user), pk=id)
        delivery = webhooks.ping(webhook)
        place = {"Location": reverse("api:deliveries", args=[webhook.pk])}
        return Response(delivery_dict(delivery), HTTPStatus.ACCEPTED, headers={**PRIVATE, **place})


class Deliveries(APIView):
    """What was sent to one webhook."""

    scope = "admin"

    @extend_schema(
        operation_id="webhooks_deliveries", parameters=[PageQuery], responses=DeliveriesOutput
    )
    def get(self, request: Request, id: UUID) -> Response:
        """Newest first, with what came of each and when it is tried again."""
        query = PageQuery(data=request.query_params)
        query.is_valid(raise_exception=True)
        webhook = get_object_or_404(webhooks.of(request.user), pk=id)
        page = NewestFirst()
        rows = page.paginate_queryset(webhook.deliveries.all(), request, view=self) or []
        return page.get_paginated_response([delivery_dict(one) for one in rows], PRIVATE)


def _with_secret(webhook: Webhook) -> dict[str, Any]:
    return {**webhook_dict(webhook), "secret": webhook.secret}
