"""The pages of audits."""

from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from ggufhub.hub import audits
from ggufhub.hub.audit_models import Audit, Schedule
from ggufhub.rules.model_samples import llama
from tests.audit.kit import write
from tests.audit.service import run, send_nothing
from tests.viewer.page import Element, Page

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def no_messages(monkeypatch: pytest.MonkeyPatch) -> None:
    send_nothing(monkeypatch)


@pytest.fixture
def folder(tmp_path: Path, settings: Any) -> Path:
    settings.ROOTS = (tmp_path,)
    files = {"m-F32.gguf": llama(), "bad.gguf": b"GGUF", "F16/m.gguf": llama({"general.name": "x"})}
    return write(tmp_path, {**files, "<script>\u202e.gguf": b"GGUF"})


def begin(folder: Path) -> Audit:
    return audits.start(None, audits.order(source=str(folder)))


def page(client: Client, address: str) -> str:
    answer = client.get(address)
    assert answer.status_code == 200
    return answer.content.decode()


def test_the_form_begins_an_audit(client: Client) -> None:
    assert "None yet." in page(client, "/audits/")
    answer = client.post("/audits/begin", {"source": "hf://org/repo", "tags": "Q4_K_M Q8_0"})
    audit = Audit.objects.get()
    assert answer["Location"] == f"/audits/{audit.pk}/"
    assert audit.wanted == {"tags": ["Q4_K_M", "Q8_0"]}
    assert "hf://org/repo" in page(client, "/audits/")


def test_the_form_says_what_is_wrong(client: Client) -> None:
    answer = client.post("/audits/begin", {"source": "", "links": ""})
    assert answer.status_code == 400
    assert "either a source or a list" in answer.content.decode()
    assert not Audit.objects.exists()


def test_a_repeated_audit_can_be_stopped(client: Client) -> None:
    client.post("/audits/begin", {"source": "hf://org/repo", "every": "nightly"})
    schedule = Schedule.objects.get()
    assert "nightly" in page(client, "/audits/")
    client.post(f"/audits/schedules/{schedule.pk}/delete")
    assert not Schedule.objects.exists()
    assert client.post(f"/audits/schedules/{schedule.pk}/delete").status_code == 404


def test_a_running_audit_shows_how_far_it_is(client: Client, folder: Path) -> None:
    audit = begin(folder)
    text = page(client, f"/audits/{audit.pk}/")
    assert f"/audits/{audit.pk}/status" in text
    assert "queued" in text
    assert client.get(f"/audits/{audit.pk}/status").status_code == 200
    client.post(f"/audits/{audit.pk}/cancel")
    assert client.get(f"/audits/{audit.pk}/status").status_code == 286
    assert "cancelled" in page(client, f"/audits/{audit.pk}/")


def test_the_matrix_has_models_and_checks(client: Client, folder: Path) -> None:
    audit = run(begin(folder))
    text = page(client, f"/audits/{audit.pk}/")
    sound = Page(text)
    assert "m-F32.gguf" in text
    assert "<script>\u202e" not in text
    assert "&lt;script&gt;" in text
    heads = [cell.text for cell in sound.all("th")]
    assert any(head.startswith(("STR", "TPL")) for head in heads)
    assert 'class="quants"' in text
    for item in audit.items.all():
        assert f"/i/{item.inspection_id}/" in text


def test_filters_are_links_that_can_be_shared(client: Client, folder: Path) -> None:
    audit = run(begin(folder))
    text = page(client, f"/audits/{audit.pk}/?verdict=fail")
    table = text[text.index('class="matrix"') :]
    assert "bad.gguf" in table
    assert "m-F32.gguf" not in table
    assert "No model matches." in page(client, f"/audits/{audit.pk}/?q=absent")


@pytest.mark.parametrize("name", ["q", "verdict", "rule", "sort"])
def test_a_filter_that_holds_nul_finds_nothing_or_is_ignored(
    client: Client, folder: Path, name: str
) -> None:
    """PostgreSQL refuses the question."""
    text = page(client, f"/audits/{run(begin(folder)).pk}/?{name}=%00")
    assert ("No model matches." in text) is (name != "sort")


@pytest.mark.parametrize(
    "fields",
    [{"globs": "a\0"}, {"tags": "\0"}, {"globs": "x" * 256}, {"globs": "*a " * 51}],
)
def test_a_filter_has_bounds(client: Client, fields: dict[str, str]) -> None:
    answer = client.post("/audits/begin", {"source": "hf://org/repo", **fields})
    assert answer.status_code == 400
    assert "A filter has at most 50" in answer.content.decode()
    assert not Audit.objects.exists()


def family(text: str) -> list[Element]:
    """The rows of the quants of the only family."""
    (table,) = [one for one in Page(text).all("table") if "In memory" in one.text]
    return [row for row in table if row.tag == "tr"][1:]


def test_the_largest_quant_that_fits_is_named(client: Client, folder: Path) -> None:
    audit = run(begin(folder))
    text = page(client, f"/audits/{audit.pk}/?gib=1")
    assert "The largest that fits in 1 GiB" in text
    rows = family(text)
    assert len(rows) == 2 and all("fits" in row.text for row in rows)
    assert sum("here" in row.attributes.get("class", "") for row in rows) == 1
    assert "In memory" not in page(client, f"/audits/{audit.pk}/")


def test_nothing_fits_into_a_megabyte(client: Client, folder: Path) -> None:
    text = page(client, f"/audits/{run(begin(folder)).pk}/?gib=0.0001")
    assert "None of which that is known fits in 0.0001 GiB." in text
    assert all("too large" in row.text for row in family(text))


def test_only_so_many_reports_are_looked_at(
    client: Client, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    audit = run(begin(folder))
    monkeypatch.setattr("viewer.fits.MOST_REPORTS", 1)
    rows = family(page(client, f"/audits/{audit.pk}/?gib=1"))
    assert sorted("not known" in row.text for row in rows) == [False, True]


@pytest.mark.parametrize("gib", ["", "x", "-1", "%00", "1e9", "<b>"])
def test_no_amount_of_memory_is_no_question(client: Client, folder: Path, gib: str) -> None:
    assert "In memory" not in page(client, f"/audits/{run(begin(folder)).pk}/?gib={gib}")


def test_other_filters_keep_the_amount(client: Client, folder: Path) -> None:
    text = Page(page(client, f"/audits/{run(begin(folder)).pk}/?gib=1&verdict=fail"))
    assert len(text.all("input", name="gib")) == 2
    assert len(text.all("input", name="verdict")) == 1


def test_what_changed_is_shown(client: Client, folder: Path) -> None:
    run(begin(folder))
    (folder / "m-F32.gguf").write_bytes(b"GGUF")
    again = run(begin(folder))
    text = page(client, f"/audits/{again.pk}/")
    assert "Since the last audit" in text
    assert "Worse than last time" in text
    assert "m-F32.gguf: pass, now fail" in text


def test_a_failed_audit_says_why(client: Client, folder: Path, settings: Any) -> None:
    audit = begin(folder)
    settings.ROOTS = ()
    run(audit)
    assert "GGUFHUB_ROOTS" in page(client, f"/audits/{audit.pk}/")


def test_audits_of_others_do_not_exist(client: Client, settings: Any, folder: Path) -> None:
    audit = begin(folder)
    settings.AUTH_MODE = "required"
    for place in ("", "status"):
        assert client.get(f"/audits/{audit.pk}/{place}").status_code in (302, 404)
