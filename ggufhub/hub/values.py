"""Values on their way into a column: clipped, clamped, and without what PostgreSQL refuses."""

from typing import Any

from ggufhub.hub.models import LARGEST


def clip(value: Any, length: int) -> str:
    """Text of at most ``length`` characters; NUL and lone surrogates become U+FFFD."""
    text = "" if value is None else str(value)
    text = text.replace("\0", "\ufffd")[: length + 1]
    text = text.encode("utf-8", "replace").decode("utf-8") if _has_surrogate(text) else text
    return text if len(text) <= length else text[: length - 1] + "…"


def _has_surrogate(text: str) -> bool:
    return any("\ud800" <= character <= "\udfff" for character in text)


def storable(value: Any) -> bool:
    """Whether every text inside a checked, shallow JSON ``value`` fits a JSON column."""
    if isinstance(value, str):
        return "\0" not in value and not _has_surrogate(value)
    if isinstance(value, dict):
        return all(storable(one) for pair in value.items() for one in pair)
    return all(map(storable, value)) if isinstance(value, list | tuple) else True


def clamp(value: Any) -> int | None:
    """A count or size both databases can hold, or None if ``value`` is no whole number."""
    if not isinstance(value, int) or isinstance(value, bool):
        return None
    return max(0, min(value, LARGEST))
