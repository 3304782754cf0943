"""Lists that grow: pages by an opaque cursor, newest first."""

from collections.abc import Mapping
from typing import Any

from rest_framework.pagination import CursorPagination
from rest_framework.response import Response


class NewestFirst(CursorPagination):
    """``{items, next, prev}`` and the same links in a Link header; ``limit`` up to 200."""

    page_size = 50
    max_page_size = 200
    page_size_query_param = "limit"
    ordering = ("-created", "-id")

    def get_paginated_response(
        self, data: list[Any], headers: Mapping[str, str] | None = None
    ) -> Response:
        """The page; ``headers`` are further ones of the answer."""
        links = {"next": self.get_next_link(), "prev": self.get_previous_link()}
        header = ", ".join(f'<{link}>; rel="{name}"' for name, link in links.items() if link)
        link = {"Link": header} if header else {}
        return Response({"items": data, **links}, headers={**link, **(headers or {})})
