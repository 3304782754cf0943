"""From what a person typed to a source."""

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from ggufhub.limits import Limits
from ggufhub.sources.base import ByteSource
from ggufhub.sources.file import FileSource

if TYPE_CHECKING:
    from ggufhub.sources.policy import AddressPolicy

_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")


def is_url(text: str) -> bool:
    """Whether ``text`` names a place on a network by a scheme rather than a path."""
    return _URL.match(text) is not None


def is_remote(text: str) -> bool:
    """Whether ``text`` is read over a network: a URL, or ``owner/repository`` where there is no
    such path."""
    if is_url(text):
        return True
    if "/" not in text or Path(text).exists():
        return False
    from ggufhub.sources.hub_names import parse_hub_name

    return parse_hub_name(text) is not None


def open_source(
    text: str, *, policy: "AddressPolicy | None" = None, limits: Limits | None = None
) -> ByteSource:
    """The source that ``text`` names: a path, or anything ``open_remote`` takes.

    Raises ``SourceError`` for a missing file and for a URL the policy refuses.
    """
    if is_remote(text):
        return open_remote(text, policy=policy, limits=limits)
    return FileSource(Path(text))


def open_remote(
    text: str,
    *,
    policy: "AddressPolicy | None" = None,
    limits: Limits | None = None,
    environment: Mapping[str, str] = os.environ,
) -> ByteSource:
    """The source behind a link, a hub name or a registry name; never a file of this machine.

    HF_ENDPOINT, HF_TOKEN, OLLAMA_REGISTRY and GGUFHUB_EGRESS_PROXY are read from
    ``environment``.
    """
    from ggufhub.sources.http import HttpSource
    from ggufhub.sources.hub import HubSource
    from ggufhub.sources.hub_names import HubSettings, modelscope_link, parse_hub_name
    from ggufhub.sources.policy import AddressPolicy
    from ggufhub.sources.proxy import make_dialer
    from ggufhub.sources.registry import RegistrySource
    from ggufhub.sources.registry_names import parse_registry_name, registry_base

    policy = policy or AddressPolicy()
    dialer = make_dialer(policy, environment)
    registry = parse_registry_name(text, registry_base(environment))
    if registry is not None:
        return RegistrySource(registry, policy=policy, limits=limits, dialer=dialer)
    settings = HubSettings.from_environment(environment)
    hub = parse_hub_name(text, settings.endpoint)
    if hub is not None:
        return HubSource(hub, policy=policy, limits=limits, settings=settings, dialer=dialer)
    return HttpSource(modelscope_link(text) or text, policy=policy, limits=limits, dialer=dialer)
