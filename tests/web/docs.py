"""What a page of docs/ tells its reader to do: its commands, options, variables and links."""

import re
import shlex
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"

MANAGE = ("python", "manage.py")


@cache
def page(name: str) -> str:
    return (DOCS / name).read_text()


def commands(name: str) -> list[list[str]]:
    """The commands of its ``sh`` blocks as words, without comments."""
    blocks = re.findall(r"```sh\n(.*?)```", page(name), re.DOTALL)
    lines = "".join(blocks).replace("\\\n", " ").splitlines()
    return [words for line in lines if (words := shlex.split(line, comments=True))]


def managed(name: str) -> list[list[str]]:
    """What follows ``python manage.py`` in its commands, also where a container runs it."""
    found = []
    for words in commands(name):
        for at in range(len(words) - 1):
            if tuple(words[at : at + 2]) == MANAGE:
                found.append(words[at + 2 :])
    return found


def mentioned(name: str) -> set[str]:
    """Commands of ``manage.py`` named anywhere in the page."""
    return set(re.findall(r"manage\.py ([a-z-]+)", page(name)))


def links(name: str) -> list[str]:
    """Its links to other files, without anchors."""
    found = re.findall(r"\]\(([^)\s]+)\)", page(name))
    return [link.partition("#")[0] for link in found if "://" not in link and link[0] != "#"]
