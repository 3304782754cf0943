"""The catalogue of rules as data, as text and as the page ``docs/rules.md``."""

from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Any

from ggufhub.rules.profiles import PROFILES
from ggufhub.rules.registry import Rule, catalogue


def rule_dict(rule: Rule) -> dict[str, Any]:
    """One rule as plain data."""
    return {
        "id": rule.id,
        "title": rule.title,
        "area": rule.area,
        "severity": rule.severity.value,
        "truth": rule.truth.value,
        "needs": [need.value for need in rule.needs],
        "runtimes": list(rule.runtimes),
        "help": rule.help,
        "fix": rule.fix,
    }


def profile_dicts() -> list[dict[str, Any]]:
    """Every profile with the ids of its rules; rules about a policy run where it asks for them."""
    return [
        {
            "name": profile.name,
            "summary": profile.summary,
            "rules": [rule.id for rule in catalogue() if _chosen(rule, profile.name)],
        }
        for profile in PROFILES.values()
    ]


def _chosen(rule: Rule, profile: str) -> bool:
    return rule.policy is None and PROFILES[profile].runs(rule)


def rule_text(rule: Rule) -> str:
    """One rule explained, for a terminal."""
    profiles = [name for name in PROFILES if _chosen(rule, name)] or ["where the policy asks"]
    return (
        f"{rule.id} {rule.title} ({rule.severity.value}, {rule.truth.value})\n\n"
        f"{rule.help}\n\n"
        f"Fix: {rule.fix}\n"
        f"Speaks for: {', '.join(rule.runtimes)}\n"
        f"Needs: {', '.join(need.value for need in rule.needs)}\n"
        f"Profiles: {', '.join(profiles)}\n"
    )


def list_text(rules: Iterable[Rule]) -> str:
    """One line a rule."""
    return "".join(f"{rule.id}  {rule.severity.value:<8} {rule.title}\n" for rule in rules)


def rule_markdown(rule: Rule) -> str:
    """One rule as a section of the catalogue."""
    return (
        f"### {rule.id} {rule.title}\n\n"
        f"*{rule.severity.value}* · {rule.truth.value} · speaks for {', '.join(rule.runtimes)} · "
        f"needs {', '.join(need.value for need in rule.needs)}\n\n"
        f"{rule.help}\n\n**Fix:** {rule.fix}\n"
    )


def catalogue_markdown() -> str:
    """The whole catalogue with its profiles: the page ``docs/rules.md``."""
    return "\n".join(_pages())


def _pages() -> Iterator[str]:
    yield "# Rules\n"
    yield "Made by `ggufhub rules --format markdown --output docs/rules.md`; do not edit.\n"
    yield "**error**: will not load, or is unsafe. **warning**: loads, likely wrong. **info**:"
    yield "worth knowing. A rule whose needs are not met is listed as not evaluated.\n"
    yield "## Profiles\n"
    yield "| profile | for | rules |\n|---|---|---|"
    for profile in profile_dicts():
        yield f"| `{profile['name']}` | {profile['summary']} | {len(profile['rules'])} |"
    for area, rules in groupby(catalogue(), lambda rule: rule.area):
        yield f"\n## {area}\n"
        yield from map(rule_markdown, rules)
