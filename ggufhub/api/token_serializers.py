"""Tokens, in and out."""

from typing import Any

from rest_framework import serializers

from ggufhub.hub.models import ApiToken
from ggufhub.hub.tokens import MOST_DAYS, SCOPES


class TokenInput(serializers.Serializer[Any]):
    """What a new token may do, and for how long."""

    name = serializers.CharField(max_length=100)
    scopes = serializers.ListField(
        child=serializers.ChoiceField(SCOPES),
        min_length=1,
        max_length=len(SCOPES),
        help_text="Each includes those before it: read, submit, admin.",
    )
    days = serializers.IntegerField(
        required=False,
        allow_null=True,
        min_value=1,
        max_value=MOST_DAYS,
        help_text="Days of validity; without it there is no end.",
    )


class TokenOutput(serializers.Serializer[Any]):
    id = serializers.CharField()
    name = serializers.CharField()
    scopes = serializers.ListField(child=serializers.ChoiceField(SCOPES))
    created = serializers.DateTimeField()
    expires = serializers.DateTimeField(allow_null=True)
    last_used = serializers.DateTimeField(allow_null=True)


class NewTokenOutput(TokenOutput):
    token = serializers.CharField(help_text="For the Authorization header. Shown only now.")


class TokensOutput(serializers.Serializer[Any]):
    items = TokenOutput(many=True)


def token_dict(token: ApiToken) -> dict[str, Any]:
    """``TokenOutput`` as a plain dict."""
    names = ("name", "scopes", "created", "expires", "last_used")
    return {"id": token.pk, **{name: getattr(token, name) for name in names}}
