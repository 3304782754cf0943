"""Policy: what one team asks of its models, beyond what every loader asks. Plain, checked data."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Policy:
    """What a policy file says; ``rules.policy_file`` reads and checks it.

    ``select`` replaces the profile's choice of rules (ids or areas such as ``STR``). ``ignore``
    maps an id or area to the reason why its findings do not count. ``severity`` maps an id to
    ``error``, ``warning`` or ``info``. ``max_size`` is in bytes, for all files of a model together.
    """

    select: tuple[str, ...] = ()
    ignore: Mapping[str, str] = field(default_factory=dict)
    severity: Mapping[str, str] = field(default_factory=dict)
    required_keys: tuple[str, ...] = ()
    allowed_licenses: tuple[str, ...] = ()
    max_size: int | None = None
    min_bits_per_weight: float | None = None
    require_template: bool = False

    def asks(self, rule: str) -> bool:
        """Whether this policy sets what the policy rule with this id compares a model with."""
        return bool(getattr(self, REQUIREMENTS[rule]))

    def reason(self, rule: str) -> str | None:
        """Why findings of this rule are ignored; None where they count."""
        return self.ignore.get(rule, self.ignore.get(rule[:3]))


REQUIREMENTS = {
    "POL001": "required_keys",
    "POL002": "allowed_licenses",
    "POL003": "max_size",
    "POL004": "min_bits_per_weight",
    "POL005": "require_template",
}
"""The field of the policy that each policy rule is about."""
