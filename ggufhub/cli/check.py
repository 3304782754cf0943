"""`ggufhub check`: judge models; the exit code tells a build what came out."""

import argparse
import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ggufhub.cli.codes import CLEAN, FAIL_ON, FINDINGS, UNREADABLE
from ggufhub.cli.screen import Progress, add_formats, colours, output
from ggufhub.cli.targets import add_network, expand
from ggufhub.errors import UsageError
from ggufhub.limits import DEPTHS, FULL, HEADER
from ggufhub.report.render import FORMAT_NAMES

if TYPE_CHECKING:
    from ggufhub.rules.policy import Policy

Document = dict[str, Any]


def add(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = commands.add_parser("check", help="check models; the exit code tells")
    parser.add_argument(
        "sources",
        nargs="+",
        metavar="SOURCE",
        help="a path, directory, glob or link; - reads a list of them from stdin",
    )
    _add_judgement(parser)
    add_formats(parser, FORMAT_NAMES)
    _add_server(parser)
    add_network(parser)
    parser.set_defaults(run=run)


def _add_judgement(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("what counts")
    group.add_argument("--profile", help="publish (default), load, security or audit")
    group.add_argument("--policy", type=Path, metavar="FILE", help="a policy, as TOML")
    group.add_argument("--baseline", type=Path, metavar="FILE", help="findings known already")
    group.add_argument(
        "--write-baseline", type=Path, metavar="FILE", help="take all findings as known from now on"
    )
    group.add_argument("--fail-on", choices=tuple(FAIL_ON), default="error")
    group.add_argument(
        "--expect-sha256",
        metavar="HEX",
        help="the digest the one file must have; every byte of a local file is then read",
    )
    group.add_argument(
        "--depth", choices=DEPTHS, default=HEADER, help="full reads every byte, of links as well"
    )


def _add_server(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("how")
    group.add_argument("--jobs", type=int, metavar="N", help="models at a time (default: CPUs)")
    group.add_argument(
        "--server", metavar="URL", help="let this server check; it gets headers only"
    )
    group.add_argument("--token", help="for --server; better in the variable GGUFHUB_TOKEN")
    group.add_argument(
        "--timeout", type=float, default=300.0, metavar="S", help="seconds a model for --server"
    )


def run(options: argparse.Namespace) -> int:
    """Check, print, and judge."""
    from ggufhub.report.baseline import mark_known, read_baseline
    from ggufhub.report.render.formats import Style, render

    inspect = _inspector(options)
    baseline = None if options.baseline is None else read_baseline(options.baseline)
    documents = _inspect_all(expand(options.sources), inspect, options)
    if options.write_baseline is not None:
        baseline = _write_baseline(options.write_baseline, documents)
    if baseline is not None:
        documents = [mark_known(document, baseline) for document in documents]
    for name, path in [(options.format, options.output), *options.also]:
        with output(path) as out:
            style = Style(colours(out), FAIL_ON[options.fail_on])
            out.write(render(name, documents, style))
    return _code(documents, FAIL_ON[options.fail_on])


def _code(documents: list[Document], failing: tuple[str, ...]) -> int:
    if any(document["verdict"] == "unreadable" for document in documents):
        return UNREADABLE
    fails = any(
        finding["severity"] in failing and not finding.get("known")
        for document in documents
        for finding in document["findings"]
    )
    return FINDINGS if fails else CLEAN


def _inspector(options: argparse.Namespace) -> Callable[..., Document]:
    """What turns one source into a document; everything it needs is checked before it runs."""
    from ggufhub.integrity.expected import expected_digests
    from ggufhub.rules.profiles import DEFAULT_PROFILE, selected

    policy = _policy(options.policy)
    profile = options.profile or DEFAULT_PROFILE
    selected(profile, policy)
    if options.server is not None:
        from ggufhub.cli.server import Server

        if options.expect_sha256 is not None:
            raise UsageError("--expect-sha256 needs the whole file; a server sees the header only")
        if options.depth == FULL:
            raise UsageError("--depth full needs the whole file; a server sees the header only")
        token = options.token or os.environ.get("GGUFHUB_TOKEN")
        server = Server(options.server, token, options.timeout)
        return partial(server.inspect, profile=profile, policy=policy)
    return partial(
        inspect_one,
        networks=options.allow_network,
        profile=profile,
        policy=policy,
        expected=expected_digests(options.expect_sha256),
        depth=options.depth,
    )


def inspect_one(source: str, **how: Any) -> Document:
    """One source to its document; a function of a module, so that other processes can call it."""
    from ggufhub.report.run import inspect_source

    return inspect_source(source, **how).document


def _policy(path: Path | None) -> "Policy | None":
    if path is None:
        return None
    from ggufhub.rules.policy_file import read_policy

    return read_policy(path)


def _inspect_all(
    sources: list[str], inspect: Callable[..., Document], options: argparse.Namespace
) -> list[Document]:
    jobs = (os.cpu_count() or 1) if options.jobs is None else options.jobs
    if jobs < 1:
        raise UsageError("--jobs takes a number from 1")
    if options.expect_sha256 is not None and len(sources) != 1:
        raise UsageError("--expect-sha256 is about one file")
    with Progress(len(sources)) as progress:
        if len(sources) == 1 and options.server is None:
            return [inspect(sources[0], progress=progress.reading)]
        if min(jobs, len(sources)) == 1:
            return [_finish(inspect(source), progress) for source in sources]
        from ggufhub.cli.pool import inspect_parallel

        threads = options.server is not None
        return inspect_parallel(sources, inspect, jobs, progress, threads=threads)


def _finish(document: Document, progress: Progress) -> Document:
    progress.done()
    return document


def _write_baseline(path: Path, documents: list[Document]) -> frozenset[str]:
    from ggufhub.report.baseline import baseline_document
    from ggufhub.report.render.formats import json_text

    baseline = baseline_document(documents)
    with output(path) as out:
        out.write(json_text(baseline))
    return frozenset(baseline["findings"])
