"""From what a person typed to a source."""

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from ggufhub.errors import SourceError
from ggufhub.limits import Limits
from ggufhub.names import RegistryName, parse_name
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
    such path. Never raises: what begins as a name and goes wrong fails when it is opened."""
    if is_url(text):
        return True
    if "/" not in text or os.path.exists(text):
        return False
    try:
        return parse_name(text) is not None
    except SourceError:
        return True


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
    """The source behind a link, or a name on a hub, in a registry or in an object store; never a
    file of this machine.

    HF_ENDPOINT, HF_TOKEN, MODELSCOPE_ENDPOINT, OLLAMA_REGISTRY, GGUFHUB_BUCKETS with the
    providers' own settings, and GGUFHUB_EGRESS_PROXY are read from ``environment``.
    """
    from ggufhub.sources.bucket import BucketSource
    from ggufhub.sources.bucket_names import parse_object_name
    from ggufhub.sources.http import HttpSource
    from ggufhub.sources.hub import HubSource
    from ggufhub.sources.hub_names import HubSettings
    from ggufhub.sources.modelscope import ModelScopeSource
    from ggufhub.sources.modelscope_names import modelscope_endpoint, parse_modelscope_name
    from ggufhub.sources.oci_names import parse_oci_name
    from ggufhub.sources.policy import AddressPolicy
    from ggufhub.sources.proxy import make_dialer
    from ggufhub.sources.registry import RegistrySource
    from ggufhub.sources.registry_names import registry_base

    policy = policy or AddressPolicy()
    place = parse_object_name(text)
    if place is not None:
        return BucketSource(place, policy=policy, limits=limits, environment=environment)
    dialer = make_dialer(policy, environment)
    scope = parse_modelscope_name(text, modelscope_endpoint(environment))
    if scope is not None:
        file, settings = scope[0], HubSettings(scope[1])
        return ModelScopeSource(
            file, policy=policy, limits=limits, settings=settings, dialer=dialer
        )
    settings, registry = HubSettings.from_environment(environment), registry_base(environment)
    name = parse_oci_name(text, registry) or parse_name(text, settings.endpoint, registry)
    if isinstance(name, RegistryName):
        return RegistrySource(name, policy=policy, limits=limits, dialer=dialer)
    if name is not None:
        return HubSource(name, policy=policy, limits=limits, settings=settings, dialer=dialer)
    return HttpSource(text, policy=policy, limits=limits, dialer=dialer)
