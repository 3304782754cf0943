"""A client that speaks JSON, and a finished report to ask about."""

from pathlib import Path

import pytest
from rest_framework.test import APIClient

from ggufhub.hub.models import Report
from tests import rows
from tests.builders import small_model


@pytest.fixture
def api() -> APIClient:
    """A program on this machine: no browser, no session."""
    client = APIClient()
    client.default_format = "json"
    return client


@pytest.fixture
def vocabulary(tmp_path: Path, db: None) -> Report:
    return rows.finished_vocabulary(tmp_path)


@pytest.fixture
def model(tmp_path: Path, db: None) -> Report:
    return rows.finished(rows.built(small_model().build(), tmp_path))
