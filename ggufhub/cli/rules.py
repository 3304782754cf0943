"""`ggufhub rules`: the catalogue, or one rule explained."""

import argparse

from ggufhub.cli.codes import CLEAN
from ggufhub.cli.screen import add_output, output
from ggufhub.errors import UsageError


def add(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = commands.add_parser("rules", help="list the rules, or explain one")
    parser.add_argument("id", nargs="?", help="for example STR032")
    parser.add_argument("--format", choices=("text", "json", "markdown"), default="text")
    add_output(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    text = _catalogue(options.format) if options.id is None else _one(options.id, options.format)
    with output(options.output) as out:
        out.write(text)
    return CLEAN


def _catalogue(format: str) -> str:
    from ggufhub.report.render.formats import json_text
    from ggufhub.rules.catalogue import catalogue_markdown, list_text, rule_dict
    from ggufhub.rules.registry import catalogue

    if format == "json":
        return json_text([rule_dict(rule) for rule in catalogue()])
    return catalogue_markdown() if format == "markdown" else list_text(catalogue())


def _one(id: str, format: str) -> str:
    from ggufhub.report.render.formats import json_text
    from ggufhub.rules.catalogue import rule_dict, rule_markdown, rule_text
    from ggufhub.rules.registry import find_rule

    rule = find_rule(id)
    if rule is None:
        raise UsageError(f"there is no rule {id}; `ggufhub rules` lists them")
    if format == "json":
        return json_text(rule_dict(rule))
    return rule_markdown(rule) if format == "markdown" else rule_text(rule)
