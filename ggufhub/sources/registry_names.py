"""Names in model registries: ``ollama://[host/][namespace/]model[:tag]``."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from ggufhub.errors import SourceError

REGISTRY = "https://registry.ollama.ai"

_PART = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}")
_HOST = re.compile(r"[A-Za-z0-9.-]+(?::[0-9]{1,5})?")
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
_PAGE = re.compile(r"https?://(?:www\.)?ollama\.com/library/([^/?#]+)/?(?:[?#].*)?")


@dataclass(frozen=True, slots=True)
class RegistryName:
    """A model in a registry. ``base`` is the registry's origin, ``reference`` a tag or digest."""

    base: str
    namespace: str
    model: str
    reference: str = "latest"

    @property
    def repository(self) -> str:
        return f"{self.namespace}/{self.model}"

    @property
    def locator(self) -> str:
        """The name as a person would write it, with everything that was left out."""
        mark = "@" if ":" in self.reference else ":"
        host = self.base.partition("://")[2]
        return f"ollama://{host}/{self.repository}{mark}{self.reference}"


def registry_base(environment: Mapping[str, str]) -> str:
    """OLLAMA_REGISTRY: the origin of the registry that names without a host mean."""
    base = environment.get("OLLAMA_REGISTRY", "").strip().rstrip("/") or REGISTRY
    return base if "://" in base else f"https://{base}"


def parse_registry_name(text: str, base: str = REGISTRY) -> RegistryName | None:
    """The registry name in ``text``, None where it is something else.

    ``SourceError('registry_name')`` for what begins as one and goes wrong.
    """
    page = _PAGE.fullmatch(text)
    scheme, slashes, rest = text.partition("://")
    if page:
        rest = f"library/{page[1]}"
    elif not slashes or scheme.lower() != "ollama":
        return None
    path, at, digest = rest.partition("@")
    parts = path.split("/")
    parts[-1], _, tag = parts[-1].partition(":")
    host = ""
    if len(parts) == 3 or (len(parts) == 2 and re.search("[.:]", parts[0])):
        host = parts.pop(0)
    namespace, model = ("library", *parts)[-2:]
    reference = digest if at else tag or "latest"
    sound = (
        len(parts) <= 2
        and (not host or _HOST.fullmatch(host))
        and all(_PART.fullmatch(part) for part in (namespace, model))
        and (_DIGEST.fullmatch(reference) if at else _PART.fullmatch(reference))
    )
    if not sound:
        raise SourceError(
            "registry_name",
            "A registry name looks like ollama://[host/][namespace/]model[:tag].",
        )
    own = base.partition("://")[2]
    return RegistryName(
        base if host in ("", own) else f"https://{host}", namespace, model, reference
    )
