"""JUnit XML: a suite for each model, a case for each rule, one failure at most in a case."""

from itertools import groupby
from xml.etree import ElementTree as Xml

from ggufhub.report.codec import Json
from ggufhub.report.render.words import is_known, place_text, visible, worst_first


def junit(documents: list[dict[str, Json]], failing: tuple[str, ...] = ("error",)) -> str:
    """The reports as JUnit XML. Findings of the severities in ``failing`` fail their case.

    What does not fail is in the case's output; a rule that could not run is a skipped case.
    """
    root = Xml.Element("testsuites", name="ggufhub")
    root.extend(suite(document, failing) for document in documents)
    for total in ("tests", "failures", "errors", "skipped"):
        root.set(total, str(sum(int(suite.get(total, 0)) for suite in root)))
    root.set("time", f"{sum(float(suite.get('time', 0)) for suite in root):.4f}")
    Xml.indent(root)
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n' + Xml.tostring(root, encoding="unicode") + "\n"
    )


def suite(document: dict[str, Json], failing: tuple[str, ...]) -> Xml.Element:
    """One model."""
    name = visible(document["source"])
    element = Xml.Element("testsuite", name=name)
    if document["verdict"] == "unreadable":
        case = Xml.SubElement(element, "testcase", name="readable", classname=name)
        error = Xml.SubElement(case, "error", message=visible(document["error"]["message"]))
        error.set("type", document["error"]["code"])
    found = sorted(worst_first(document["findings"]), key=lambda finding: str(finding["rule"]))
    by_rule = {rule: list(group) for rule, group in groupby(found, lambda f: str(f["rule"]))}
    skipped = {entry["rule"]: entry["reason"] for entry in document["not_evaluated"]}
    skipped |= {entry["rule"]: f"ignored: {entry['reason']}" for entry in document["ignored"]}
    for rule in sorted({*by_rule, *skipped, *document["rule_set"]["evaluated"]}):
        case = Xml.SubElement(element, "testcase", name=rule, classname=name)
        if rule in by_rule:
            _fill(case, by_rule[rule], failing)
        elif rule in skipped:
            Xml.SubElement(case, "skipped", message=visible(skipped[rule]))
    _count(element, sum(document["seconds"].values()))
    return element


def _fill(case: Xml.Element, findings: list[dict[str, Json]], failing: tuple[str, ...]) -> None:
    """Some readers keep one failure of a case only: all findings of a rule go into one text."""
    counted = [f for f in findings if f["severity"] in failing and not is_known(f)]
    case.set("name", f"{findings[0]['rule']} {findings[0]['title']}")
    if counted:
        message = visible(counted[0]["message"])
        more = f" (and {len(counted) - 1} more)" if len(counted) > 1 else ""
        failure = Xml.SubElement(case, "failure", message=message + more)
        failure.set("type", counted[0]["severity"])
        failure.text = "\n".join(map(_line, findings))
    else:
        Xml.SubElement(case, "system-out").text = "\n".join(map(_line, findings))


def _line(finding: dict[str, Json]) -> str:
    parts = [f"{finding['severity']}: {visible(finding['message'])}"]
    place = ", ".join(filter(None, (visible(finding["file"]), place_text(finding))))
    parts.append(f"[{place}]")
    if is_known(finding):
        parts.append("(known)")
    parts.append(f"fix: {visible(finding['fix'])}")
    return " ".join(parts)


def _count(suite: Xml.Element, seconds: float) -> None:
    suite.set("tests", str(len(suite)))
    for total, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        suite.set(total, str(len(suite.findall(f"testcase/{tag}"))))
    suite.set("time", f"{seconds:.4f}")
