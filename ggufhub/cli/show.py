"""`ggufhub show`: look inside one model."""

import argparse

from ggufhub.cli.codes import CLEAN, UNREADABLE
from ggufhub.cli.screen import add_output, colours, output
from ggufhub.cli.targets import add_network


def add(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = commands.add_parser("show", help="look inside one model")
    parser.add_argument("source", metavar="SOURCE", help="a path or link")
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--json", action="store_true", help="everything, as one JSON object")
    what.add_argument("--tensors", action="store_true", help="the tensor table")
    what.add_argument("--template", action="store_true", help="the chat templates")
    what.add_argument("--memory", action="store_true", help="what it takes to run")
    add_output(parser)
    add_network(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    from ggufhub.report.run import inspect_source

    # Only the JSON holds findings and rendered templates; the rest is there at once.
    report = inspect_source(options.source, networks=options.allow_network, judge=options.json)
    with output(options.output) as out:
        out.write(_text(report.document, options, colours(out)))
    return UNREADABLE if report.verdict == "unreadable" else CLEAN


def _text(document: dict[str, object], options: argparse.Namespace, coloured: bool) -> str:
    from ggufhub.report.document import show_document
    from ggufhub.report.render import text
    from ggufhub.report.render.formats import json_text

    if options.json:
        return json_text(show_document(document))
    if options.tensors:
        return text.tensors_text(document)
    if options.template:
        return text.templates_text(document)
    if options.memory:
        return text.memory_text(document)
    return text.show_text(document, coloured=coloured)
