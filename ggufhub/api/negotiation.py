"""The API speaks JSON whatever the Accept header says: a browser's must not be a 406."""

from rest_framework.negotiation import BaseContentNegotiation
from rest_framework.parsers import BaseParser
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request


class AlwaysJSON(BaseContentNegotiation):
    """The first renderer, and the parser that reads the request's content type."""

    def select_parser(self, request: Request, parsers: list[BaseParser]) -> BaseParser | None:
        content_type = (request.content_type or "").partition(";")[0].strip().casefold()
        return next((parser for parser in parsers if parser.media_type == content_type), None)

    def select_renderer(
        self, request: Request, renderers: list[BaseRenderer], format_suffix: str | None = None
    ) -> tuple[BaseRenderer, str]:
        return renderers[0], renderers[0].media_type
