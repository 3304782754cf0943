"""From a source to a Model: recognise, read, and gather the shards that belong together."""

import hashlib
from dataclasses import replace

from ggufhub.errors import BytesMissing, SourceChanged, SourceError
from ggufhub.formats.detect import (
    EXECUTABLE,
    GGUF,
    HEAD,
    IMATRIX_DAT,
    LEGACY,
    detect,
)
from ggufhub.formats.detect import UNKNOWN as UNKNOWN_FORM
from ggufhub.formats.gguf import read_gguf
from ggufhub.formats.imatrix_dat import read_imatrix_dat
from ggufhub.formats.kind import MMPROJ, UNKNOWN, header_kind
from ggufhub.formats.legacy.read import read_legacy
from ggufhub.formats.llamafile import find_model
from ggufhub.formats.model import Model, ModelFile
from ggufhub.formats.naming import ShardName, shard_name
from ggufhub.limits import Limits
from ggufhub.sources.base import ByteSource
from ggufhub.sources.slice import SliceSource
from ggufhub.sources.window import Window

PROJECTOR_PREFIX = "mmproj"
"""How files of projectors are named (the naming convention in ``docs/gguf.md``)."""

TRAILING_HEAD = 64
"""Bytes enough to name what follows the data of a model."""

SHARDS_AT_ONCE = 4
"""A shard's header is small, so reading it is mostly waiting. Four is also how many fetches one
origin is asked for at the same time."""


def load_model(source: ByteSource, limits: Limits) -> Model:
    """Read one model, following its shards by name. Raises ``SourceError`` for the given source.

    A sibling that cannot be had is listed as missing, never an error of the given file.
    """
    name = shard_name(source.identity.name)
    if name is None or name.shards < 2 or not 1 <= name.number <= name.shards:
        file = load_file(source, limits)
        kind = _kind([file])
        companion = _text_model(source, limits) if kind == MMPROJ else None
        return Model([file], kind, companion=companion)
    if name.shards > limits.shards:
        file = load_file(source, limits)
        over = SourceError("limit", f"More than {limits.shards} shards are not followed.")
        return Model([file], _kind([file]), {name.sibling(1): over})
    return _load_shards(source, name, limits)


def _load_shards(source: ByteSource, name: ShardName, limits: Limits) -> Model:
    """The model of which ``source`` is one shard, a few shards at a time.

    Which thread is quickest decides nothing: results and errors are taken in the order of the
    shards, so the first one in that order to fail is the one that is told.
    """
    from concurrent.futures import ThreadPoolExecutor  # 12 ms, which most files need not pay

    files: list[ModelFile] = []
    missing: dict[str, SourceError] = {}
    asked = 0
    budget = _Budget(limits.header_bytes)
    pool = ThreadPoolExecutor(SHARDS_AT_ONCE, "shard")
    try:
        numbers = range(1, name.shards + 1)
        tasks = [
            pool.submit(_load_shard, source, name, number, limits, budget) for number in numbers
        ]
        for number, task in zip(numbers, tasks, strict=True):
            found = task.result()
            if isinstance(found, SourceError):
                missing[name.sibling(number)] = found
                continue
            if number == name.number:
                asked = len(files)
            files.append(found)
    finally:
        pool.shutdown(cancel_futures=True)
    return Model(files, _kind(files), missing, asked)


class _Budget:
    """Bytes that the headers of all shards together may still take: they are all kept."""

    def __init__(self, left: int) -> None:
        self._left = left

    def spend(self, file: ModelFile) -> None:
        if file.header is not None:
            self._left -= file.header.tables_end or 0

    @property
    def error(self) -> SourceError | None:
        """Why no further shard is read; None while one may be."""
        if self._left > 0:
            return None
        return SourceError("limit", "The headers of the shards before it are too large together.")


def _load_shard(
    source: ByteSource, name: ShardName, number: int, limits: Limits, budget: _Budget
) -> ModelFile | SourceError:
    """Shard ``number``, or why it cannot be had. Raises where nothing can be said without it."""
    if number == name.number:
        return load_file(source, limits)
    if (error := budget.error) is not None:
        return error
    most = min(limits.header_bytes, limits.shard_header_bytes)
    try:
        with source.sibling(name.sibling(number)) as shard:
            file = load_file(shard, replace(limits, header_bytes=most))
    except (BytesMissing, SourceChanged):
        raise
    except SourceError as failure:
        if failure.retry_after is not None:
            raise  # the shard is there, and nothing can be said before it is read
        return failure
    if file.header is not None and file.form is GGUF:
        file.header.detach()
    budget.spend(file)
    return file


def load_file(source: ByteSource, limits: Limits) -> ModelFile:
    """Read one file. Raises ``SourceError``; whatever its bytes hold ends up in the result."""
    window = Window(source, limits)
    size = window.size
    window.ensure(HEAD if size is None else min(HEAD, size))
    form = detect(bytes(window.buffer[: min(window.filled, HEAD)]), source.identity.name)
    file = ModelFile(source.identity, form)
    if form is GGUF:
        file.header = read_gguf(window)
        file.trailing = _trailing(file, source)
    elif form in LEGACY:
        file.header = read_legacy(window, form.code)
    elif form is EXECUTABLE:
        return _load_inside(file, source, limits)
    elif form is UNKNOWN_FORM:
        file.header = read_imatrix_dat(window)
        if file.header is not None:
            file.form = IMATRIX_DAT
    file.computed = _digests(window)
    return file


def _text_model(source: ByteSource, limits: Limits) -> ModelFile | None:
    """The one other model beside a projector: with several nobody knows which is meant."""
    own = source.identity.name
    names = [
        name
        for name in source.sibling_names() or []
        if name.endswith(".gguf") and name != own and not name.startswith(PROJECTOR_PREFIX)
    ]
    first = [name for name in names if (shard := shard_name(name)) is None or shard.number == 1]
    if len(first) != 1:
        return None
    try:
        with source.sibling(first[0]) as sibling:
            return load_file(sibling, limits)
    except BytesMissing:
        raise
    except SourceError:
        return None


def _digests(window: Window) -> dict[str, str]:
    """The SHA-256 of a file so small that the first read brought all of it."""
    size = window.size
    if size is None or size > window.limits.first_read or window.filled < size:
        return {}
    return {"sha256": hashlib.sha256(window.buffer[:size]).hexdigest()}


def _load_inside(file: ModelFile, source: ByteSource, limits: Limits) -> ModelFile:
    """The model inside a llamafile; the program itself where there is none."""
    file.archive = find_model(source)
    member = None if file.archive is None else file.archive.member
    if member is None:
        return file
    name = f"{source.identity.name}!/{member.name}"
    inside = load_file(SliceSource(source, member.offset, member.size, name), limits)
    inside.archive = file.archive
    return inside


def _kind(files: list[ModelFile]) -> str:
    header = files[0].header
    return UNKNOWN if header is None else header_kind(header)


def _trailing(file: ModelFile, source: ByteSource) -> bytes | None:
    """The first bytes after the model. They are worth a look, but never an error."""
    end, size = file.data_end, file.size
    if end is None or size is None or not 0 < end < size:
        return None
    try:
        return source.read(end, min(TRAILING_HEAD, size - end))
    except SourceError:
        return None
