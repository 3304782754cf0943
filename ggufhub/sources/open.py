"""From what a person typed to a source."""

import re
from pathlib import Path
from typing import TYPE_CHECKING

from ggufhub.limits import Limits
from ggufhub.sources.base import ByteSource
from ggufhub.sources.file import FileSource

if TYPE_CHECKING:
    from ggufhub.sources.policy import AddressPolicy

_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")


def is_url(text: str) -> bool:
    """Whether ``text`` names a place on a network rather than a path."""
    return _URL.match(text) is not None


def open_source(
    text: str, *, policy: "AddressPolicy | None" = None, limits: Limits | None = None
) -> ByteSource:
    """The source that ``text`` (a path or an http/https URL) names.

    Raises ``SourceError`` for a missing file and for a URL the policy refuses.
    """
    if not is_url(text):
        return FileSource(Path(text))
    from ggufhub.sources.http import HttpSource
    from ggufhub.sources.policy import AddressPolicy

    return HttpSource(text, policy=policy or AddressPolicy(), limits=limits)
