"""The bytes of a header over HTTP."""

from pathlib import Path

import pytest
from rest_framework.test import APIClient

from ggufhub.hub.models import Report
from tests import rows
from tests.builders import vocabulary

DATA = vocabulary(100_000).build() + bytes(2 * 1024**2)

pytestmark = pytest.mark.django_db


@pytest.fixture
def report(tmp_path: Path, db: None) -> Report:
    return rows.finished(*rows.kept(DATA, tmp_path))


def place(report: Report) -> str:
    return f"/api/v1/reports/{report.pk}/bytes"


def test_a_range(api: APIClient, report: Report) -> None:
    answer = api.get(place(report), {"offset": 1_000, "length": 300})
    assert (answer.status_code, answer["Content-Type"]) == (200, "application/octet-stream")
    assert answer.content == DATA[1_000:1_300]
    assert "immutable" in answer["Cache-Control"]
    again = api.get(
        place(report), {"offset": 1_000, "length": 300}, headers={"If-None-Match": answer["ETag"]}
    )
    assert (again.status_code, again.content) == (304, b"")
    assert api.get(place(report)).content == DATA[:4096]
    assert api.get(place(report), {"file": "model.gguf", "length": 5}).content == DATA[:5]


@pytest.mark.parametrize(
    ("query", "status", "slug"),
    [
        ({"offset": len(DATA) - 1}, 416, "not-read"),
        ({"offset": 2**63 - 1}, 416, "not-read"),
        ({"file": "other.gguf"}, 404, "not-kept"),
        ({"offset": -1}, 400, "invalid"),
        ({"offset": 2**63}, 400, "invalid"),
        ({"length": 0}, 400, "invalid"),
        ({"length": 65_537}, 400, "invalid"),
        ({"file": "a\0b"}, 400, "invalid"),
    ],
)
def test_what_is_not_there(
    api: APIClient, report: Report, query: dict[str, object], status: int, slug: str
) -> None:
    answer = api.get(place(report), query)
    assert answer.status_code == status
    assert answer["Content-Type"] == "application/problem+json"
    assert answer.json()["type"] == f"/problems/{slug}"


def test_an_older_report_has_none(api: APIClient, tmp_path: Path) -> None:
    report = rows.finished(rows.built(vocabulary(10).build(), tmp_path))
    answer = api.get(place(report))
    assert (answer.status_code, answer.json()["type"]) == (404, "/problems/not-kept")
