"""Who is let in, what every answer carries, and the probes."""

import json
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.db import OperationalError
from rest_framework.test import APIClient

from ggufhub.api.views.health import NEEDED
from ggufhub.hub import selectors
from ggufhub.hub.models import Report
from ggufhub.rules.registry import catalogue
from ggufhub.web import heartbeat
from tests import rows
from tests.live import Broker

pytestmark = pytest.mark.django_db

LIST = "/api/v1/inspections"


def places(report: Report) -> list[str]:
    parts = ("", "/metadata", "/metadata/x", "/tensors", "/findings", "/layout")
    return [f"{LIST}/{report.pk}", *(f"/api/v1/reports/{report.pk}{part}" for part in parts)]


def test_nobody_sees_what_belongs_to_others(api: APIClient, settings: Any, tmp_path: Any) -> None:
    settings.AUTH_MODE = "required"
    owner, other = (User.objects.create_user(name) for name in ("owner", "other"))
    report = rows.finished_vocabulary(tmp_path, count=10)
    report.inspection.owner = owner
    report.inspection.save()
    for place in places(report):
        api.logout()
        assert api.get(place).status_code == 401, place
        api.force_login(other)
        assert api.get(place).status_code == 404, place
        api.force_login(owner)
        assert api.get(place).status_code in (200, 404), place
    assert api.get(places(report)[1]).status_code == 200


def test_where_sign_in_is_required_no_page_answers_a_stranger(
    api: APIClient, settings: Any, model: Report
) -> None:
    settings.AUTH_MODE = "required"
    pages = ["/", "/inspect", f"/i/{model.pk}/", f"/i/{model.pk}/status", "/rules/"]
    assert {api.post(page).status_code for page in pages} == {403}
    answers = [api.get(page) for page in pages]
    assert {answer.status_code for answer in answers} == {302}
    assert [answer["Location"] for answer in answers] == [f"/signin?next={p}" for p in pages]
    api.force_login(User.objects.create_user("somebody"))
    assert api.get("/rules/").status_code == 200
    assert api.get(f"/i/{model.pk}/").status_code == 404


@pytest.mark.parametrize(
    "headers",
    [
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Origin": "https://elsewhere.example"},
        {"Origin": "null"},
    ],
)
def test_another_site_cannot_make_a_browser_submit(api: APIClient, headers: Any) -> None:
    answer = api.post(LIST, {"source": "https://a.example/x"}, headers=headers)
    assert answer.status_code == 403
    assert selectors.recent(None, 1) == []
    assert api.get(LIST, headers=headers).status_code == 200


def test_our_own_pages_can_submit(api: APIClient) -> None:
    headers = {"Sec-Fetch-Site": "same-origin", "Origin": "http://testserver"}
    answer = api.post(LIST, {"source": "https://a.example/x"}, headers=headers)
    assert answer.status_code == 202


def test_a_session_without_a_token_cannot_submit(settings: Any) -> None:
    settings.AUTH_MODE = "required"
    client = APIClient(enforce_csrf_checks=True)
    client.force_login(User.objects.create_user("u"))
    answer = client.post(LIST, {"source": "https://a.example/x"}, format="json")
    assert answer.status_code == 403


def test_a_foreign_host_name_is_refused(api: APIClient) -> None:
    assert api.get(LIST, headers={"Host": "rebound.example"}).status_code == 400


def test_every_answer_carries_the_guards(api: APIClient) -> None:
    for place in (LIST, "/api/v1/none", "/healthz"):
        answer = api.get(place)
        policy = answer["Content-Security-Policy"]
        assert "default-src 'none'" in policy and "unsafe" not in policy
        assert "require-trusted-types-for 'script'; trusted-types ggufhub" in policy
        assert answer["X-Content-Type-Options"] == "nosniff"
        assert answer["Referrer-Policy"] == "same-origin"
        assert answer["Cross-Origin-Opener-Policy"] == "same-origin"
        assert answer["Cross-Origin-Resource-Policy"] == "same-origin"
        assert answer["X-Frame-Options"] == "DENY"
        assert len(answer["X-Request-Id"]) == 32


def test_only_the_administration_is_spared_trusted_types(api: APIClient) -> None:
    for place in ("/admin/", "/admin/login/", "/admin/hub/inspection/", "/admin/none/"):
        policy = api.get(place)["Content-Security-Policy"]
        assert "script-src 'self'" in policy and "trusted-types" not in policy, place
    for place in ("/", "/signin", "/administration", "/static/admin/js/none.js"):
        assert "trusted-types" in api.get(place)["Content-Security-Policy"], place


@pytest.mark.parametrize("place", ["/api/v1/none", f"{LIST}/none", "/api/v1/"])
def test_an_unknown_place_is_a_problem(api: APIClient, place: str) -> None:
    answer = api.get(place)
    assert answer.status_code == 404
    assert answer["Content-Type"] == "application/problem+json"
    assert answer.json()["instance"] == place


def test_a_method_that_makes_no_sense_is_a_problem(api: APIClient) -> None:
    answer = api.put(LIST, {})
    assert (answer.status_code, answer.json()["type"]) == (405, "/problems/method-not-allowed")


def test_a_mistake_of_ours_shows_no_details(api: APIClient, monkeypatch: Any) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError("secret")

    monkeypatch.setattr(selectors, "visible", broken)
    answer = api.get(LIST)
    assert (answer.status_code, answer.json()["type"]) == (500, "/problems/internal")
    assert "secret" not in answer.content.decode()


def test_a_database_that_is_away_is_a_503(api: APIClient, monkeypatch: Any) -> None:
    def away(*_: object) -> None:
        raise OperationalError("secret")

    monkeypatch.setattr(selectors, "visible", away)
    answer = api.get(LIST)
    assert (answer.status_code, answer["Retry-After"]) == (503, "5")


def test_the_rules_are_listed_and_shown(api: APIClient) -> None:
    listed = api.get("/api/v1/rules").json()["items"]
    assert [rule["id"] for rule in listed] == [rule.id for rule in catalogue()]
    first = listed[0]
    assert api.get(f"/api/v1/rules/{first['id']}").json() == first
    assert api.get("/api/v1/rules/STR999").status_code == 404


def test_the_probes(api: APIClient, broker: Broker) -> None:
    assert api.get("/healthz").json() == {"status": "ok"}
    with broker.client() as client:
        heartbeat.beat(client, "inspect@here", NEEDED)
    ready = api.get("/readyz")
    assert (ready.status_code, ready.json()["status"]) == (200, "ok")
    broker.kill()
    try:
        unready = api.get("/readyz")
    finally:
        broker.start()
    assert unready.status_code == 503
    away = {"broker": "unavailable", "workers": "unavailable"}
    assert unready.json()["checks"] == {"database": "ok", **away}
    assert api.get("/healthz").status_code == 200


def test_the_schema_is_valid_and_served(api: APIClient, tmp_path: Any) -> None:
    file = tmp_path / "schema.json"
    call_command(
        "spectacular", validate=True, fail_on_warn=True, format="openapi-json", file=str(file)
    )
    served = api.get("/api/v1/openapi.json").json()
    assert served["paths"] == json.loads(file.read_text())["paths"]
    described = {place for place in served["paths"] if place.startswith("/api/v1/")}
    assert "/api/v1/inspections" in described and len(described) == 34
    listing = served["paths"][LIST]["get"]["responses"]["200"]["content"]["application/json"]
    assert listing["schema"]["$ref"].endswith("/InspectionsOutput")


@pytest.mark.parametrize(
    "body",
    [
        '{"source": "https://h.example/x", "depth": "\\ud800"}',
        '{"source": "https://h.example/\\ud800"}',
        '{"source": "https://h.example/x", "profile": "\\ud800\\u0000"}',
        '{"source": "https://h.example/x", "policy": {"allowed_licences": ["\\ud800"]}}',
        '{"source": "https://h.example/x", "policy": {"required_keys": ["a\\u0000"]}}',
        '{"source": "https://h.example/x", "policy": {"\\ud800": 1}}',
        '{"source": "https://h.example/x", "expected": {"sha256": "\\ud800"}}',
        '{"uploads": ["\\ud800"]}',
        '{"\\ud800": 1}',
    ],
)
def test_half_of_a_surrogate_pair_is_a_bad_request(api: APIClient, body: str) -> None:
    answer = api.generic("POST", LIST, body, content_type="application/json")
    assert answer.status_code == 400
    assert answer["Content-Type"] == "application/problem+json"


@pytest.mark.parametrize(
    "place",
    ["tokens/a%00b", "rules/a%00b", "rules/%ff", "reports/%00", "webhooks/%00/ping", "x%00"],
)
def test_nul_in_an_address_finds_nothing(api: APIClient, place: str) -> None:
    for method in (api.get, api.delete, api.post):
        assert method(f"/api/v1/{place}").status_code in (404, 405)
