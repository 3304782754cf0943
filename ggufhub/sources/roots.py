"""The folders of this machine that a service may read for its users."""

import os
from collections.abc import Sequence
from pathlib import Path

from ggufhub.errors import SourceError
from ggufhub.sources.list_folder import is_below


def check_below(path: str, roots: Sequence[Path]) -> None:
    """``SourceError('forbidden')`` unless ``path``, links resolved, lies below one of ``roots``.

    What does not exist and what is forbidden are not told apart: the answer would tell strangers
    what is on the machine.
    """
    real = os.path.realpath(path)
    if not any(is_below(real, str(root)) for root in roots):
        raise SourceError("forbidden", "This server does not read that path (GGUFHUB_ROOTS).")
