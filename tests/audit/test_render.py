"""An audit in every format: complete, valid, and harmless where names are not."""

import csv
import io
import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as Xml

import jsonschema
import pytest

from ggufhub.audit.render import formats
from ggufhub.audit.render.formats import AUDIT_FORMATS, Style
from ggufhub.audit.result import AuditResult
from ggufhub.audit.run import How, audit
from ggufhub.rules.model_samples import llama
from tests.audit.kit import write

MODEL = llama()
SARIF = json.loads((Path(__file__).parent.parent / "schemas" / "sarif-2.1.0.json").read_text())


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> AuditResult:
    folder = tmp_path_factory.mktemp("models")
    files = {
        "one.gguf": MODEL,
        "two.gguf": MODEL,
        "bad.gguf": b"GGUF",
        "page.gguf": b"<html>",
        "=cmd|' /C calc'!A1.gguf": b"GGUF",
        "<script>alert(1)<\u202e.gguf": b"GGUF",
    }
    return audit(str(write(folder, files)), How())


def rendered(result: AuditResult, name: str, style: Style | None = None) -> str:
    return "".join(AUDIT_FORMATS[name].pieces(result, style or Style()))


def test_json_is_the_document(result: AuditResult) -> None:
    document = json.loads(rendered(result, "json"))
    assert document == json.loads(json.dumps(result.document()))
    assert document["schema"] == "ggufhub.audit/1"
    assert [model["path"] for model in document["models"]][-2:] == ["page.gguf", "two.gguf"]


def test_ndjson_has_a_model_a_line(result: AuditResult) -> None:
    head, *models = map(json.loads, rendered(result, "ndjson").splitlines())
    assert head["totals"]["models"] == len(models) == 6


def test_csv_runs_nothing_in_a_spreadsheet(result: AuditResult) -> None:
    rows = list(csv.reader(io.StringIO(rendered(result, "csv"))))
    assert len({len(row) for row in rows}) == 1
    assert not [cell for row in rows for cell in row if cell.startswith(("=", "+", "@", "\t"))]
    assert any(row[0] == "'=cmd|' /C calc'!A1.gguf" for row in rows)
    assert [row for row in rows if row[2] == "repository"]


def test_sarif_is_valid_and_one_run(result: AuditResult) -> None:
    log = json.loads(rendered(result, "sarif"))
    jsonschema.validate(log, SARIF)
    (run,) = log["runs"]
    assert {"AUD010", "STR001"} & {entry["ruleId"] for entry in run["results"]} >= {"AUD010"}


def test_sarif_keeps_the_worst_where_there_are_too_many(
    result: AuditResult, monkeypatch: pytest.MonkeyPatch
) -> None:
    total = len(json.loads(rendered(result, "sarif"))["runs"][0]["results"])
    monkeypatch.setattr(formats, "MOST_RESULTS", 3)
    (run,) = json.loads(rendered(result, "sarif"))["runs"]
    assert [entry["level"] for entry in run["results"]] == ["error"] * 3
    notes = run["invocations"][0]["toolExecutionNotifications"]
    assert f"{total - 3} of {total} findings" in notes[-1]["message"]["text"]


def test_junit_has_a_suite_a_model(result: AuditResult) -> None:
    root = Xml.fromstring(rendered(result, "junit"))
    suites = {suite.get("name"): suite for suite in root}
    assert len(suites) == 7
    assert suites["bad.gguf"].find("testcase/failure") is not None
    assert suites["page.gguf"].find("testcase/error") is not None
    assert suites["one.gguf"].find("testcase/failure") is None


def test_a_sound_model_is_a_case_too(tmp_path: Path) -> None:
    result = audit(str(write(tmp_path, {"one.gguf": MODEL})), How(profile="load"))
    (suite,) = Xml.fromstring(rendered(result, "junit"))
    assert [case.get("name") for case in suite] == ["sound"]
    assert suite.get("tests") == "1"


def test_html_stands_alone_and_runs_nothing(result: AuditResult) -> None:
    page = rendered(result, "html")
    assert "<script" not in page
    assert "&lt;script&gt;alert(1)&lt;\\u{202E}.gguf" in page
    assert "src=" not in page
    assert "href=" not in page
    assert page.count("<tr>") == 7


def test_text_says_what_is_wrong_and_what_to_do(result: AuditResult) -> None:
    text = rendered(result, "text")
    assert "6 models in 6 files: 2 pass, 0 warn, 3 fail, 1 unreadable" in text
    assert "AUD010 info  one.gguf, two.gguf are the same file." in text
    assert "fix: Delete one of the two." in text
    assert "\u202e" not in text
    coloured = rendered(result, "text", Style(coloured=True))
    assert "\x1b[31m" in coloured


def test_markdown_holds_no_markup_of_a_name(result: AuditResult) -> None:
    text = rendered(result, "markdown")
    assert "<script>" not in text
    assert "| bad.gguf | fail |" in text


def test_changes_are_shown(tmp_path: Path, result: AuditResult) -> None:
    told: dict[str, Any] = {
        "new": [f"{n}.gguf" for n in range(12)],
        "gone": [],
        "changed": [],
        "verdicts": [{"path": "a.gguf", "before": "pass", "after": "fail"}],
        "findings": {},
        "regressions": ["a.gguf"],
    }
    changed = AuditResult({**result.head, "changes": told}, result.rows)
    text = rendered(changed, "text")
    assert "12 new: 0.gguf" in text
    assert "and 2 more" in text
    assert "a.gguf: pass, now fail" in text
    assert "1 worse than last time: a.gguf" in rendered(changed, "markdown")
    same = AuditResult({**result.head, "changes": {key: [] for key in told}}, result.rows)
    assert "Nothing changed since the last audit." in rendered(same, "html")
