"""Names in OCI registries: ``oci://host/namespace/model[:tag]``."""

import re
from urllib.parse import urlsplit

from ggufhub.errors import SourceError
from ggufhub.names import RegistryName

_NAME = re.compile(
    r"(?P<host>[A-Za-z0-9.-]+(?::[0-9]{1,5})?)/"
    r"(?P<repository>[a-z0-9][a-z0-9._/-]{0,254})"
    r"(?::(?P<tag>[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}))?"
    r"(?:@(?P<digest>sha256:[0-9a-f]{64}))?"
)
_PART = re.compile(r"[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*")
"""One part of a repository's name, and above a tag and a digest: distribution specification."""

_ALIASES = {"docker.io": "registry-1.docker.io", "index.docker.io": "registry-1.docker.io"}
"""Docker Hub is called by one name and answers under another."""


def parse_oci_name(text: str, base: str = "") -> RegistryName | None:
    """The name in ``text``, None where it is something else.

    Registries are spoken to over https, but for the operator's own at the origin ``base``.
    ``SourceError('registry_name')`` for what begins as a name and goes wrong.
    """
    scheme, slashes, rest = text.partition("://")
    if not slashes or scheme.lower() != "oci":
        return None
    match = _NAME.fullmatch(rest)
    parts = match["repository"].split("/") if match else []
    if match is None or not all(map(_PART.fullmatch, parts)):
        raise SourceError(
            "registry_name", "A name in an OCI registry looks like oci://host/namespace/model:tag."
        )
    host = match["host"].lower()
    own = urlsplit(base).netloc.lower()
    return RegistryName(
        base if host == own else f"https://{_ALIASES.get(host, host)}",
        "/".join(parts[:-1]),
        parts[-1],
        match["digest"] or match["tag"] or "latest",
        scheme="oci",
    )
