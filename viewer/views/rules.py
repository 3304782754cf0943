"""The catalogue of rules, and one page a rule."""

from itertools import groupby

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from ggufhub.rules import registry

TRUTHS = {
    registry.Truth.INVALID: "the reference loader rejects the file",
    registry.Truth.SPEC: "it loads, but breaks the written specification",
    registry.Truth.PORTABILITY: "it loads here and breaks in another reader or on another host",
    registry.Truth.ADVICE: "nothing rejects it; it is likely not what its maker meant",
}


@require_safe
def rules(request: HttpRequest) -> HttpResponse:
    """Every rule, grouped by area in the catalogue's own order."""
    catalogue = registry.catalogue()
    areas = [(area, list(members)) for area, members in groupby(catalogue, lambda rule: rule.area)]
    return render(request, "viewer/rules.html", {"areas": areas, "count": len(catalogue)})


@require_safe
def rule(request: HttpRequest, rule_id: str) -> HttpResponse:
    """What one rule means, why it matters and how to put it right."""
    found = registry.find_rule(rule_id)
    if found is None:
        raise Http404("There is no such rule.")
    return render(request, "viewer/rule.html", {"rule": found, "truth": TRUTHS[found.truth]})
