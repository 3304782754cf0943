"""Settings that may be secret: in the environment, or in a file that the environment names."""

from collections.abc import Mapping
from pathlib import Path

from ggufhub.errors import UsageError


def setting(environment: Mapping[str, str], name: str) -> str:
    """The value of ``name``, or what is in the file that ``name_FILE`` names; "" if neither is set.

    Space around it is cut. ``UsageError`` if the file cannot be read.
    """
    value = environment.get(name, "").strip()
    file = environment.get(f"{name}_FILE", "").strip()
    if value or not file:
        return value
    try:
        return Path(file).read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{name}_FILE: {file} cannot be read.") from error
