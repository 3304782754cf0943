"""The `ggufhub` command: check, show, compare, audit, rules, serve.

Exit codes: 0 clean, 1 findings at or above --fail-on, 2 usage, 3 a source was unreadable,
4 the server of --server was unreachable or too slow.
"""

import argparse
import os
import sys
from collections.abc import Sequence

from ggufhub import __version__
from ggufhub.cli import audit, check, compare, rules, show
from ggufhub.cli.codes import CLEAN, INTERRUPTED, SERVER, USAGE
from ggufhub.errors import ServerError, UsageError


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; the exit code. Never raises for anything a file or server does."""
    options = _parser().parse_args(arguments)
    try:
        code: int = options.run(options)
        sys.stdout.flush()
    except UsageError as error:
        print(f"ggufhub: {error.message}", file=sys.stderr)
        return USAGE
    except ServerError as error:
        print(f"ggufhub: {error.message}", file=sys.stderr)
        return SERVER
    except BrokenPipeError:
        # The reader of our output has gone; say nothing when Python flushes on exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return CLEAN
    except KeyboardInterrupt:
        return INTERRUPTED
    return code


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="ggufhub",
        description="Check GGUF model files and look inside them without downloading them.",
    )
    parser.add_argument("--version", action="version", version=f"ggufhub {__version__}")
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    for command in (check, show, compare, audit, rules):
        command.add(commands)
    serve = commands.add_parser("serve", help="run the whole service on this machine")
    serve.set_defaults(run=_serve)
    return parser


def _serve(options: argparse.Namespace) -> int:
    """Hand over to the service; it needs Django, the core does not."""
    os.execv(sys.executable, [sys.executable, "-m", "ggufhub.web.serve"])
