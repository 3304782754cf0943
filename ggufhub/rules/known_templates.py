"""Templates that are known by the repository they belong to."""

import re

from ggufhub.rules.subject import Subject
from ggufhub.rules.tables import table

BASE_URL = "general.base_model.0.repo_url"

_REPOSITORY = re.compile(r"^https://[^/]+/([\w.-]+)/([\w.-]+?)/?$")


def base_templates(subject: Subject) -> list[str]:
    """Digests of the templates of the declared base model; empty where they are not known.

    The table names a template ``organisation-repository``.
    """
    match = _REPOSITORY.match(subject.text(BASE_URL) or "")
    if match is None:
        return []
    known: dict[str, list[str]] = table("templates")["digests"]
    return known.get(f"{match[1]}-{match[2]}".lower(), [])
