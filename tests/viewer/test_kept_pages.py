"""Pages of reports that are drawn once: what is kept, for whom, and what never is."""

import re
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.http import HttpResponse
from django.test import Client

from ggufhub.hub import queue
from ggufhub.hub.models import Inspection, Report
from ggufhub.hub.render_models import RenderJob
from ggufhub.rules.model_samples import llama
from tests.viewer import samples
from tests.viewer.conftest import Inspected
from tests.viewer.test_every_page import TABS
from viewer.views import report_page
from workers import render as tasks

KEPT = [tab for tab in TABS if not tab.startswith(report_page.MEMORY)]

_TOKEN = re.compile(r'name="csrfmiddlewaretoken" value="(\w+)"')


def tokens(answer) -> set[str]:
    return set(_TOKEN.findall(answer.content.decode()))


def plain(answer) -> str:
    """The page without its tokens."""
    return _TOKEN.sub("", answer.content.decode())


def is_drawn(answer) -> bool:
    """Whether a template was rendered for it."""
    return bool(answer.templates)


@pytest.mark.parametrize("tab", [*KEPT, "metadata/tokenizer.ggml.tokens"])
def test_a_page_is_drawn_once_and_says_the_same_then(
    client: Client, chat: Inspection, tab: str
) -> None:
    first, second = (client.get(f"/i/{chat.pk}/{tab}") for _ in range(2))
    assert is_drawn(first) and not is_drawn(second)
    assert plain(first) == plain(second)
    for answer in (first, second):
        assert report_page.TOKEN not in answer.content.decode()
        assert answer.headers["Cache-Control"] == "private, no-store"
        assert answer.headers["Content-Security-Policy"]


def test_a_page_that_many_ask_for_at_once_is_drawn_by_one_of_them() -> None:
    drawn: list[int] = []

    def draw() -> HttpResponse:
        time.sleep(0.2)
        drawn.append(1)
        return HttpResponse("page")

    with ThreadPoolExecutor(8) as pool:
        asked = [pool.submit(report_page._drawn_once, "ab" * 32, draw) for _ in range(8)]
    assert {one.result().content for one in asked} == {b"page"}
    assert len(drawn) == 1


def test_forms_of_a_kept_page_have_a_token_that_counts(chat: Inspection) -> None:
    strict = Client(enforce_csrf_checks=True)
    address = f"/i/{chat.pk}/template/"
    (first,), (second,) = (tokens(strict.get(address)) for _ in range(2))
    assert first != second
    fields = {"role": "user", "content": "x"}
    assert strict.post(f"/i/{chat.pk}/render", fields).status_code == 403
    fields["csrfmiddlewaretoken"] = second
    assert strict.post(f"/i/{chat.pk}/render", fields).status_code == 302


def test_a_page_is_kept_for_one_user(
    client: Client, chat: Inspection, settings, django_user_model
) -> None:
    settings.AUTH_MODE = "required"
    owner, other = map(django_user_model.objects.create_user, ("owner", "other"))
    root = django_user_model.objects.create_superuser("root")
    Inspection.objects.update(owner=owner)
    address = f"/i/{chat.pk}/"
    for user, status in ((owner, 200), (other, 404), (root, 200), (other, 404)):
        client.force_login(user)
        answer = client.get(address)
        assert answer.status_code == status
        assert is_drawn(answer)
    client.logout()
    assert client.get(address).status_code == 302


def test_a_page_is_kept_for_one_address(client: Client, chat: Inspection, settings) -> None:
    settings.ALLOWED_HOSTS = ["*"]
    for host in ("one.example", "two.example"):
        answer = client.get(f"/i/{chat.pk}/", headers={"host": host})
        assert f'content="http://{host}/i/{chat.pk}/"' in answer.content.decode()


def test_another_query_is_another_page(client: Client, chat: Inspection) -> None:
    address = f"/i/{chat.pk}/metadata/"
    every, some = client.get(address), client.get(address, {"q": "general.name"})
    assert plain(every) != plain(some)
    assert plain(client.get(address)) == plain(every)


def test_a_report_that_comes_in_between_has_a_real_token(
    client: Client, chat: Inspection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is not there when it is looked for, and then it is."""

    def absent(*_: object) -> Report:
        raise Report.DoesNotExist

    monkeypatch.setattr(report_page.selectors, "get_report", absent)
    answer = client.get(f"/i/{chat.pk}/")
    assert "Metadata" in answer.content.decode()
    assert report_page.TOKEN not in answer.content.decode()


def test_a_deleted_report_has_no_page(client: Client, chat: Inspection) -> None:
    assert client.get(f"/i/{chat.pk}/").status_code == 200
    Inspection.objects.all().delete()
    assert client.get(f"/i/{chat.pk}/").status_code == 404


def test_a_conversation_at_work_is_not_kept(
    client: Client, chat: Inspection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(queue, "send_render", lambda _: True)
    place = client.post(f"/i/{chat.pk}/render", {"role": "user", "content": "x"}).headers[
        "Location"
    ]
    place = place.partition("#")[0]
    assert 'id="rendered"' not in client.get(place).content.decode()
    tasks.render(str(RenderJob.objects.get().pk))
    answer = client.get(place)
    assert 'id="rendered"' in answer.content.decode()
    assert report_page.TOKEN not in answer.content.decode()


def test_the_memory_tab_offers_what_came_later(client: Client, inspected: Inspected) -> None:
    address = f"/i/{inspected(llama()).pk}/memory/"
    before = client.get(address)
    other = inspected(samples.chat_model())
    after = client.get(address)
    assert str(other.pk) not in before.content.decode()
    assert str(other.pk) in after.content.decode()
    assert report_page.TOKEN not in after.content.decode()


def test_a_large_page_is_drawn_each_time(
    client: Client, chat: Inspection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(report_page, "LARGEST", 1000)
    assert all(is_drawn(client.get(f"/i/{chat.pk}/")) for _ in range(2))


def test_a_tab_that_does_not_exist_is_not_kept(client: Client, chat: Inspection) -> None:
    assert [client.get(f"/i/{chat.pk}/nothing/").status_code for _ in range(2)] == [404, 404]
