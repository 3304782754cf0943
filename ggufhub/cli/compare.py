"""`ggufhub compare`: what changed from one model to another."""

import argparse

from ggufhub.cli.codes import CLEAN, UNREADABLE
from ggufhub.cli.screen import add_output, colours, output
from ggufhub.cli.targets import add_network
from ggufhub.limits import DEPTHS, HEADER


def add(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = commands.add_parser("compare", help="what changed from one model to another")
    parser.add_argument("before", metavar="BEFORE", help="a path or link")
    parser.add_argument("after", metavar="AFTER", help="a path or link")
    parser.add_argument("--format", choices=("text", "json", "markdown"), default="text")
    parser.add_argument(
        "--depth", choices=DEPTHS, default=HEADER, help="full also compares the weights"
    )
    add_output(parser)
    add_network(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    from ggufhub.report.compare import compare
    from ggufhub.report.render.comparison import comparison_markdown, comparison_text
    from ggufhub.report.render.formats import json_text
    from ggufhub.report.run import inspect_source

    before, after = (
        inspect_source(source, networks=options.allow_network, arrays=True, depth=options.depth)
        for source in (options.before, options.after)
    )
    document = compare(before.linked(), after.linked())
    with output(options.output) as out:
        if options.format == "json":
            out.write(json_text(document))
        elif options.format == "markdown":
            out.write(comparison_markdown(document))
        else:
            out.write(comparison_text(document, coloured=colours(out)))
    return UNREADABLE if "unreadable" in (before.verdict, after.verdict) else CLEAN
