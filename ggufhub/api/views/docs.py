"""The page that describes the API: made here from the OpenAPI document, without any script."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from ggufhub.api.reference import reference


@require_safe
def docs(request: HttpRequest) -> HttpResponse:
    """Every operation with its parameters, bodies, answers and a command line that calls it."""
    base = request.build_absolute_uri("/").rstrip("/")
    return render(request, "api/docs.html", {"api": reference(base)})
