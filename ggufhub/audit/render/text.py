"""An audit for people: what is wrong with the repository, which models are, what changed."""

from collections.abc import Iterator

from ggufhub.audit.facts import Row
from ggufhub.audit.result import AuditResult
from ggufhub.report.codec import Json
from ggufhub.report.render.markdown import escape
from ggufhub.report.render.text import Paint
from ggufhub.report.render.words import VERDICT_WORDS, counted, counts, visible, worst_first

SHOWN_MODELS = 50
"""Models told one by one; JSON, CSV and HTML hold all of them."""

SHOWN_FINDINGS = 3
SHOWN_PATHS = 10

_CHANGES = {
    "new": "new",
    "gone": "gone",
    "changed": "with other bytes",
    "regressions": "worse than last time",
}
"""Parts of the changes that are lists of paths, with the words for them."""


def text(result: AuditResult, coloured: bool) -> Iterator[str]:
    """The report of `ggufhub audit` on a terminal."""
    paint = Paint(coloured)
    head = result.head
    yield paint("bold", visible(head["source"])) + "\n"
    for line in _summary(head):
        yield f"  {line}\n"
    for finding in head["findings"]:
        mark = paint(finding["severity"], f"{finding['rule']} {finding['severity']}")
        yield f"  {mark}  {visible(finding['message'])}\n"
        if finding["expected"] and finding["actual"]:
            yield f"      expected {visible(finding['expected'])}, "
            yield f"found {visible(finding['actual'])}\n"
        yield f"      fix: {visible(finding['fix'])}\n"
    for row in _worst_rows(result):
        yield from _model_lines(row, paint)
    yield from (f"  {line}\n" for line in _more(result))
    yield from (f"  {line}\n" for line in change_lines(head["changes"]))


def _summary(head: Json) -> Iterator[str]:
    totals = head["totals"]
    verdicts = ", ".join(f"{totals[verdict]:,} {verdict}" for verdict in VERDICT_WORDS)
    files = counted(totals["files"], "file")
    yield f"{counted(totals['models'], 'model')} in {files}: {verdicts}"
    for problem in head["problems"][:SHOWN_PATHS]:
        yield f"{visible(problem['path'])}: {visible(problem['message'])}"


def _worst_rows(result: AuditResult) -> list[Row]:
    """The first models that are not sound, the worst verdicts first."""
    kept: list[Row] = []
    for verdict in ("unreadable", "fail", "warn"):
        for row in result.rows():
            if len(kept) == SHOWN_MODELS:
                return kept
            if row["report"]["verdict"] == verdict:
                kept.append(row)
    return kept


def _more(result: AuditResult) -> Iterator[str]:
    totals = result.head["totals"]
    unsound = totals["models"] - totals["pass"]
    if unsound > SHOWN_MODELS:
        yield f"… and {unsound - SHOWN_MODELS:,} more models with findings."


def _model_lines(row: Row, paint: Paint) -> Iterator[str]:
    report = row["report"]
    found = counts(report["findings"])
    yield f"  {paint('bold', visible(row['path']))}  {report['verdict']}"
    yield f"{' · ' if found else ''}{found}\n"
    if report["error"] is not None:
        yield f"      {visible(report['error']['message'])}\n"
    for finding in worst_first(report["findings"])[:SHOWN_FINDINGS]:
        mark = paint(finding["severity"], f"{finding['rule']} {finding['severity']}")
        yield f"      {mark}  {visible(finding['message'])}\n"


def change_lines(changes: Json) -> Iterator[str]:
    """What changed since the last audit, a line a kind of change."""
    if changes is None:
        return
    if not any(changes.values()):
        yield "Nothing changed since the last audit."
        return
    for part, words in _CHANGES.items():
        paths = changes[part]
        if paths:
            more = len(paths) - SHOWN_PATHS
            shown = ", ".join(map(visible, paths[:SHOWN_PATHS]))
            yield f"{len(paths):,} {words}: {shown}{f' and {more:,} more' if more > 0 else ''}"
    for change in changes["verdicts"][:SHOWN_PATHS]:
        yield f"{visible(change['path'])}: {change['before']}, now {change['after']}"


def markdown(result: AuditResult) -> Iterator[str]:
    """A summary for the step of a build or the text of an issue."""
    head = result.head
    lines = list(_summary(head))
    yield f"### {escape(head['source'])}\n\n{escape(lines[0])}\n\n"
    yield from (f"- {escape(line)}\n" for line in lines[1:])
    for finding in head["findings"]:
        yield f"- **{finding['rule']}** {finding['severity']}: {escape(finding['message'])}"
        yield f"<br>*Fix:* {escape(finding['fix'])}\n"
    worst = _worst_rows(result)
    if worst:
        yield "\n| model | verdict | findings |\n|---|---|---|\n"
    for row in worst:
        found = counts(row["report"]["findings"]) or "none"
        yield f"| {escape(row['path'])} | {row['report']['verdict']} | {found} |\n"
    yield from (f"\n{line}\n" for line in _more(result))
    yield from (f"\n{escape(line)}\n" for line in change_lines(head["changes"]))
