"""Views that may be asked only so often; every answer says how much is left."""

from http import HTTPStatus
from typing import Any, ClassVar

from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from ggufhub.api.problems import Problem
from ggufhub.hub import budgets
from ggufhub.hub.budgets import Budget, Turn


class LimitedView(APIView):
    """Takes a turn from ``budgets`` (by method) before the body is read; 429 where none is left."""

    budgets: ClassVar[dict[str, Budget]] = {}
    _turn: Turn | None = None

    def check_throttles(self, request: Request) -> None:
        budget = self.budgets.get(request.method or "")
        if budget is None:
            return
        who = budgets.caller(request.user, request.META.get("REMOTE_ADDR", ""))
        self._turn = budgets.take(budget, who)
        if self._turn is not None and not self._turn.allowed:
            detail = f"At most {budget.most} a minute. Try again in {self._turn.wait} s."
            headers = {"Retry-After": str(self._turn.wait)}
            raise Problem(HTTPStatus.TOO_MANY_REQUESTS, "too-many-requests", detail, headers)

    def finalize_response(
        self, request: Request, response: Response, *args: Any, **kwargs: Any
    ) -> Response:
        answer = super().finalize_response(request, response, *args, **kwargs)
        if self._turn is not None:
            budget = self._turn.budget
            answer.headers["RateLimit-Policy"] = f'"{budget.name}";q={budget.most};w=60'
            answer.headers["RateLimit"] = f'"{budget.name}";r={self._turn.left};t={self._turn.wait}'
        return answer
