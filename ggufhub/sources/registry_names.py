"""Which registry names without a host mean."""

from collections.abc import Mapping

from ggufhub.names import REGISTRY, RegistryName, parse_registry_name

__all__ = ["REGISTRY", "RegistryName", "parse_registry_name", "registry_base"]


def registry_base(environment: Mapping[str, str]) -> str:
    """OLLAMA_REGISTRY: the origin of the registry that names without a host mean."""
    base = environment.get("OLLAMA_REGISTRY", "").strip().rstrip("/") or REGISTRY
    return base if "://" in base else f"https://{base}"
