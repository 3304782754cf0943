"""What many views need: the inspection if the user may see it, and who the user is."""

from uuid import UUID

from django.contrib.auth.base_user import AbstractBaseUser
from django.http import Http404, HttpRequest, HttpResponse

from ggufhub.hub import selectors
from ggufhub.hub.models import Inspection


def get_inspection(request: HttpRequest, inspection_id: UUID) -> Inspection:
    """The inspection, or 404: one that belongs to others does not exist for this user."""
    try:
        return selectors.get_inspection(request.user, inspection_id)
    except Inspection.DoesNotExist:
        raise Http404("There is no such inspection.") from None


def owner(request: HttpRequest) -> AbstractBaseUser | None:
    """Who submits: the signed-in user, or nobody in open mode."""
    return request.user if request.user.is_authenticated else None


def private(response: HttpResponse) -> HttpResponse:
    """Keep an owner's page out of every cache."""
    response["Cache-Control"] = "private, no-store"
    return response
