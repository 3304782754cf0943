"""Characters that are in a text but cannot be seen, or move what can."""

import re
from collections.abc import Iterator

_KINDS = (
    ("hidden", re.compile("[\u202a-\u202e\u2066-\u2069]"), "a character that reorders text"),
    ("hidden", re.compile("[\U000e0000-\U000e007f]"), "an invisible tag character"),
    ("hidden", re.compile("[\u200b-\u200d\u2060\ufeff\u00ad\u180e]"), "an invisible character"),
    ("control", re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]"), "a control character"),
)
"""Unicode: bidirectional controls, the tag block, zero-width and soft characters, C0 and C1."""


def hidden_characters(text: str) -> Iterator[tuple[str, int, str]]:
    """Kind (``hidden`` or ``control``), line and words for each such character."""
    for what, pattern, said in _KINDS:
        for match in pattern.finditer(text):
            yield what, text.count("\n", 0, match.start()) + 1, f"{said} (U+{ord(match[0]):04X})"
