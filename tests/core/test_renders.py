"""Renders: valid by their schemas, within their limits, and safe with whatever a file holds."""

import json
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as Xml

import jsonschema
import pytest

from ggufhub.errors import SourceError
from ggufhub.report.baseline import mark_known
from ggufhub.report.build import unreadable
from ggufhub.report.render import FORMAT_NAMES
from ggufhub.report.render.badge import badge
from ggufhub.report.render.formats import FORMATS, Style, render
from ggufhub.report.render.github import github
from ggufhub.report.render.junit import junit
from ggufhub.report.render.markdown import MOST_CHARACTERS, escape, markdown
from ggufhub.report.render.sarif import MOST_RESULTS, sarif
from ggufhub.report.render.words import uri
from ggufhub.rules.model_samples import llama
from ggufhub.rules.policy import Policy
from tests.builders import Gguf
from tests.core.reading import report

Document = dict[str, Any]

SCHEMA = json.loads((Path(__file__).parent.parent / "schemas" / "sarif-2.1.0.json").read_text())
SARIF = jsonschema.Draft202012Validator(SCHEMA)

JUNIT_PARTS = {
    "testsuites": ({"testsuite"}, {"name", "tests", "failures", "errors", "skipped", "time"}),
    "testsuite": ({"testcase"}, {"name", "tests", "failures", "errors", "skipped", "time"}),
    "testcase": ({"failure", "error", "skipped", "system-out"}, {"name", "classname"}),
    "failure": (set(), {"message", "type"}),
    "error": (set(), {"message", "type"}),
    "skipped": (set(), {"message"}),
    "system-out": (set(), set()),
}
"""Of each element the children it may have and the attributes it must have: what readers of JUnit
files agree on."""

HOSTILE = "\x1b]0;x\x07|<img src=x onerror=y>`@org ::error::%0A\n\r\u202e&]]>,a:b https://e.example"


@pytest.fixture
def good() -> Document:
    return report(llama()).document


@pytest.fixture
def bad() -> Document:
    return report(llama({"bad key": 1})[:-200]).document


@pytest.fixture
def hostile() -> Document:
    return report(Gguf().key(HOSTILE, 1).tensor(HOSTILE[:60], shape=(0,)).build()).document


@pytest.fixture
def lost() -> Document:
    return report(b"<html>").document


def check_junit(text: str) -> Xml.Element:
    """The parsed file, its structure and totals checked."""
    root = Xml.fromstring(text)
    assert root.tag == "testsuites"
    for element in root.iter():
        children, attributes = JUNIT_PARTS[element.tag]
        assert {child.tag for child in element} <= children
        assert attributes <= set(element.attrib)
    for suite in root:
        assert int(suite.attrib["tests"]) == len(suite)
        for total, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
            assert int(suite.attrib[total]) == sum(case.find(tag) is not None for case in suite)
        assert all(len(case.findall("failure")) <= 1 for case in suite)
        names = [case.attrib["name"] for case in suite]
        assert len(names) == len(set(names))
    assert int(root.attrib["tests"]) == sum(len(suite) for suite in root)
    return root


def test_the_names_are_those_of_the_formats() -> None:
    assert tuple(FORMATS) == FORMAT_NAMES


def test_sarif_is_valid_and_one_run(
    good: Document, bad: Document, lost: Document, hostile: Document
) -> None:
    log = sarif([good, bad, lost, hostile])
    SARIF.validate(log)
    (run,) = log["runs"]
    rules = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    assert all(rules[result["ruleIndex"]] == result["ruleId"] for result in run["results"])
    assert len(run["artifacts"]) == 4
    assert run["invocations"][0]["executionSuccessful"] is False
    assert all(len(rule["properties"]["tags"]) <= 20 for rule in run["tool"]["driver"]["rules"])


def test_the_schema_refuses_what_is_wrong(bad: Document) -> None:
    log = sarif([bad])
    log["runs"][0]["results"][0]["ruleIndex"] = "0"
    with pytest.raises(jsonschema.ValidationError):
        SARIF.validate(log)


def test_sarif_points_at_bytes_and_tensors(bad: Document) -> None:
    (result,) = [r for r in sarif([bad])["runs"][0]["results"] if r["ruleId"] == "STR032"]
    (location,) = result["locations"]
    finding = next(f for f in bad["findings"] if f["rule"] == "STR032")
    place = finding["place"]
    assert location["physicalLocation"] == {
        "artifactLocation": {"uri": "model.gguf"},
        "region": {"byteOffset": place["offset"], "byteLength": place["length"]},
    }
    assert location["logicalLocations"][0]["fullyQualifiedName"].startswith("tensors/blk.1.")
    assert result["level"] == "error"
    assert result["partialFingerprints"] == {"ggufhub/v1": finding["fingerprint"]}


def test_sarif_says_what_is_new(bad: Document) -> None:
    known = frozenset(f["fingerprint"] for f in bad["findings"] if f["rule"] == "STR032")
    log = sarif([mark_known(bad, known)])
    SARIF.validate(log)
    states = {r["ruleId"]: r["baselineState"] for r in log["runs"][0]["results"]}
    assert states["STR032"] == "unchanged"
    assert states["STR013"] == "new"


def test_sarif_keeps_the_worst_of_too_many(bad: Document) -> None:
    note = next(f for f in bad["findings"] if f["severity"] == "info")
    error = next(f for f in bad["findings"] if f["severity"] == "error")
    many = {**bad, "findings": [note] * MOST_RESULTS + [error] * 3}
    run = sarif([many])["runs"][0]
    assert len(run["results"]) == MOST_RESULTS
    assert [result["level"] for result in run["results"][:4]] == ["error"] * 3 + ["note"]
    text = run["invocations"][0]["toolExecutionNotifications"][0]["message"]["text"]
    assert text == "3 of 5,003 findings, the least severe, are left out of this file."


@pytest.mark.parametrize(
    ("path", "written"),
    [
        ("./models/a b.gguf", "models/a%20b.gguf"),
        ("/data/ü.gguf", "file:///data/%C3%BC.gguf"),
        ("https://host/a%20b.gguf", "https://host/a%20b.gguf"),
    ],
)
def test_paths_become_uris(path: str, written: str) -> None:
    assert uri(path) == written


def test_junit_has_a_suite_a_model_and_a_case_a_rule(
    good: Document, bad: Document, lost: Document, hostile: Document
) -> None:
    root = check_junit(junit([good, bad, lost, hostile]))
    assert len(root) == 4
    suite = root[1]
    failed = [case.attrib["name"] for case in suite if case.find("failure") is not None]
    assert failed == ["STR032 Tensor data ends beyond the end of the file"]
    cases = {case.attrib["name"].split()[0] for case in suite}
    evaluated = set(bad["rule_set"]["evaluated"])
    assert cases == evaluated | {entry["rule"] for entry in bad["not_evaluated"]}
    assert root[2][0].find("error") is not None
    assert root[0].attrib["failures"] == "0"


def test_junit_fails_what_the_build_fails_on(bad: Document) -> None:
    root = check_junit(junit([bad], failing=("error", "warning")))
    assert root.attrib["failures"] == "2"
    known = mark_known(bad, frozenset(f["fingerprint"] for f in bad["findings"]))
    assert check_junit(junit([known])).attrib["failures"] == "0"


def test_github_escapes_and_counts(bad: Document, hostile: Document) -> None:
    lines = github([bad, hostile]).splitlines()
    pattern = re.compile(r"::(error|warning|notice) file=[^:,]*,title=[^:,]*::.*")
    assert all(pattern.fullmatch(line) for line in lines[:-1])
    assert all("%" not in re.sub("%(25|3A|2C)", "", line) for line in lines)
    assert lines[-1].startswith("2 models: ")
    assert lines[0].startswith("::error file=model.gguf,title=STR032 ")
    findings = len(bad["findings"]) + len(hostile["findings"])
    assert len(lines) == findings + 1


def test_github_leaves_known_findings_out(bad: Document) -> None:
    known = mark_known(bad, frozenset(f["fingerprint"] for f in bad["findings"]))
    assert github([known]).count("::") == 0


def test_markdown_has_no_foreign_markup(bad: Document, hostile: Document) -> None:
    text = markdown([bad, hostile])
    assert "| ❌ fail | model.gguf |" in text
    assert "**STR032** error" in text
    assert "<img" not in text
    assert "@org" not in text
    assert "https://" not in text
    assert "blk.1.ffn_down.weight" in text
    rows = [line for line in text.splitlines() if line.startswith("|")]
    assert all(row.count("|") == 5 for row in rows)


def test_markdown_fits_a_step_summary(bad: Document) -> None:
    many = {**bad, "findings": bad["findings"] * 1000}
    text = markdown([many] * 10)
    assert len(text.encode()) < 1024**2
    assert len(text) <= MOST_CHARACTERS + 200
    assert re.search(r"The details of \d more models do not fit here", text)


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("chat_template", "chat_template"),
        ("__x__", "&#95;&#95;x&#95;&#95;"),
        ("www.e.example", "www&#46;e.example"),
        ("a\nb", "a&#92;u{A}b"),
    ],
)
def test_markdown_escapes(text: str, written: str) -> None:
    assert escape(text) == written


@pytest.mark.parametrize("name", FORMAT_NAMES)
def test_nothing_hidden_comes_through(name: str, hostile: Document) -> None:
    text = render(name, [hostile])
    if name != "json":  # JSON keeps what the file says, escaped by its own rules
        assert "\u202e" not in text
    assert "\x1b" not in text
    assert "\x07" not in text


def test_the_verdict_tells_why(bad: Document) -> None:
    policy = Policy(require_template=True)
    assert render("text", [bad]).splitlines()[1].startswith("  Does not load · 1 error")
    refused = report(llama(), policy=policy).document
    assert render("text", [refused]).splitlines()[1].startswith("  Has errors · 1 error")


def test_colours_are_asked_for(bad: Document) -> None:
    assert "\x1b[31m" in render("text", [bad], Style(coloured=True))
    assert "\x1b" not in render("text", [bad])


def test_a_source_that_failed_is_in_every_format() -> None:
    error = SourceError("timeout", "It took too long.")
    document = unreadable("https://host/m.gguf", error).document
    for name in ("text", "sarif", "junit", "markdown", "github"):
        assert "It took too long." in render(name, [document])


def test_badges(good: Document, bad: Document, lost: Document) -> None:
    texts = [Xml.fromstring(badge(document))[0].text for document in (good, bad, lost)]
    assert texts == ["gguf: pass", "gguf: 1 error, 1 warning", "gguf: unreadable"]
    assert "http://www.w3.org/2000/svg" in badge(good)
    assert badge(good).count("http") == 1
