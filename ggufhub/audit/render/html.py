"""An audit as one HTML file that needs nothing else: no script, no link to anywhere."""

from collections.abc import Iterator
from html import escape as _escape

from ggufhub.audit.render.text import change_lines
from ggufhub.audit.result import AuditResult, model_part
from ggufhub.report.codec import Json
from ggufhub.report.render.words import VERDICT_WORDS, counts, short_number, visible

_STYLE = """
:root { color-scheme: light dark; font: 15px/1.5 system-ui, sans-serif; }
body { max-width: 80rem; margin: 2rem auto; padding: 0 1rem; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; padding: .3rem .6rem; border-bottom: 1px solid #8885; }
td.number { text-align: right; font-variant-numeric: tabular-nums; }
.pass { color: light-dark(#176b34, #7fdc9d); } .warn { color: light-dark(#7a5300, #f0c060); }
.fail, .unreadable, .error { color: light-dark(#a3161b, #ff9a94); font-weight: 600; }
summary { cursor: pointer; }
"""


def escape(text: str) -> str:
    """Foreign text as plain text of a page, hidden characters shown."""
    return _escape(visible(text))


def html(result: AuditResult) -> Iterator[str]:
    """The page, piece by piece."""
    head = result.head
    title = f"Audit of {escape(head['source'])}"
    yield '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
    yield f"<title>{title}</title>\n"
    yield '<meta name="viewport" content="width=device-width">\n'
    yield f"<style>{_STYLE}</style>\n</head>\n<body>\n<h1>{title}</h1>\n"
    yield _totals(head)
    yield from _list("Changes", [escape(line) for line in change_lines(head["changes"])])
    yield from _list("About the repository", [_finding(f) for f in head["findings"]])
    told = [f"{escape(p['path'])}: {escape(p['message'])}" for p in head["problems"]]
    yield from _list("Left out of the listing", told)
    yield "<h2>Models</h2>\n<table>\n<thead><tr><th>Model</th><th>Verdict</th><th>Quant</th>"
    yield "<th>Bits per weight</th><th>Parameters</th><th>Bytes</th><th>Findings</th></tr></thead>"
    yield "\n<tbody>\n"
    for row in result.rows():
        yield _row(model_part(row))
    yield "</tbody>\n</table>\n</body>\n</html>\n"


def _totals(head: Json) -> str:
    totals = head["totals"]
    cells = "".join(
        f'<li><span class="{verdict}">{totals[verdict]:,}</span> {verdict}</li>'
        for verdict in VERDICT_WORDS
    )
    return f"<p>{totals['models']:,} models, {totals['bytes']:,} bytes</p>\n<ul>{cells}</ul>\n"


def _list(title: str, items: list[str]) -> Iterator[str]:
    if items:
        yield f"<h2>{title}</h2>\n<ul>\n"
        yield from (f"<li>{item}</li>\n" for item in items)
        yield "</ul>\n"


def _finding(finding: Json) -> str:
    return (
        f'<span class="{_class(finding)}">{finding["rule"]} {finding["severity"]}</span> '
        f"{escape(finding['message'])} <em>{escape(finding['fix'])}</em>"
    )


def _class(finding: Json) -> str:
    return {"error": "error", "warning": "warn", "info": ""}[finding["severity"]]


def _row(model: Json) -> str:
    found = counts(model["findings"]) or "none"
    if model["findings"]:
        items = "".join(f"<li>{_finding(finding)}</li>" for finding in model["findings"])
        found = f"<details><summary>{found}</summary><ul>{items}</ul></details>"
    elif model["error"] is not None:
        found = escape(model["error"]["message"])
    parameters = model["parameters"]
    return (
        f"<tr><td>{escape(model['path'])}</td>"
        f'<td class="{model["verdict"]}">{model["verdict"]}</td>'
        f"<td>{escape(model['quant'] or '')}</td>"
        f'<td class="number">{_number(model["bits_per_weight"])}</td>'
        f'<td class="number">{"" if parameters is None else short_number(parameters)}</td>'
        f'<td class="number">{_number(model["size"])}</td><td>{found}</td></tr>\n'
    )


def _number(value: Json) -> str:
    return "" if value is None else f"{value:,}"
