"""From the arguments to the list of models: directories, globs, lists on stdin, shards."""

import glob
import os
import sys
from argparse import ArgumentParser
from collections.abc import Iterator
from pathlib import Path

from ggufhub.errors import UsageError
from ggufhub.formats.naming import shard_name
from ggufhub.sources.open import is_remote

STDIN = "-"


def add_network(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--allow-network",
        action="append",
        default=[],
        metavar="CIDR",
        help="also fetch from these addresses, for example 127.0.0.0/8",
    )


def expand(arguments: list[str]) -> list[str]:
    """The models that the arguments name, each once, in order; one shard stands for all.

    ``UsageError`` where an argument names nothing.
    """
    found: dict[str, None] = {}
    seen: set[tuple[str, str, int]] = set()
    for source in _listed(arguments):
        for text in _models(source):
            shard = shard_name(Path(text).name)
            if shard is not None:
                whole = (str(Path(text).parent), shard.prefix, shard.shards)
                if whole in seen:
                    continue
                seen.add(whole)
            found.setdefault(text)
    return list(found)


def _listed(arguments: list[str]) -> Iterator[str]:
    for argument in arguments:
        if argument == STDIN:
            lines = [line.strip() for line in sys.stdin]
            yield from (line for line in lines if line and not line.startswith("#"))
        else:
            yield argument


def _models(source: str) -> list[str]:
    if is_remote(source):
        return [source]
    if os.path.isdir(source):
        files = sorted(str(file) for file in Path(source).rglob("*") if _is_model(file))
        if not files:
            raise UsageError(f"there is no .gguf file in {source}")
        return files
    if not os.path.exists(source) and glob.has_magic(source):
        files = sorted(glob.glob(source, recursive=True))
        if not files:
            raise UsageError(f"no file matches {source}")
        return [model for file in files for model in _models(file)]
    return [source]


def _is_model(file: Path) -> bool:
    """By name: GGUF, and the names under which older programs kept their models."""
    name = file.name.lower()
    legacy = name.startswith("ggml-") and name.endswith(".bin")
    return (name.endswith(".gguf") or legacy) and os.path.isfile(file)
