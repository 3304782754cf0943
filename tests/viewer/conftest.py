"""Reports of files made in memory, stored like everybody's, and what they look like as pages."""

from collections.abc import Callable
from pathlib import Path

import pytest
from django.test import Client

from ggufhub.hub import headers
from ggufhub.hub.models import Inspection
from ggufhub.limits import FULL, Limits
from ggufhub.report import build
from ggufhub.sources.file import FileSource
from ggufhub.sources.upload import Stored, UploadSource
from tests.builders import Gguf
from tests.rows import finished
from tests.shards import three_shards
from tests.viewer import samples
from tests.viewer.page import Page
from workers.recording import Recorder, Tape

Inspected = Callable[[Gguf | bytes], Inspection]


@pytest.fixture
def inspected(db: None, tmp_path: Path) -> Inspected:
    """Inspects a file with the real core and stores the report and the bytes it was made from."""

    def make(file: Gguf | bytes) -> Inspection:
        return inspect_files({"model.gguf": _bytes(file)}, tmp_path)

    return make


@pytest.fixture
def split(db: None, tmp_path: Path) -> Inspection:
    """A split model of three files."""
    return inspect_files(three_shards(), tmp_path)


def inspect_files(files: dict[str, bytes], directory: Path) -> Inspection:
    """One stored inspection of all the files, the first of which is opened."""
    for name, data in files.items():
        (directory / name).write_bytes(data)
    first, *others = files
    siblings = {name: Stored(directory / name, len(files[name])) for name in others}
    with (
        Tape(directory) as tape,
        UploadSource(directory / first, first, len(files[first]), siblings) as source,
    ):
        report = build.inspect(Recorder(source, tape))
        kept = headers.keep(tape.files, tape.about, report.document) if tape.files else None
    return finished(report, kept).inspection


@pytest.fixture
def read_whole(db: None, tmp_path: Path) -> Callable[..., Inspection]:
    """Inspects the first of some files by every byte; the others lie beside it."""

    def make(**files: Gguf | bytes) -> Inspection:
        named = {name.replace("_", "."): _bytes(file) for name, file in files.items()}
        for name, data in named.items():
            (tmp_path / name).write_bytes(data)
        with FileSource(tmp_path / next(iter(named))) as source:
            report = build.inspect(source, limits=Limits().for_depth(FULL), depth=FULL)
        return finished(report).inspection

    return make


def _bytes(file: Gguf | bytes) -> bytes:
    return file if isinstance(file, bytes) else file.build()


@pytest.fixture
def chat(inspected: Inspected) -> Inspection:
    """A small model with a vocabulary and two templates."""
    return inspected(samples.chat_model())


@pytest.fixture
def get(client: Client) -> Callable[[str], Page]:
    """Fetches a page, follows redirects, and insists on 200."""

    def fetch(url: str) -> Page:
        answer = client.get(url.partition("#")[0], follow=True)
        assert answer.status_code == 200, (url, answer.status_code)
        return Page(answer.content.decode())

    return fetch
