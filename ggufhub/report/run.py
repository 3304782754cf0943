"""From what a person typed to a report: open the source, inspect it, whatever happens."""

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from ggufhub.errors import SourceError
from ggufhub.report.build import Progress, inspect, unreadable
from ggufhub.report.document import Report
from ggufhub.rules.policy import Policy
from ggufhub.rules.profiles import DEFAULT_PROFILE
from ggufhub.sources.open import is_remote, open_source

if TYPE_CHECKING:
    from ggufhub.sources.policy import AddressPolicy


def inspect_source(
    source: str,
    *,
    networks: Sequence[str] = (),
    profile: str = DEFAULT_PROFILE,
    policy: Policy | None = None,
    expected: Mapping[str, str] | None = None,
    arrays: bool = False,
    progress: Progress | None = None,
) -> Report:
    """Inspect a path, link or name; ``networks`` (CIDRs) may be fetched from besides public ones.

    A source that cannot be read gives a report with the verdict ``unreadable``. ``UsageError``
    for a profile or network that makes no sense.
    """
    addresses = _addresses(networks) if is_remote(source) else None
    try:
        with open_source(source, policy=addresses) as opened:
            return inspect(
                opened,
                profile=profile,
                policy=policy,
                expected=expected,
                arrays=arrays,
                progress=progress,
            )
    except SourceError as error:
        return unreadable(source, error, profile, policy=policy)


def _addresses(networks: Sequence[str]) -> "AddressPolicy":
    """The environment's address policy with ``networks`` opened too."""
    from ggufhub.sources.policy import AddressPolicy

    name = "GGUFHUB_ALLOWED_NETWORKS"
    opened = ",".join(filter(None, [os.environ.get(name), *networks]))
    return AddressPolicy.from_environment({**os.environ, name: opened})
