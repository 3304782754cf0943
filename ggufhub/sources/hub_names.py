"""Which hub is asked, and with which token."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from ggufhub.errors import UsageError
from ggufhub.names import COMMIT, ENDPOINT, HubName, parse_hub_name
from ggufhub.sources.secrets import setting

__all__ = ["COMMIT", "HubName", "HubSettings", "parse_hub_name"]


@dataclass(frozen=True, slots=True)
class HubSettings:
    """Which hub, and the token for it. ``token`` is sent to the origin of ``endpoint`` only."""

    endpoint: str = ENDPOINT
    token: str | None = field(default=None, repr=False)

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> "HubSettings":
        """HF_ENDPOINT, and HF_TOKEN or the file HF_TOKEN_FILE names."""
        token = setting(environment, "HF_TOKEN")
        if not token.isprintable() or not token.isascii() or " " in token:
            raise UsageError("HF_TOKEN holds a character that no token has.")
        endpoint = environment.get("HF_ENDPOINT", "").strip().rstrip("/") or ENDPOINT
        return cls(endpoint, token or None)
