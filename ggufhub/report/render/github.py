"""GitHub annotations: workflow commands, one line a finding."""

from collections.abc import Iterator

from ggufhub.report.codec import Json
from ggufhub.report.render.words import (
    file_path,
    is_known,
    place_text,
    totals,
    visible,
    worst_first,
)

COMMANDS = {"error": "error", "warning": "warning", "info": "notice"}


def github(documents: list[dict[str, Json]]) -> str:
    """Annotations for every finding that is not known, the worst of each model first.

    GitHub shows ten errors and ten warnings of a step; the last line counts all models.
    """
    lines = [line for document in documents for line in _lines(document)]
    return "".join(f"{line}\n" for line in [*lines, totals(documents)])


def _lines(document: dict[str, Json]) -> Iterator[str]:
    if document["error"] is not None:
        message = document["error"]["message"]
        yield _command("error", document["source"], "Could not be read", message)
    for finding in worst_first(document["findings"]):
        if not is_known(finding):
            title = f"{finding['rule']} {finding['title']}"
            place = place_text(finding)
            message = finding["message"] + (f" [{place}]" if place else "")
            command = COMMANDS[finding["severity"]]
            text = f"{message} Fix: {finding['fix']}"
            yield _command(command, file_path(document, finding), title, text)


def _command(command: str, file: str, title: str, message: str) -> str:
    return f"::{command} file={_property(file)},title={_property(title)}::{_data(message)}"


def _data(text: str) -> str:
    """Percent first, or an escape in the text itself would be read as ours."""
    return visible(text).replace("%", "%25")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
