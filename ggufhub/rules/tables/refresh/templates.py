"""The chat templates llama.cpp keeps for its tests, as digests by the repository they are from."""

import re
from pathlib import Path
from typing import Any

from ggufhub.templating.digest import template_digest

_VARIANT = re.compile(r"-(?:tool_use|rag|interleaved|fixed)$")


def templates(tree: Path) -> dict[str, Any]:
    """The table ``templates``: digests by name, several where a model has variants."""
    found: dict[str, list[str]] = {}
    for path in sorted((tree / "models" / "templates").glob("*.jinja")):
        name = _VARIANT.sub("", path.stem).lower()
        found.setdefault(name, []).append(template_digest(path.read_text("utf-8")))
    if not found:
        raise ValueError("models/templates is gone")
    return {"digests": found}
