"""What the product is made of, as a CycloneDX document: is every declared dependency in it?"""

import re
import tomllib
from pathlib import Path
from typing import Any

EXTRAS = ("objects", "postgres")
"""What docs/deploy/Dockerfile installs beside the product itself."""


def declared(project: Path) -> set[str]:
    """The names of the dependencies in ``pyproject.toml``, in their normal form."""
    table = tomllib.loads(project.read_text())["project"]
    wanted = [*table["dependencies"]]
    for extra in EXTRAS:
        wanted += table["optional-dependencies"][extra]
    return {normal(re.split(r"[\s\[<>=;]", one)[0]) for one in wanted}


def missing(document: dict[str, Any], project: Path) -> set[str]:
    """Declared dependencies that the document lacks."""
    return declared(project) - {normal(part["name"]) for part in document["components"]}


def normal(name: str) -> str:
    """The one spelling by which names of packages are compared (PEP 503)."""
    return re.sub(r"[-_.]+", "-", name).lower()
