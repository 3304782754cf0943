"""Profiles choose rules; a policy changes the choice and asks for more."""

from pathlib import Path
from typing import Any

import pytest

from ggufhub.errors import UsageError
from ggufhub.report.build import inspect
from ggufhub.rules.model_samples import llama
from ggufhub.rules.policy import REQUIREMENTS, Policy
from ggufhub.rules.policy_file import parse_policy, policy_values, read_policy
from ggufhub.rules.profiles import PROFILES, selected
from ggufhub.rules.registry import AREAS, Severity, catalogue
from ggufhub.rules.template_samples import with_template
from tests.core.reading import report, rules_hit, source_of

REACHING = '{{ lipsum.__globals__["os"] }}'


def ids(profile: str, policy: Policy | None = None) -> set[str]:
    return {rule.id for rule in selected(profile, policy)}


def test_publish_is_everything_but_policy() -> None:
    about_models = {rule.id for rule in catalogue() if rule.check_repository is None}
    assert ids("publish") == about_models - set(REQUIREMENTS)


def test_load_is_what_stops_a_loader() -> None:
    chosen = selected("load")
    assert {"STR032", "SPL003", "TOK002", "TPL002"} <= {rule.id for rule in chosen}
    assert not {"SEC001", "TPL001", "TOK008"} & {rule.id for rule in chosen}
    assert all(rule.severity is Severity.ERROR for rule in chosen if rule.id.startswith("TOK"))


@pytest.mark.parametrize("profile", [name for name in PROFILES if name != "load"])
def test_profiles_are_whole_areas(profile: str) -> None:
    areas = PROFILES[profile].select
    assert set(areas) <= set(AREAS)
    assert {id[:3] for id in ids(profile)} <= set(areas)


def test_every_profile_looks_at_the_structure() -> None:
    assert all("STR001" in ids(profile) for profile in PROFILES)


def test_a_rule_outside_the_profile_is_not_mentioned() -> None:
    data = with_template(REACHING)
    wide = inspect(source_of(data)).document
    narrow = inspect(source_of(data), profile="load").document
    assert "SEC001" in {finding["rule"] for finding in wide["findings"]}
    listed = {entry["rule"] for entry in (*narrow["findings"], *narrow["not_evaluated"])}
    assert not any(rule.startswith("SEC") for rule in {*listed, *narrow["rule_set"]["evaluated"]})
    assert narrow["profile"] == "load"


def test_an_unknown_profile_is_refused() -> None:
    with pytest.raises(UsageError, match="there is no profile best; choose from publish, load"):
        selected("best")


def test_select_replaces_the_profile() -> None:
    assert ids("publish", Policy(select=("TPL002", "SPL"))) == {"TPL002"} | {
        rule.id for rule in catalogue() if rule.id.startswith("SPL")
    }


def test_ignored_findings_are_counted_with_their_reason() -> None:
    data = llama({"bad key": 1})
    policy = parse_policy({"ignore": {"str013": "our own key", "TPL": "a base model"}})
    document = report(data, policy=policy).document
    assert not {"STR013", "TPL001"} & {finding["rule"] for finding in document["findings"]}
    assert document["verdict"] == "pass"
    assert {"rule": "STR013", "reason": "our own key", "findings": 1} in document["ignored"]
    assert {"rule": "TPL001", "reason": "a base model", "findings": 1} in document["ignored"]


def test_a_severity_is_overruled() -> None:
    policy = parse_policy({"severity": {"STR013": "error"}})
    assert report(llama({"bad key": 1}), policy=policy).verdict == "fail"


def test_a_model_that_keeps_the_policy() -> None:
    policy = parse_policy(
        {
            "required_keys": ["general.license"],
            "allowed_licenses": ["MIT", "Apache-2.0"],
            "max_size": "1 MiB",
            "min_bits_per_weight": 32,
        }
    )
    result = report(llama(), policy=policy)
    assert not any(rule.startswith("POL") for rule in rules_hit(result))
    evaluated = result.document["rule_set"]["evaluated"]
    assert [id for id in evaluated if id.startswith("POL")] == [
        "POL001", "POL002", "POL003", "POL004"
    ]  # fmt: skip


def test_sizes_of_shards_are_added() -> None:
    files = {
        f"m-0000{n}-of-00002.gguf": llama(
            {"split.no": n - 1, "split.count": 2, "split.tensors.count": 42}
        )
        for n in (1, 2)
    }
    most = max(map(len, files.values()))
    assert "POL003" in rules_hit(report(files, policy=Policy(max_size=most)))
    assert "POL003" not in rules_hit(report(files, policy=Policy(max_size=2 * most)))


WRONG: list[tuple[str, int, str]] = [
    ('selekt = ["STR"]', 1, "selekt: there is no such field; did you mean select?"),
    ('\nselect = ["STR999"]', 2, "select: there is no rule 'STR999'"),
    ("select = 3", 1, "select: must be a list of texts"),
    ("max_size = true", 1, 'max_size: must be a size such as 4000000000 or "4 GiB"'),
    ('max_size = "8 parsecs"', 1, "max_size: must be a size"),
    ("min_bits_per_weight = nan", 1, "min_bits_per_weight: must be a number of bits"),
    ('require_template = "yes"', 1, "require_template: must be true or false"),
    ('[ignore]\nTPL001 = ""', 2, "ignore.TPL001: an ignored rule needs a reason"),
    ('[ignore]\n\n"XYZ" = "why"', 3, "ignore.XYZ: there is no rule 'XYZ'"),
    ('[severity]\nSTR013 = "fatal"', 2, "severity.STR013: must be one of error, warning, info"),
    ('[severity]\nSTR = "info"', 2, "severity.STR: there is no rule 'STR'"),
    ("ignore = []", 1, "ignore: must be a table of rules"),
]


@pytest.mark.parametrize(("text", "line", "message"), WRONG)
def test_a_wrong_policy_names_its_line(tmp_path: Path, text: str, line: int, message: str) -> None:
    path = tmp_path / "policy.toml"
    path.write_text(text)
    with pytest.raises(UsageError) as caught:
        read_policy(path)
    assert f"policy.toml, line {line}: {message}" in caught.value.message


def test_files_that_are_no_policy(tmp_path: Path) -> None:
    path = tmp_path / "policy.toml"
    with pytest.raises(UsageError, match="cannot be read: No such file"):
        read_policy(path)
    path.write_text("select = 1 2")
    with pytest.raises(UsageError, match=r"is not TOML: .*line 1"):
        read_policy(path)
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(UsageError, match="is not UTF-8"):
        read_policy(path)


@pytest.mark.parametrize(
    "values",
    [
        {"required_keys": ["a\0b"]},
        {"ignore": {"TPL001": "\ud800"}},
        {"\ud800": 1},
        {"max_size": 2**70},
        {"select": ["STR"] * 1001},
    ],
)
def test_a_policy_from_outside_is_checked(values: dict[str, Any]) -> None:
    with pytest.raises(UsageError) as caught:
        parse_policy(values)
    caught.value.message.encode()


def test_the_documented_policy_is_one(tmp_path: Path) -> None:
    page = (Path(__file__).parent.parent.parent / "docs" / "policy.md").read_text()
    path = tmp_path / "policy.toml"
    path.write_text(page.split("```toml\n")[1].split("```")[0])
    policy = read_policy(path)
    assert policy.max_size == 8 * 1024**3
    assert parse_policy(policy_values(policy)) == policy
    assert all(policy.asks(rule) for rule in REQUIREMENTS)
