"""What `make supply-chain` makes of the answers of pip-audit and of a list of parts."""

import json
from typing import Any

import pytest

from tests.supply import parts, verdict
from tests.supply.__main__ import PROJECT
from tests.supply.verdict import NOT_RUN, Run, judge

GOOD = {"name": "numpy", "version": "2.4.6", "vulns": []}
BAD = {
    "name": "jinja2",
    "version": "3.1.5",
    "vulns": [{"id": "CVE-1", "fix_versions": ["3.1.6"]}, {"id": "CVE-2", "fix_versions": []}],
}
SKIPPED = {"name": "kombu", "skip_reason": "kombu (5.7.0) could not be audited"}


def run(code: int, *packages: dict[str, Any], complaints: str = "") -> Run:
    return Run(code, json.dumps({"dependencies": packages}) if packages else "", complaints)


def never() -> Run:
    raise AssertionError("there is nothing left to ask")


def test_nothing_known_passes() -> None:
    assert judge(run(0, GOOD), never) == verdict.Verdict(
        True, ("dependency audit: 1 packages, no known fault",)
    )


def test_a_known_fault_fails_and_says_what_helps() -> None:
    judged = judge(run(1, GOOD, BAD), never)
    assert not judged.passes
    assert judged.lines == (
        "jinja2 3.1.5: CVE-1, fixed in 3.1.6",
        "jinja2 3.1.5: CVE-2, fixed in no version",
    )


@pytest.mark.parametrize(
    "lenient",
    [
        run(0, SKIPPED, SKIPPED),  # a mirror without the data
        run(1, complaints="requests.exceptions.ConnectionError: …"),
        run(1, complaints="ERROR: Could not connect to the vulnerability feed"),
    ],
)
def test_no_data_is_said_and_does_not_fail(lenient: Run) -> None:
    assert judge(run(1), lambda: lenient) == verdict.Verdict(True, (NOT_RUN,))


def test_one_package_without_data_fails() -> None:
    judged = judge(run(1), lambda: run(1, GOOD, BAD, SKIPPED))
    assert not judged.passes
    assert "kombu (5.7.0) could not be audited" in judged.lines
    assert "jinja2 3.1.5: CVE-1, fixed in 3.1.6" in judged.lines


def test_a_tool_that_breaks_is_no_success() -> None:
    judged = judge(run(2), lambda: run(2, complaints="error: invalid requirement"))
    assert not judged.passes and "invalid requirement" in judged.lines[1]


def test_a_list_of_parts_names_every_dependency() -> None:
    names = parts.declared(PROJECT)
    assert {"django", "psycopg", "obstore", "djangorestframework"} <= names
    document = {"components": [{"name": name.replace("-", "_").upper()} for name in names]}
    assert parts.missing(document, PROJECT) == set()
    document["components"].pop()
    assert len(parts.missing(document, PROJECT)) == 1
