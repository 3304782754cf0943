"""Characters that are in a text but cannot be seen, or move what can."""

import re
from collections.abc import Iterator

HIDDEN, CONTROL = "hidden", "control"

_PATTERNS = {
    HIDDEN: (
        (re.compile("[\u202a-\u202e\u2066-\u2069]"), "a character that reorders text"),
        (re.compile("[\U000e0000-\U000e007f]"), "an invisible tag character"),
        (re.compile("[\u200b-\u200d\u2060\ufeff\u00ad\u180e]"), "an invisible character"),
    ),
    CONTROL: ((re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]"), "a control character"),),
}
"""Unicode: bidirectional controls, the tag block, zero-width and soft characters, C0 and C1."""


def hidden_characters(text: str, kind: str) -> Iterator[tuple[int, str]]:
    """Line and words for each character of ``kind``, HIDDEN or CONTROL."""
    if text.isprintable() or (kind == HIDDEN and text.isascii()):
        return
    for pattern, said in _PATTERNS[kind]:
        line, counted = 1, 0
        for match in pattern.finditer(text):
            line += text.count("\n", counted, match.start())
            counted = match.start()
            yield line, f"{said} (U+{ord(match[0]):04X})"
