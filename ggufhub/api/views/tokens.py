"""Tokens for programs: a user's own, made, listed and revoked."""

from http import HTTPStatus

from django.shortcuts import get_object_or_404
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from ggufhub.api import examples
from ggufhub.api.auth import HasScope, NotCrossSite, SignedIn
from ggufhub.api.limited import LimitedView
from ggufhub.api.token_serializers import (
    NewTokenOutput,
    TokenInput,
    TokensOutput,
    token_dict,
)
from ggufhub.hub import budgets, tokens

PRIVATE = {"Cache-Control": "no-store"}


class Tokens(LimitedView):
    """The caller's tokens."""

    permission_classes = (SignedIn, NotCrossSite, HasScope)
    scope = "admin"
    budgets = {"POST": budgets.CREATE_TOKEN}

    @extend_schema(operation_id="tokens_list", responses=TokensOutput)
    def get(self, request: Request) -> Response:
        """Newest first, without their secrets."""
        rows = [token_dict(token) for token in tokens.of(request.user)]
        return Response({"items": rows}, headers=PRIVATE)

    @extend_schema(
        operation_id="tokens_create",
        request=TokenInput,
        responses={201: NewTokenOutput},
        examples=examples.TOKEN,
    )
    def post(self, request: Request) -> Response:
        """A new token. Its text is in this answer and nowhere else."""
        data = TokenInput(data=request.data)
        data.is_valid(raise_exception=True)
        token, text = tokens.create(owner=request.user, **data.validated_data)
        return Response({**token_dict(token), "token": text}, HTTPStatus.CREATED, headers=PRIVATE)


class OneToken(APIView):
    """One of the caller's tokens."""

    permission_classes = (SignedIn, NotCrossSite, HasScope)
    scope = "admin"

    @extend_schema(operation_id="tokens_revoke", request=None, responses={204: None})
    def delete(self, request: Request, id: str) -> Response:
        """Revoke it: from now on it opens nothing."""
        tokens.revoke(get_object_or_404(tokens.of(request.user), pk=id))
        return Response(status=HTTPStatus.NO_CONTENT)
