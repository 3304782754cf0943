"""Reading request bodies, each within a bound that is checked before the first byte."""

from typing import IO, Any

from rest_framework.exceptions import ParseError
from rest_framework.parsers import BaseParser, JSONParser
from rest_framework.request import Request

from ggufhub.hub.uploads import TooLarge

JSON_BYTES = 1024**2
"""A submission is a link or an id; nothing here needs more than a few kilobytes."""

LIST_BYTES = 20 * 1024**2
"""A list of 100,000 links, quoted."""


def content_length(request: Request) -> int:
    """The announced size of the body in bytes. Django reads no more than it, and 0 without it."""
    value = request.META.get("CONTENT_LENGTH") or "0"
    return int(value) if value.isascii() and value.isdigit() else 0


class SmallJSONParser(JSONParser):
    """JSON of a sane size and depth: DRF's own parser reads whatever is sent into memory."""

    most = JSON_BYTES

    def parse(
        self,
        stream: IO[Any],
        media_type: str | None = None,
        parser_context: dict[str, Any] | None = None,
    ) -> Any:
        if parser_context and content_length(parser_context["request"]) > self.most:
            raise TooLarge(self.most)
        try:
            return super().parse(stream, media_type, parser_context)
        except RecursionError:
            raise ParseError("The JSON is nested too deeply.") from None


class LargeJSONParser(SmallJSONParser):
    """JSON that may hold a long list."""

    most = LIST_BYTES


class LinesParser(BaseParser):
    """A list of links, a line each, as the field ``manifest``."""

    media_type = "application/x-ndjson"

    def parse(
        self,
        stream: IO[Any],
        media_type: str | None = None,
        parser_context: dict[str, Any] | None = None,
    ) -> Any:
        if parser_context and content_length(parser_context["request"]) > LIST_BYTES:
            raise TooLarge(LIST_BYTES)
        try:
            return {"manifest": stream.read().decode()}
        except UnicodeDecodeError:
            raise ParseError("The list is not UTF-8.") from None
