"""From what a person typed to a report: open the source, inspect it, whatever happens."""

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from ggufhub.errors import SourceError
from ggufhub.limits import FULL, HEADER, Limits
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
    depth: str = HEADER,
    progress: Progress | None = None,
    judge: bool = True,
) -> Report:
    """Inspect a path, link or name; ``networks`` (CIDRs) may be fetched from besides public ones.

    At depth ``full`` every byte is read; so it is where a digest is ``expected`` of a file on
    this machine, because only its bytes can tell.

    ``judge=False`` only looks inside, which is quicker.
    A source that cannot be read gives a report with the verdict ``unreadable``. ``UsageError``
    for a profile or network that makes no sense.
    """
    remote = is_remote(source)
    allowed = addresses(networks) if remote else None
    if expected and not remote:
        depth = FULL
    limits = Limits().for_depth(depth)
    try:
        with open_source(source, policy=allowed, limits=limits) as opened:
            return inspect(
                opened,
                limits=limits,
                profile=profile,
                policy=policy,
                expected=expected,
                arrays=arrays,
                depth=depth,
                progress=progress,
                judge=judge,
            )
    except SourceError as error:
        return unreadable(source, error, profile, policy=policy, depth=depth)


def addresses(networks: Sequence[str]) -> "AddressPolicy":
    """The environment's address policy with ``networks`` opened too."""
    from ggufhub.sources.policy import AddressPolicy

    name = "GGUFHUB_ALLOWED_NETWORKS"
    opened = ",".join(filter(None, [os.environ.get(name), *networks]))
    return AddressPolicy.from_environment({**os.environ, name: opened})
