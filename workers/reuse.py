"""Finding out that a file is still the one an earlier report is about, at the price of one byte.

A link is asked for its first byte, and the validators of that answer are compared with those of
the bytes that were kept; an upload lies here and is compared with them. By the same rules the
earlier report then stands; by newer ones the kept bytes are judged again.
"""

import hashlib
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import Any

from django.conf import settings

from ggufhub.errors import SourceError
from ggufhub.hub import headers, selectors
from ggufhub.hub.headers import KeptFile
from ggufhub.hub.models import Inspection, Report
from ggufhub.integrity.beside import COMPUTED
from ggufhub.limits import FULL, MIB, Limits
from ggufhub.report import build
from ggufhub.report.document import Report as BuiltReport
from ggufhub.rules.policy_file import parse_policy
from ggufhub.sources.base import EXPECTED, ByteSource, Identity, Reads
from workers.recording import Replay, identity_of, rewound

ONE_BYTE = replace(Limits(), first_read=1)
"""The first read of a source asks for one byte: enough to be told who the file is."""

Open = Callable[[Limits], AbstractContextManager[ByteSource]]
"""Opens the source of a row within limits."""

Progress = Callable[[str, Reads], None]


def unchanged_link(earlier: Report, open_source: Open) -> Reads | None:
    """What it cost to learn that every file of ``earlier`` is the same; None where one is not, or
    nothing that is told of them proves it."""
    try:
        files, about = headers.open_kept(earlier)
    except headers.NotKept:
        return None
    if about["absent"]:
        return None  # it may be there by now
    try:
        with open_source(ONE_BYTE) as source:
            same = is_same(identity_of(files[0].facts), source.identity) and all(
                _same_beside(source, file) for file in files[1:]
            )
            return source.reads if same else None
    except SourceError:
        return None


def _same_beside(source: ByteSource, file: KeptFile) -> bool:
    with source.sibling(file.name) as sibling:
        return is_same(identity_of(file.facts), sibling.identity)


def is_same(then: Identity, now: Identity) -> bool:
    """Whether both are the same bytes: by a digest that both declare, or by a strong ETag.

    What was told besides (the commit, the layers) must be the same too: the report shows it.
    """
    if then.size is None or then.size != now.size:
        return False
    if (then.notes, then.layers) != (now.notes, now.layers):
        return False
    known = _declared(then), _declared(now)
    if all(known):
        return known[0] == known[1]
    return then.etag is not None and then.etag == now.etag and not then.etag.startswith("W/")


def _declared(identity: Identity) -> set[str]:
    return {
        digest.value
        for digest in identity.digests
        if digest.algorithm == "sha256" and digest.basis != EXPECTED
    }


def unchanged_uploads(
    earlier: Report, paths: Mapping[str, Path], progress: Progress
) -> Reads | None:
    """No reads where every file of ``earlier`` that was uploaded is, as far as it was read then,
    the same as the one at the path of its name; else None.

    At depth ``full`` that is every byte, by its digest. Nothing is fetched, so nothing counts.
    """
    try:
        files, _ = headers.open_kept(earlier)
    except headers.NotKept:
        return None
    if not all(file.name in paths and _holds(paths[file.name], file) for file in files):
        return None
    if earlier.inspection.depth == FULL and not _digests_agree(earlier, paths, progress):
        return None
    return Reads()


def _holds(path: Path, file: KeptFile) -> bool:
    try:
        with path.open("rb") as stream:
            return file.equals(lambda at, length: _read(stream, at, length))
    except OSError:
        return False


def _read(stream: Any, offset: int, length: int) -> bytes:
    stream.seek(offset)
    data: bytes = stream.read(length)
    return data


def _digests_agree(earlier: Report, paths: Mapping[str, Path], progress: Progress) -> bool:
    for file in selectors.document(earlier)["files"]:
        known = {
            digest["value"]
            for digest in file["digests"]
            if digest["algorithm"] == "sha256" and digest["basis"] == COMPUTED
        }
        path = paths.get(file["name"])
        if path is None or known != {_sha256(path, progress)}:
            return False
    return True


def _sha256(path: Path, progress: Progress) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as stream:
        while data := stream.read(8 * MIB):
            digest.update(data)
            progress("comparing with the earlier report", Reads())
    return digest.hexdigest()


def judge_kept(row: Inspection, earlier: Report, reads: Reads) -> BuiltReport | None:
    """The report on what was kept for ``earlier``, by the rules of today and what ``row`` asks.

    None where that is not enough: these rules look at more than was read then. ``reads`` is what
    it cost to know that the file is the same.
    """
    if row.depth == FULL:
        return None
    try:
        files, about = headers.open_kept(earlier)
    except headers.NotKept:
        return None
    with rewound(files, settings.UPLOAD_DIR) as (first, *others):
        replay = Replay(first, {file.name: file for file in others}, about, reads)
        report = build.inspect(
            replay,
            profile=row.profile,
            policy=parse_policy(row.policy) if row.policy else None,
            expected=row.expected,
            depth=row.depth,
        )
    return None if replay.gaps else report
