"""Profiles: which rules run. A rule outside the profile is not run and not listed anywhere."""

from dataclasses import dataclass

from ggufhub.errors import UsageError
from ggufhub.rules.policy import REQUIREMENTS, Policy
from ggufhub.rules.registry import AREAS, Rule, Severity, catalogue


@dataclass(frozen=True, slots=True)
class Profile:
    """``select`` holds rule ids and areas; of the areas in ``errors`` only the error rules run."""

    name: str
    summary: str
    select: tuple[str, ...]
    errors: tuple[str, ...] = ()

    def runs(self, rule: Rule) -> bool:
        return _named(rule, self.select) or (
            rule.severity is Severity.ERROR and _named(rule, self.errors)
        )


_TEMPLATES = ("TPL002", "TPL003", "TPL004", "TPL005")
"""What breaks a chat template."""

_PROFILES = (
    Profile("publish", "Everything: before a model is given to others.", tuple(AREAS)),
    Profile(
        "load",
        "Will it load and talk? Only what stops a loader or breaks the chat template.",
        ("STR", "SPL", "KND", "ARC", "HYP", "TEN", *_TEMPLATES, "QNT010"),
        errors=("TOK",),
    ),
    Profile(
        "security",
        "Is it safe to open? Hidden text, reaching templates, malformed structure.",
        ("SEC", "STR"),
    ),
    Profile(
        "audit",
        "Is it what it says it is? Provenance, quantisation, compatibility.",
        # Structure too: a damaged file must not pass an audit for want of readable claims.
        ("STR", "PRV", "QNT", "CMP", "AUD"),
    ),
)

PROFILES = {profile.name: profile for profile in _PROFILES}

DEFAULT_PROFILE = "publish"
"""Who does not choose is told everything."""


def selected(profile: str, policy: Policy | None = None) -> list[Rule]:
    """The rules to run, in catalogue order; a policy rule runs where the policy asks for it.

    ``UsageError`` for a profile that does not exist.
    """
    return [rule for rule in _chosen(profile, policy) if rule.check_repository is None]


def selected_for_repositories(profile: str, policy: Policy | None = None) -> list[Rule]:
    """The rules about many models at once, which run in an audit only. ``UsageError`` as above."""
    return [rule for rule in _chosen(profile, policy) if rule.check_repository is not None]


def _chosen(profile: str, policy: Policy | None) -> list[Rule]:
    if profile not in PROFILES:
        raise UsageError(f"there is no profile {profile}; choose from {', '.join(PROFILES)}")
    return [rule for rule in catalogue() if _runs(rule, PROFILES[profile], policy)]


def _runs(rule: Rule, profile: Profile, policy: Policy | None) -> bool:
    if rule.id in REQUIREMENTS:
        return policy is not None and policy.asks(rule.id)
    if policy is not None and policy.select:
        return _named(rule, policy.select)
    return profile.runs(rule)


def _named(rule: Rule, names: tuple[str, ...]) -> bool:
    return rule.id in names or rule.id[:3] in names
