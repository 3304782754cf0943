"""JUnit XML of an audit: a suite a model, written one after another."""

from collections.abc import Iterator
from xml.etree import ElementTree as Xml

from ggufhub.audit.result import AuditResult, reports
from ggufhub.report.render.junit import suite


def junit(result: AuditResult, failing: tuple[str, ...]) -> Iterator[str]:
    """Only rules that found something are cases: all that ran would be a hundred a model. A
    model without findings has the one case ``sound``."""
    yield '<?xml version="1.0" encoding="UTF-8"?>\n<testsuites name="ggufhub audit">\n'
    for report in reports(result.rows(), result.head):
        trimmed = {**report, "not_evaluated": [], "ignored": []}
        trimmed["rule_set"] = {**report["rule_set"], "evaluated": []}
        element = suite(trimmed, failing)
        if not len(element):
            Xml.SubElement(element, "testcase", name="sound", classname=element.get("name") or "")
            element.set("tests", "1")
        Xml.indent(element, level=1)
        yield "  " + Xml.tostring(element, encoding="unicode").rstrip() + "\n"
    yield "</testsuites>\n"
