"""Markdown: a summary for a pull request or the step summary of a build."""

import re
from collections.abc import Iterator

from ggufhub.report.codec import Json
from ggufhub.report.render.words import (
    counts,
    facts,
    is_known,
    place_text,
    totals,
    verdict_words,
    visible,
    worst_first,
)

MOST_CHARACTERS = 900_000
"""GitHub drops a step summary of more than 1 MiB; most text here is one byte a character."""

_SPECIAL = re.compile(
    r"[\\`*\[\]#|~<>&@]|(?<![^\W_])_|_(?![^\W_])|:(?=//)|(?<=www)\.", re.IGNORECASE
)
"""Markup, mentions, and what makes a bare address a link."""

_SIGNS = {"pass": "✅", "warn": "⚠️", "fail": "❌", "unreadable": "❌"}


def escape(text: str) -> str:
    """Foreign text as plain words: no markup, no links, no mentions, one line."""
    return _SPECIAL.sub(lambda match: f"&#{ord(match[0])};", visible(text))


def markdown(documents: list[dict[str, Json]]) -> str:
    """A table of the models, then the findings of each. What does not fit is counted."""
    head = "\n".join(_overview(documents))
    parts, size = [head], len(head)
    for number, document in enumerate(documents):
        part = "\n".join(_details(document))
        if size + len(part) > MOST_CHARACTERS:
            parts.append(f"The details of {len(documents) - number} more models do not fit here.")
            break
        if part:
            parts.append(part)
            size += len(part)
    return "\n\n".join(parts) + "\n"


def _overview(documents: list[dict[str, Json]]) -> Iterator[str]:
    yield f"### {totals(documents)}"
    yield ""
    yield "| | model | what | findings |"
    yield "|---|---|---|---|"
    for document in documents:
        what = escape(" · ".join(facts(document)))
        found = counts(document["findings"]) or "none"
        name = escape(document["source"])
        yield f"| {_SIGNS[document['verdict']]} {document['verdict']} | {name} | {what} | {found} |"


def _details(document: dict[str, Json]) -> Iterator[str]:
    error, findings = document["error"], worst_first(document["findings"])
    if error is None and not findings:
        return
    yield f"#### {escape(document['source'])}"
    yield ""
    reason = "" if error is None else f" {escape(error['message'])}"
    yield f"{verdict_words(document)}.{reason}"
    yield ""
    for finding in findings:
        known = " (known)" if is_known(finding) else ""
        place = place_text(finding)
        where = f" — {escape(place)}" if place else ""
        rule = f"**{finding['rule']}** {finding['severity']}{known}"
        fix = f"<br>*Fix:* {escape(finding['fix'])}"
        yield f"- {rule}: {escape(finding['message'])}{where}{fix}"
    for ignored in document["ignored"]:
        found = f"{ignored['findings']} of {ignored['rule']}"
        yield f"- {found} ignored: {escape(ignored['reason'])}"
