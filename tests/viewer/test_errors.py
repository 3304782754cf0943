"""Plain pages when something is wrong."""

import pytest
from django.test import RequestFactory

from tests.viewer.page import Page
from viewer.views import errors


@pytest.mark.parametrize(
    ("view", "status", "heading"),
    [
        (errors.bad_request, 400, "That request made no sense"),
        (errors.forbidden, 403, "Not allowed"),
        (errors.csrf_failed, 403, "Not allowed"),
        (errors.not_found, 404, "There is nothing here"),
        (errors.server_error, 500, "The server made a mistake"),
    ],
)
def test_each_says_what_happened_and_where_to_go(view, status: int, heading: str) -> None:
    answer = view(RequestFactory().get("/somewhere"))
    page = Page(answer.content.decode())
    assert answer.status_code == status
    assert page.one("h1").text == heading
    assert page.links == ["/"]
