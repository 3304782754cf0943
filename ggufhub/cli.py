"""The `ggufhub` command: check, show, rules, serve.

Exit codes: 0 clean, 1 findings at or above --fail-on, 2 usage, 3 a source was unreadable.
"""

import argparse
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from ggufhub import __version__
from ggufhub.errors import SourceError, UsageError

if TYPE_CHECKING:
    from ggufhub.report.document import Report
    from ggufhub.sources.policy import AddressPolicy

CLEAN, FINDINGS, USAGE, UNREADABLE = 0, 1, 2, 3

_FAIL_ON = {
    "error": ("error",),
    "warning": ("error", "warning"),
    "info": ("error", "warning", "info"),
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; the exit code. Never raises for anything a file or server does."""
    options = _parser().parse_args(arguments)
    try:
        code: int = options.run(options)
    except UsageError as error:
        print(f"ggufhub: {error.message}", file=sys.stderr)
        return USAGE
    except BrokenPipeError:
        # The reader of our output has gone; say nothing when Python flushes on exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return CLEAN
    except KeyboardInterrupt:
        return 130
    return code


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="ggufhub",
        description="Check GGUF model files and look inside them without downloading them.",
    )
    parser.add_argument("--version", action="version", version=f"ggufhub {__version__}")
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    _add_check(commands)
    _add_show(commands)
    rules = commands.add_parser("rules", help="list the rules, or explain one")
    rules.add_argument("id", nargs="?", help="for example STR032")
    rules.set_defaults(run=_rules)
    serve = commands.add_parser("serve", help="run the whole service on this machine")
    serve.set_defaults(run=_serve)
    return parser


def _add_check(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    check = commands.add_parser("check", help="check models; the exit code tells")
    check.add_argument("sources", nargs="+", metavar="SOURCE", help="a path, directory or URL")
    check.add_argument("--format", choices=("text", "json"), default="text")
    check.add_argument("--fail-on", choices=tuple(_FAIL_ON), default="error")
    check.add_argument("--output", type=Path, help="write there instead of to the screen")
    _add_network(check)
    check.set_defaults(run=_check)


def _add_show(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    show = commands.add_parser("show", help="look inside one model")
    show.add_argument("source", metavar="SOURCE", help="a path or URL")
    what = show.add_mutually_exclusive_group()
    what.add_argument("--json", action="store_true", help="everything, as one JSON object")
    what.add_argument("--tensors", action="store_true", help="the tensor table")
    what.add_argument("--template", action="store_true", help="the chat templates")
    _add_network(show)
    show.set_defaults(run=_show)


def _add_network(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--allow-network",
        action="append",
        default=[],
        metavar="CIDR",
        help="also fetch from these addresses, for example 127.0.0.0/8",
    )


def _check(options: argparse.Namespace) -> int:
    from ggufhub.report.document import check_document
    from ggufhub.report.render.text import check_text

    reports = [_inspect(source, options.allow_network) for source in _expand(options.sources)]
    documents = [report.document for report in reports]
    with _output(options.output) as out:
        if options.format == "json":
            json.dump(check_document(documents), out, ensure_ascii=False, indent=2)
            out.write("\n")
        else:
            out.write(check_text(documents, coloured=_colours(out)))
    if any(report.verdict == "unreadable" for report in reports):
        return UNREADABLE
    severities = {finding["severity"] for document in documents for finding in document["findings"]}
    return FINDINGS if severities.intersection(_FAIL_ON[options.fail_on]) else CLEAN


def _show(options: argparse.Namespace) -> int:
    from ggufhub.report.document import show_document
    from ggufhub.report.render import text

    report = _inspect(options.source, options.allow_network)
    if options.json:
        json.dump(show_document(report.document), sys.stdout, ensure_ascii=False, indent=2)
        print()
    elif options.tensors:
        sys.stdout.write(text.tensors_text(report.document))
    elif options.template:
        sys.stdout.write(text.templates_text(report.document))
    else:
        sys.stdout.write(text.show_text(report.document, coloured=_colours(sys.stdout)))
    return UNREADABLE if report.verdict == "unreadable" else CLEAN


def _rules(options: argparse.Namespace) -> int:
    from ggufhub.rules.registry import catalogue, find_rule

    if options.id is None:
        for rule in catalogue():
            print(f"{rule.id}  {rule.severity.value:<8} {rule.title}")
        return CLEAN
    found = find_rule(options.id)
    if found is None:
        raise UsageError(f"there is no rule {options.id}; `ggufhub rules` lists them")
    print(f"{found.id} {found.title} ({found.severity.value}, {found.truth.value})\n")
    print(f"{found.help}\n\nFix: {found.fix}\nSpeaks for: {', '.join(found.runtimes)}")
    return CLEAN


def _serve(options: argparse.Namespace) -> int:
    """Hand over to the service; it needs Django, the core does not."""
    os.execv(sys.executable, [sys.executable, "-m", "ggufhub.web.serve"])


def _inspect(source: str, networks: list[str]) -> "Report":
    from ggufhub.report.build import inspect, unreadable
    from ggufhub.sources.open import is_url, open_source

    policy = _policy(networks) if is_url(source) else None
    try:
        with open_source(source, policy=policy) as opened:
            return inspect(opened, arrays=False)
    except SourceError as error:
        return unreadable(source, error)


def _policy(networks: list[str]) -> "AddressPolicy":
    """The environment's address policy with the networks of ``--allow-network`` opened too."""
    from ggufhub.sources.policy import AddressPolicy

    name = "GGUFHUB_ALLOWED_NETWORKS"
    opened = ",".join(filter(None, [os.environ.get(name), *networks]))
    return AddressPolicy.from_environment({**os.environ, name: opened})


def _expand(sources: list[str]) -> list[str]:
    """Directories become the models inside them; one shard stands for a whole split model."""
    from ggufhub.formats.naming import shard_name
    from ggufhub.sources.open import is_url

    expanded: list[str] = []
    seen: set[tuple[str, str, int]] = set()
    for source in sources:
        path = Path(source)
        if not is_url(source) and path.is_dir():
            found = sorted(str(file) for file in path.rglob("*.gguf") if file.is_file())
            if not found:
                raise UsageError(f"there is no .gguf file in {source}")
        else:
            found = [source]
        for text in found:
            shard = shard_name(Path(text).name)
            if shard is not None:
                whole = (str(Path(text).parent), shard.prefix, shard.shards)
                if whole in seen:
                    continue
                seen.add(whole)
            expanded.append(text)
    return expanded


class _output:
    """The file to write, or the screen; a screen stays open."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._file: TextIO | None = None

    def __enter__(self) -> TextIO:
        if self._path is None:
            return sys.stdout
        try:
            self._file = self._path.open("w", encoding="utf-8")
        except OSError as error:
            raise UsageError(f"cannot write {self._path}: {error.strerror}") from error
        return self._file

    def __exit__(self, *_: object) -> None:
        if self._file is not None:
            self._file.close()


def _colours(out: TextIO) -> bool:
    return out.isatty() and "NO_COLOR" not in os.environ


if __name__ == "__main__":
    sys.exit(main())
