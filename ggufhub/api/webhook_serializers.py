"""Webhooks and their deliveries, in and out."""

from typing import Any

from rest_framework import serializers

from ggufhub.api.serializers import CursorOutput
from ggufhub.hub.links import URL_LENGTH
from ggufhub.hub.models import Delivery, Webhook


class WebhookInput(serializers.Serializer[Any]):
    url = serializers.CharField(max_length=URL_LENGTH, help_text="An http(s) link.")


class WebhookOutput(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    url = serializers.CharField(help_text="Without its query, which may be a credential.")
    created = serializers.DateTimeField()


class NewWebhookOutput(WebhookOutput):
    secret = serializers.CharField(help_text="Checks the signatures. Shown only now.")


class WebhooksOutput(serializers.Serializer[Any]):
    items = WebhookOutput(many=True)


class DeliveryOutput(serializers.Serializer[Any]):
    id = serializers.CharField(help_text="What webhook-id says.")
    inspection = serializers.UUIDField(allow_null=True, help_text="Null for a ping or an audit.")
    state = serializers.ChoiceField(("pending", "delivered", "given up"))
    attempts = serializers.IntegerField()
    status = serializers.IntegerField(allow_null=True, help_text="Of the last answer.")
    error = serializers.CharField(allow_blank=True)
    created = serializers.DateTimeField()
    next_at = serializers.DateTimeField(allow_null=True)
    delivered = serializers.DateTimeField(allow_null=True)


class DeliveriesOutput(CursorOutput):
    items = DeliveryOutput(many=True)


def webhook_dict(webhook: Webhook) -> dict[str, Any]:
    """``WebhookOutput`` as a plain dict."""
    return {"id": str(webhook.pk), "url": webhook.locator, "created": webhook.created}


def delivery_dict(delivery: Delivery) -> dict[str, Any]:
    """``DeliveryOutput`` as a plain dict."""
    names = ("state", "attempts", "status", "error", "created", "next_at", "delivered")
    return {
        "id": f"msg_{delivery.pk.hex}",
        "inspection": str(delivery.inspection_id) if delivery.inspection_id else None,
        **{name: getattr(delivery, name) for name in names},
    }
