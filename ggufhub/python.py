"""The one call of the Python API: ``from ggufhub import inspect``."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ggufhub.integrity.expected import expected_digests
from ggufhub.report.run import inspect_source
from ggufhub.rules.policy import Policy
from ggufhub.rules.policy_file import parse_policy, read_policy
from ggufhub.rules.profiles import DEFAULT_PROFILE


def inspect(
    source: str | os.PathLike[str],
    *,
    profile: str = DEFAULT_PROFILE,
    policy: str | os.PathLike[str] | Mapping[str, Any] | None = None,
    expect_sha256: str | None = None,
    allow_network: Sequence[str] = (),
) -> dict[str, Any]:
    """The report document (schema ``ggufhub.report/1``) about one model.

    ``source`` is a path, a link or a hub name. ``policy`` is the path of a TOML file, or its
    fields. A model that is wrong or cannot be read is a verdict, not an exception; ``UsageError``
    says that a profile, a policy, a digest or a network makes no sense.
    """
    report = inspect_source(
        os.fspath(source),
        profile=profile,
        policy=_policy(policy),
        expected=expected_digests(expect_sha256),
        networks=allow_network,
    )
    return report.document


def _policy(policy: str | os.PathLike[str] | Mapping[str, Any] | None) -> Policy | None:
    if policy is None:
        return None
    return parse_policy(policy) if isinstance(policy, Mapping) else read_policy(Path(policy))
