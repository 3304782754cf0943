"""The catalogue of rules, and the profiles that choose from it."""

from http import HTTPStatus

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from ggufhub.api.problems import Problem
from ggufhub.api.serializers import ProfilesOutput, RuleOutput, RulesOutput
from ggufhub.rules.catalogue import profile_dicts, rule_dict
from ggufhub.rules.registry import catalogue, find_rule


class Rules(APIView):
    @extend_schema(operation_id="rules_list", responses=RulesOutput)
    def get(self, request: Request) -> Response:
        """Every rule, in the order in which findings are listed."""
        return Response({"items": [rule_dict(rule) for rule in catalogue()]})


class OneRule(APIView):
    @extend_schema(operation_id="rules_get", responses=RuleOutput)
    def get(self, request: Request, id: str) -> Response:
        """One rule: why it matters and how to fix it."""
        rule = find_rule(id)
        if rule is None:
            raise Problem(HTTPStatus.NOT_FOUND, "not-found", "There is no rule with this id.")
        return Response(rule_dict(rule))


class Profiles(APIView):
    @extend_schema(operation_id="profiles_list", responses=ProfilesOutput)
    def get(self, request: Request) -> Response:
        """Every profile with the rules it runs; the first is the default."""
        return Response({"items": profile_dicts()})
