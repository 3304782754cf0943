"""Reading request bodies, each within a bound that is checked before the first byte."""

from typing import IO, Any

from rest_framework.exceptions import ParseError
from rest_framework.parsers import JSONParser
from rest_framework.request import Request

from ggufhub.hub.uploads import TooLarge

JSON_BYTES = 1024**2
"""A submission is a link or an id; nothing here needs more than a few kilobytes."""


def content_length(request: Request) -> int:
    """The announced size of the body in bytes. Django reads no more than it, and 0 without it."""
    value = request.META.get("CONTENT_LENGTH") or "0"
    return int(value) if value.isascii() and value.isdigit() else 0


class SmallJSONParser(JSONParser):
    """JSON of a sane size and depth: DRF's own parser reads whatever is sent into memory."""

    def parse(
        self,
        stream: IO[Any],
        media_type: str | None = None,
        parser_context: dict[str, Any] | None = None,
    ) -> Any:
        if parser_context and content_length(parser_context["request"]) > JSON_BYTES:
            raise TooLarge(JSON_BYTES)
        try:
            return super().parse(stream, media_type, parser_context)
        except RecursionError:
            raise ParseError("The JSON is nested too deeply.") from None
