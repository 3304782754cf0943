"""Exports over HTTP: every format, comparisons, badges, profiles, and a policy with a request."""

import json
import re
import uuid
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as Xml

import pytest
from django.contrib.auth import get_user_model
from rest_framework.test import APIClient

from ggufhub.hub import selectors
from ggufhub.hub.models import Inspection, Report
from ggufhub.rules.model_samples import llama
from ggufhub.rules.policy_file import parse_policy
from tests import rows
from tests.core.test_renders import SARIF, check_junit
from workers.inspect import inspect

SUBMIT = "/api/v1/inspections"

pytestmark = pytest.mark.django_db


@pytest.fixture
def bad(tmp_path: Path) -> Report:
    return rows.finished(rows.built(llama({"bad key": 1})[:-200], tmp_path))


@pytest.fixture
def good(tmp_path: Path) -> Report:
    return rows.finished(rows.built(llama(), tmp_path))


def url(report: Report, rest: str = "") -> str:
    return f"/api/v1/reports/{report.pk}{rest}"


@pytest.mark.parametrize(
    ("name", "media_type"),
    [
        ("json", "application/json"),
        ("sarif", "application/sarif+json"),
        ("junit", "application/xml"),
        ("markdown", "text/markdown"),
        ("text", "text/plain"),
        ("github", "text/plain"),
    ],
)
def test_formats_are_asked_for_and_kept(
    api: APIClient, bad: Report, name: str, media_type: str
) -> None:
    answer = api.get(url(bad, f"?format={name}"))
    assert answer.status_code == 200
    assert answer["Content-Type"].partition(";")[0] == media_type
    assert answer["Vary"].startswith("Accept")
    assert b"STR032" in answer.content
    again = api.get(url(bad, f"?format={name}"), headers={"If-None-Match": answer["ETag"]})
    assert (again.status_code, again.content) == (304, b"")
    assert again["ETag"] == answer["ETag"]


def test_every_format_has_its_own_etag(api: APIClient, bad: Report) -> None:
    names = ("json", "sarif", "junit", "markdown", "text", "github")
    assert len({api.get(url(bad, f"?format={name}"))["ETag"] for name in names}) == len(names)


@pytest.mark.parametrize(
    ("accept", "media_type"),
    [
        ("application/sarif+json", "application/sarif+json"),
        ("text/markdown;q=0.9, application/json;q=0.1", "text/markdown"),
        ("application/json;q=0.1, TEXT/PLAIN", "text/plain"),
        ("text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", "application/json"),
        ("application/xml", "application/xml"),
        ("image/png", "application/json"),
        ("application/xml;q=0, ;q=x", "application/json"),
        ("*/*", "application/json"),
    ],
)
def test_accept_chooses(api: APIClient, bad: Report, accept: str, media_type: str) -> None:
    answer = api.get(url(bad), headers={"Accept": accept})
    assert answer["Content-Type"].partition(";")[0] == media_type


def test_format_goes_before_accept(api: APIClient, bad: Report) -> None:
    answer = api.get(url(bad, "?format=junit"), headers={"Accept": "text/markdown"})
    check_junit(answer.content.decode())


def test_renders_are_valid(api: APIClient, bad: Report) -> None:
    SARIF.validate(json.loads(api.get(url(bad, "?format=sarif")).content))
    assert "❌ fail" in api.get(url(bad, "?format=markdown")).content.decode()


def test_an_unknown_format_is_refused(api: APIClient, bad: Report) -> None:
    answer = api.get(url(bad, "?format=pdf"))
    assert (answer.status_code, answer.json()["errors"][0]["pointer"]) == (400, "/format")


def test_a_comparison(api: APIClient, good: Report, bad: Report) -> None:
    document = api.get(url(good, f"/compare/{bad.pk}")).json()
    assert document["schema"] == "ggufhub.compare/1"
    assert [entry["key"] for entry in document["metadata"]["added"]] == ["bad key"]
    assert {finding["rule"] for finding in document["findings"]["new"]} == {"STR013", "STR032"}
    assert api.get(url(good, f"/compare/{good.pk}")).json()["same"]
    text = api.get(url(good, f"/compare/{bad.pk}?format=markdown")).content.decode()
    assert "- **added** bad key: 1" in text


@pytest.mark.parametrize("name", ["json", "markdown", "text"])
def test_a_comparison_is_kept(api: APIClient, good: Report, bad: Report, name: str) -> None:
    place = url(good, f"/compare/{bad.pk}?format={name}")
    etag = api.get(place)["ETag"]
    assert api.get(place, headers={"If-None-Match": etag}).status_code == 304
    assert api.get(url(bad, f"/compare/{good.pk}?format={name}"))["ETag"] != etag


def test_a_badge(api: APIClient, bad: Report) -> None:
    answer = api.get(url(bad, "/badge.svg"))
    assert answer["Content-Type"] == "image/svg+xml; charset=utf-8"
    assert Xml.fromstring(answer.content)[0].text == "gguf: 1 error, 1 warning"


@pytest.mark.parametrize("rest", ["?format=sarif", "/badge.svg", "/compare/{other}"])
def test_others_see_nothing(
    api: APIClient, bad: Report, settings: Any, rest: str, tmp_path: Path
) -> None:
    settings.AUTH_MODE = "required"
    users = [get_user_model().objects.create_user(name) for name in ("one", "two")]
    mine = rows.finished(rows.built(llama(), tmp_path), owner=users[0])
    place = url(mine, rest.format(other=mine.pk))
    assert api.get(place).status_code in (401, 403)
    api.force_login(users[1])
    assert api.get(place).status_code == 404
    assert api.get(url(mine, f"/compare/{bad.pk}")).status_code == 404
    api.force_login(users[0])
    assert api.get(place).status_code == 200
    assert api.get(url(mine, f"/compare/{bad.pk}")).status_code == 404


def test_what_is_not_there(api: APIClient, good: Report) -> None:
    assert api.get(url(good, f"/compare/{uuid.uuid4()}")).status_code == 404
    assert api.get(f"/api/v1/reports/{rows.queued().pk}/badge.svg").status_code == 404


def test_profiles(api: APIClient) -> None:
    items = api.get("/api/v1/profiles").json()["items"]
    assert [item["name"] for item in items] == ["publish", "load", "security", "audit"]
    assert "SEC001" in items[2]["rules"]


def submitted(api: APIClient, policy: Any) -> Any:
    upload = rows.upload_of(llama())
    body = json.dumps({"upload": str(upload.pk), "profile": "load", "policy": policy})
    return api.post(SUBMIT, body, content_type="application/json")


@pytest.mark.django_db(transaction=True)  # the worker's thread writes, too
def test_a_policy_goes_with_the_inspection(api: APIClient, broker: object) -> None:
    policy = {"required_keys": ["general.url"], "ignore": {"tpl": "base model"}}
    answer = submitted(api, policy)
    assert answer.status_code == 202
    kept = {"required_keys": ["general.url"], "ignore": {"TPL": "base model"}}
    assert answer.json()["policy"] == kept
    row = Inspection.objects.get(pk=answer.json()["id"])
    assert parse_policy(row.policy).required_keys == ("general.url",)
    inspect(str(row.pk))
    findings = selectors.document(Report.objects.get(pk=row.pk))["findings"]
    assert [finding["rule"] for finding in findings] == ["POL001"]


def test_without_a_policy_there_is_none(api: APIClient, broker: object) -> None:
    upload = rows.upload_of(llama())
    answer = api.post(SUBMIT, {"upload": str(upload.pk)})
    assert (answer.json()["policy"], answer.json()["profile"]) == ({}, "publish")


def test_a_policy_in_a_form_is_json(api: APIClient, broker: object) -> None:
    upload = rows.upload_of(llama())
    fields = {"upload": str(upload.pk), "policy": '{"max_size": "1 GiB"}'}
    answer = api.post(SUBMIT, fields, format="multipart")
    assert answer.json()["policy"] == {"max_size": 1024**3}


@pytest.mark.parametrize(
    ("policy", "detail"),
    [
        ({"selekt": []}, "policy.selekt: there is no such field"),
        ({"severity": {"STR013": "fatal"}}, "policy.severity.STR013: must be one of"),
        ([], "Give an object"),
        ("{", "This is not JSON"),
        ({"required_keys": ["a\0"]}, "must be a list of texts"),
        ({"\ud800": 1}, "there is no such field"),
    ],
)
def test_a_wrong_policy_names_its_field(api: APIClient, policy: Any, detail: str) -> None:
    answer = submitted(api, policy)
    assert answer.status_code == 400
    (error,) = answer.json()["errors"]
    assert error["pointer"] == "/policy"
    assert re.search(re.escape(detail), error["detail"])
