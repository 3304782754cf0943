"""Submitting, waiting, stopping: all of it without JavaScript."""

from collections.abc import Callable

import pytest
from django.test import Client

from ggufhub.hub import budgets, services
from ggufhub.hub.budgets import Turn
from ggufhub.hub.models import Inspection, State
from tests.rows import header_upload, queued
from tests.viewer.page import Page

pytestmark = pytest.mark.django_db
Get = Callable[[str], Page]
LINK = "https://models.example/a.gguf"


def test_a_pasted_link_is_queued_and_has_a_page(client: Client) -> None:
    answer = client.post("/inspect", {"link": f"  {LINK} "})
    row = Inspection.objects.get()
    assert row.locator == LINK
    assert answer.headers["Location"] == f"/i/{row.pk}/"


@pytest.mark.parametrize("link", ["", "ftp://a/b", "not a link", "https://user:pw@host/a"])
def test_a_bad_link_comes_back_with_the_reason(client: Client, link: str) -> None:
    answer = client.post("/inspect", {"link": link})
    page = Page(answer.content.decode())
    assert answer.status_code == 400
    assert page.one("p", role="alert").text.startswith("That did not work.")
    assert page.one("input", id="link").attributes["value"] == link
    assert not Inspection.objects.exists()


def test_a_form_of_another_site_is_refused() -> None:
    answer = Client(enforce_csrf_checks=True).post("/inspect", {"link": LINK})
    assert answer.status_code == 403
    assert not Inspection.objects.exists()


def test_waiting_works_without_scripts(get: Get) -> None:
    row = queued()
    page = get(f"/i/{row.pk}/")
    assert page.one("meta", http_equiv="refresh").parent.tag == "noscript"
    assert page.one("div", class_="state").attributes["data-stage"] == "waiting for a worker"


def test_the_page_says_how_many_wait_before_it(get: Get) -> None:
    first, other, last = queued(), queued(), queued()
    Inspection.objects.filter(pk=other.pk).update(lane="full")
    assert "0 waiting" in get(f"/i/{first.pk}/").one("div", class_="state").text
    assert "1 waiting" in get(f"/i/{last.pk}/status").one("div", class_="state").text
    services.claim(first.pk)
    assert "waiting" not in get(f"/i/{first.pk}/").one("div", class_="state").text
    assert "0 waiting" in get(f"/i/{last.pk}/").one("div", class_="state").text


def test_progress_shows_stage_bytes_and_requests(get: Get) -> None:
    row = queued(bytes(5000))
    attempt = services.claim(row.pk)
    services.progress(row.pk, attempt, stage="reading", requests=2, bytes_read=3000)
    text = get(f"/i/{row.pk}/").one("div", class_="state").text
    for part in ("running", "reading", "3.0 kB", "of 5.0 kB", "2"):
        assert part in text


def test_a_header_only_upload_says_what_it_waits_for(get: Get) -> None:
    upload = header_upload(bytes(1000), 10**9, sent=1000)
    row = services.submit_upload(owner=None, upload=upload)
    services.need_bytes(row.pk, services.claim(row.pk), offset=1000, length=500)
    assert "Waiting for 500 bytes from byte 0x000003E8" in get(f"/i/{row.pk}/").text


def test_the_status_tells_a_poller_to_stop(client: Client) -> None:
    row = queued()
    assert client.get(f"/i/{row.pk}/status").status_code == 200
    services.cancel(row)
    assert client.get(f"/i/{row.pk}/status").status_code == 286


def test_cancelling_is_a_form(client: Client, get: Get) -> None:
    row = queued()
    form = get(f"/i/{row.pk}/").one("form", action=f"/i/{row.pk}/cancel")
    answer = client.post(form.attributes["action"], follow=True)
    row.refresh_from_db()
    assert row.state == State.CANCELLED
    assert "This inspection was cancelled" in answer.content.decode()


def test_a_failure_names_its_reason(get: Get) -> None:
    row = queued()
    services.fail(row.pk, services.claim(row.pk), code="timeout", message="It took <too> long.")
    page = get(f"/i/{row.pk}/")
    assert "It took <too> long." in page.text and "timeout" in page.text


def test_a_tab_of_an_unfinished_inspection_leads_to_its_progress(client: Client) -> None:
    row = queued()
    for tab in ("tensors/", "metadata/some.key"):
        assert client.get(f"/i/{row.pk}/{tab}").headers["Location"] == f"/i/{row.pk}/"


def test_again_is_offered_only_where_the_whole_link_is_known(get: Get) -> None:
    for link, count in ((LINK, 1), (LINK + "?signature=secret", 0)):
        row = services.submit_url(owner=None, url=link)
        services.fail(row.pk, services.claim(row.pk), code="x", message="x")
        assert len(get(f"/i/{row.pk}/").all("input", type="hidden", name="link")) == count


def test_recent_inspections_are_listed_newest_first(get: Get) -> None:
    queued(name="old.gguf")
    queued(name="new.gguf")
    names = [cell.text for cell in get("/").all("td", class_="name")]
    assert names == ["new.gguf", "old.gguf"]


def test_others_inspections_do_not_exist(client: Client, settings, django_user_model) -> None:
    settings.AUTH_MODE = "required"
    owner, other = map(django_user_model.objects.create_user, ("owner", "other"))
    row = queued(owner=owner)
    paths = ("", "status", "tensors/", "metadata/x")
    for user, seen, changed in ((None, 302, 403), (other, 404, 404)):
        if user is not None:
            client.force_login(user)
        assert {client.get(f"/i/{row.pk}/{path}").status_code for path in paths} == {seen}
        assert client.post(f"/i/{row.pk}/cancel").status_code == changed
    client.force_login(owner)
    assert client.get(f"/i/{row.pk}/").status_code == 200


def test_a_submission_belongs_to_who_made_it(client: Client, settings, django_user_model) -> None:
    settings.AUTH_MODE = "required"
    assert client.post("/inspect", {"link": LINK}).status_code == 403
    user = django_user_model.objects.create_user("someone")
    client.force_login(user)
    client.post("/inspect", {"link": LINK})
    assert Inspection.objects.get().owner == user


def test_too_many_submissions_are_told_when_to_come_back(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(budgets, "take", lambda budget, who: Turn(budget, False, 0, 7))
    answer = client.post("/inspect", {"link": LINK})
    assert (answer.status_code, answer.headers["Retry-After"]) == (429, "7")
    assert Page(answer.content.decode()).one("input", id="link").attributes["value"] == LINK


def test_signed_in_there_are_two_quiet_buttons_and_one_is_the_theme(
    client: Client, django_user_model
) -> None:
    client.force_login(django_user_model.objects.create_user("someone"))
    page = Page(client.get("/").content.decode())
    (button,) = [b for b in page.all("button") if "data-theme-button" in b.attributes]
    assert button.text == "Theme"
    assert [b.text for b in page.all("button", class_="quiet")] == ["Sign out", "Theme"]
