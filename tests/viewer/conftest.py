"""Reports of files made in memory, stored like everybody's, and what they look like as pages."""

from collections.abc import Callable
from pathlib import Path

import pytest
from django.test import Client

from ggufhub.hub.models import Inspection
from tests.builders import Gguf
from tests.rows import built, finished
from tests.viewer import samples
from tests.viewer.page import Page

Inspected = Callable[[Gguf | bytes], Inspection]


@pytest.fixture
def inspected(db: None, tmp_path: Path) -> Inspected:
    """Inspects a file with the real core and stores the report."""

    def make(file: Gguf | bytes) -> Inspection:
        data = file if isinstance(file, bytes) else file.build()
        return finished(built(data, tmp_path)).inspection

    return make


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
