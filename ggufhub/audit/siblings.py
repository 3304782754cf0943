"""The quants of a model: what lies beside it in its repository on a hub, or in its folder.

They are found by the names of a listing; none is opened.
"""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

from ggufhub.audit.groups import Item, group, is_model, is_of_quant
from ggufhub.errors import SourceError
from ggufhub.estimate.fit import Quant
from ggufhub.formats.model_names import MODEL
from ggufhub.sources.hub_names import HubSettings, parse_hub_name
from ggufhub.sources.listed import Places
from ggufhub.sources.listing import Entry, Interest
from ggufhub.sources.open import is_remote
from ggufhub.sources.policy import AddressPolicy

MODELS = Interest(keeps=is_model, reads=lambda path: False)
"""Names and sizes are all that is asked of a listing here."""


def quants_beside(
    source: str,
    document: dict[str, Any],
    *,
    policy: AddressPolicy,
    environment: Mapping[str, str] = os.environ,
) -> list[Quant]:
    """The quants of the model that ``document`` reports on, itself among them, in the order of
    their paths; none where ``source`` is no place that lists its files, or does not list it.

    Projectors, drafts, adapters and importance matrices are no quants, and nor are models of
    another name. ``SourceError`` where the place cannot be listed.
    """
    if is_remote(source):
        entries = _in_repository(source, policy, environment)
    else:
        entries = list(_in_folder(Path(os.path.abspath(source))))
    items = [item for item in group(entries).items if item.role == MODEL]
    own = next((item for item in items if _is(item, document)), None)
    if own is None:
        return []
    return [_quant(item, item is own) for item in items if item.family == own.family]


def _quant(item: Item, own: bool) -> Quant:
    size = None if item.missing else item.size
    return Quant(item.path, item.quant, size, item.missing, own)


def _is(item: Item, document: dict[str, Any]) -> bool:
    """Whether this is the model of the report: by the name and size of the file it opened."""
    opened = document["files"][0]
    return any(
        opened["name"] in (file.name, file.path) and file.size in (None, opened["size"])
        for file in item.files
    )


def _in_repository(
    source: str, policy: AddressPolicy, environment: Mapping[str, str]
) -> list[Entry]:
    name = parse_hub_name(source, HubSettings.from_environment(environment).endpoint)
    if name is None:
        return []
    places = Places(policy=policy, interest=MODELS, environment=environment)
    return places.listing(f"hf://{name.repo}@{quote(name.revision)}").entries


def _in_folder(path: Path) -> Iterator[Entry]:
    """The models in the folder of ``path`` and in those named for quants, in it or around it."""
    home = path.parent
    root = home.parent if is_of_quant(home.name) else home
    try:
        folders = [""]
        folders += sorted(one.name for one in os.scandir(root) if _is_quant_folder(one))
        for folder in folders:
            for entry in os.scandir(root / folder):
                if is_model(entry.name) and entry.is_file():
                    below = f"{folder}/{entry.name}" if folder else entry.name
                    yield Entry(below, entry.path, entry.stat().st_size)
    except OSError as error:
        message = f"{error.filename} cannot be listed: {error.strerror}."
        raise SourceError("unreadable", message) from error


def _is_quant_folder(entry: "os.DirEntry[str]") -> bool:
    return is_of_quant(entry.name) and entry.is_dir()
