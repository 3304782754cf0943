"""The digest that whoever asks expects of a file, as people write it."""

import re

from ggufhub.errors import UsageError

SHA256 = "sha256"

_HEX = re.compile(r"[0-9a-f]{64}")


def expected_digests(text: str | None) -> dict[str, str]:
    """The expected digests by algorithm, in lower-case hex, from a SHA-256 a person gave.

    Nothing for None. ``UsageError`` for what is no SHA-256.
    """
    if text is None:
        return {}
    digest = text.strip().lower()
    if not _HEX.fullmatch(digest):
        raise UsageError("an expected SHA-256 has 64 hexadecimal digits")
    return {SHA256: digest}
