"""The catalogue of rules."""

from http import HTTPStatus
from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from ggufhub.api.problems import Problem
from ggufhub.api.serializers import RuleOutput, RulesOutput
from ggufhub.rules.registry import Rule, catalogue


def rule_dict(rule: Rule) -> dict[str, Any]:
    """``RuleOutput`` as a plain dict."""
    return {
        "id": rule.id,
        "title": rule.title,
        "area": rule.area,
        "severity": rule.severity.value,
        "truth": rule.truth.value,
        "needs": [need.value for need in rule.needs],
        "runtimes": list(rule.runtimes),
        "help": rule.help,
        "fix": rule.fix,
    }


class Rules(APIView):
    @extend_schema(operation_id="rules_list", responses=RulesOutput)
    def get(self, request: Request) -> Response:
        """Every rule, in the order in which findings are listed."""
        return Response({"items": [rule_dict(rule) for rule in catalogue()]})


class OneRule(APIView):
    @extend_schema(operation_id="rules_get", responses=RuleOutput)
    def get(self, request: Request, id: str) -> Response:
        """One rule: why it matters and how to fix it."""
        for rule in catalogue():
            if rule.id == id:
                return Response(rule_dict(rule))
        raise Problem(HTTPStatus.NOT_FOUND, "not-found", "There is no rule with this id.")
