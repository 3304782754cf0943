"""Repositories in a temporary folder, listed, inspected and judged."""

import json
from collections.abc import Mapping
from pathlib import Path

from ggufhub.audit.facts import Row, unpack_row
from ggufhub.audit.groups import INTEREST, group
from ggufhub.audit.judge import Judgement
from ggufhub.audit.run import How, inspect_item
from ggufhub.rules.policy import Policy
from ggufhub.sources.list_folder import list_folder
from ggufhub.sources.listing import Listing

HUB = "hub.json"
"""A file of a sample that stands for what a hub declares about the repository."""


def write(folder: Path, files: Mapping[str, bytes]) -> Path:
    for path, data in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(data)
    return folder


def listed(folder: Path, files: Mapping[str, bytes]) -> Listing:
    """The listing of ``files``, written to ``folder``."""
    told = files.get(HUB)
    write(folder, {path: data for path, data in files.items() if path != HUB})
    listing = list_folder(folder, INTEREST)
    if told is not None:
        listing.declared = {"gguf": json.loads(told)}
    return listing


def rows_of(listing: Listing, how: How | None = None) -> list[Row]:
    items = group(listing.entries).items
    return [unpack_row(inspect_item(item, how or How()).packed) for item in items]


def judged(folder: Path, files: Mapping[str, bytes], policy: Policy | None = None) -> Judgement:
    """What the rules about repositories say about ``files``."""
    listing = listed(folder, files)
    judgement = Judgement()
    judgement.add(listing, rows_of(listing), policy=policy)
    return judgement


def found(judgement: Judgement) -> set[str]:
    return {finding["rule"] for finding in judgement.findings}
