"""`ggufhub audit`: every model of a folder, repository, organisation or list, without a server."""

import argparse
import re
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ggufhub.audit.render import AUDIT_FORMAT_NAMES
from ggufhub.cli.codes import CLEAN, FAIL_ON, FINDINGS, UNREADABLE
from ggufhub.cli.screen import Progress, add_formats, colours, output
from ggufhub.cli.targets import STDIN, add_network
from ggufhub.errors import SourceError, UsageError
from ggufhub.limits import DEPTHS, HEADER

if TYPE_CHECKING:
    from ggufhub.audit.result import AuditResult
    from ggufhub.audit.run import How

REGRESSION = "regression"
"""The value of ``--fail-on`` by which only what got worse since last time fails."""

_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
_SIZE = re.compile(r"(\d{1,12}(?:\.\d{1,3})?)([KMGT]?)(?:i?B)?", re.IGNORECASE)


def add(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = commands.add_parser("audit", help="check every model of a repository and compare them")
    parser.add_argument(
        "source",
        metavar="SOURCE",
        help="a folder, hf://owner/repository, hf://owner, hf://collections/…, the link of an "
        "index page or list, a file of links; - reads a list from stdin",
    )
    _add_choice(parser)
    _add_judgement(parser)
    add_formats(parser, AUDIT_FORMAT_NAMES)
    add_network(parser)
    parser.set_defaults(run=run)


def _add_choice(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("which models")
    group.add_argument(
        "--glob", action="append", default=[], metavar="GLOB", help="only paths or names like it"
    )
    group.add_argument(
        "--tag", action="append", default=[], metavar="QUANT", help="only this quant, as Q4_K_M"
    )
    group.add_argument("--min-size", type=_size, metavar="SIZE", help="for example 500M")
    group.add_argument("--max-size", type=_size, metavar="SIZE", help="for example 40G")


def _add_judgement(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("what counts")
    group.add_argument("--profile", help="publish (default), load, security or audit")
    group.add_argument("--policy", type=Path, metavar="FILE", help="a policy, as TOML")
    group.add_argument("--depth", choices=DEPTHS, default=HEADER)
    group.add_argument("--fail-on", choices=(*FAIL_ON, REGRESSION), default="error")
    group.add_argument(
        "--state",
        type=Path,
        metavar="FILE",
        help="remember this audit there, tell what changed since the last one, and do not open "
        "again what did not change",
    )
    group.add_argument("--jobs", type=int, metavar="N", help="models at a time (default: CPUs)")


def _size(text: str) -> int:
    match = _SIZE.fullmatch(text.strip())
    if match is None:
        raise argparse.ArgumentTypeError("give a size such as 500M or 40G")
    return int(float(match[1]) * _UNITS[match[2].upper()])


def run(options: argparse.Namespace) -> int:
    """Audit, print, remember; the exit code."""
    from ggufhub.audit.run import audit
    from ggufhub.audit.state import State, write_state

    how = _how(options)
    last = None if options.state is None else State.read(options.state)
    if options.fail_on == REGRESSION and options.state is None:
        raise UsageError("--fail-on regression compares with --state FILE")
    with Progress(0) as progress:
        try:
            result = audit(_source(options.source), how, last, progress.of)
        except SourceError as error:
            print(f"ggufhub: {error.message}", file=sys.stderr)
            return UNREADABLE
    for name, path in [(options.format, options.output), *options.also]:
        _write(result, name, path, FAIL_ON.get(options.fail_on, ("error",)))
    if options.state is not None:
        write_state(options.state, how.made_by, result.rows())
    return _code(result, options.fail_on)


def _how(options: argparse.Namespace) -> "How":
    from ggufhub.audit.groups import Filter
    from ggufhub.audit.run import How, default_jobs
    from ggufhub.rules.policy_file import read_policy
    from ggufhub.rules.profiles import DEFAULT_PROFILE, selected

    policy = None if options.policy is None else read_policy(options.policy)
    profile = options.profile or DEFAULT_PROFILE
    selected(profile, policy)
    jobs = default_jobs() if options.jobs is None else options.jobs
    if jobs < 1:
        raise UsageError("--jobs takes a number from 1")
    wanted = Filter(tuple(options.glob), tuple(options.tag), options.min_size, options.max_size)
    return How(tuple(options.allow_network), profile, policy, options.depth, wanted, jobs)


def _source(text: str) -> str:
    """The source, or the list that stdin holds."""
    from ggufhub.names import LINKS

    return LINKS + sys.stdin.read() if text == STDIN else text


def _write(result: "AuditResult", name: str, path: Path | None, failing: tuple[str, ...]) -> None:
    from ggufhub.audit.render.formats import AUDIT_FORMATS, Style

    with output(path) as out:
        for piece in AUDIT_FORMATS[name].pieces(result, Style(colours(out), failing)):
            out.write(piece)


def _code(result: "AuditResult", fail_on: str) -> int:
    head = result.head
    if fail_on == REGRESSION:
        changes = head["changes"]
        return FINDINGS if changes is not None and changes["regressions"] else CLEAN
    if head["totals"]["unreadable"]:
        return UNREADABLE
    failing = FAIL_ON[fail_on]
    fails = _any(head["findings"], failing) or any(
        _any(row["report"]["findings"], failing) for row in result.rows()
    )
    return FINDINGS if fails else CLEAN


def _any(findings: Iterable[dict[str, Any]], failing: tuple[str, ...]) -> bool:
    return any(finding["severity"] in failing for finding in findings)
