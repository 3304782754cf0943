"""What a page says when it failed: the database is away for a moment, or we made a mistake."""

import sys

from django.db import InterfaceError, OperationalError
from django.http import HttpRequest, HttpResponse
from django.utils.module_loading import import_string

RETRY_SECONDS = "5"


def server_error(request: HttpRequest) -> HttpResponse:
    """503 with ``Retry-After`` where the database does not answer, else 500.

    Called while the exception is handled. The page itself is the viewer's.
    """
    answer: HttpResponse = import_string("viewer.views.errors.server_error")(request)
    if isinstance(sys.exc_info()[1], OperationalError | InterfaceError):
        answer.status_code = 503
        answer["Retry-After"] = RETRY_SECONDS
    return answer
