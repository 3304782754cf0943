"""Chat templates and memory of a report."""

from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from rest_framework.test import APIClient

from ggufhub.hub import selectors
from ggufhub.hub.models import Report
from ggufhub.rules.model_samples import llama
from tests import rows
from tests.builders import Gguf

TEMPLATE = "{% for m in messages %}{{ m['role'] }}: {{ m['content'] }}{% endfor %}"

pytestmark = pytest.mark.django_db


@pytest.fixture
def chat(tmp_path: Path) -> Report:
    data = llama({"tokenizer.chat_template": TEMPLATE})
    return rows.finished(rows.built(data, tmp_path))


def url(report: Report, part: str) -> str:
    return f"/api/v1/reports/{report.pk}/{part}"


def test_templates_come_with_what_they_can_and_what_they_make(api: APIClient, chat: Report) -> None:
    (template,) = api.get(url(chat, "template")).json()["items"]
    assert (template["name"], template["text"]) == ("default", TEMPLATE)
    assert template["capabilities"]["system"] is True
    assert template["renders"][0]["output"].startswith("user: ")


def test_a_model_without_templates_has_an_empty_list(api: APIClient, vocabulary: Report) -> None:
    assert api.get(url(vocabulary, "template")).json() == {"items": []}


def test_memory_by_default_is_that_of_the_table(api: APIClient, chat: Report) -> None:
    body = api.get(url(chat, "memory")).json()
    stored = selectors.document(chat)["memory"]
    trained = stored["context_length"]
    (row,) = [
        row
        for row in stored["table"]
        if (row["context"], row["key_type"], row["value_type"]) == (trained, "F16", "F16")
    ]
    assert {name: body[name] for name in row} == row
    assert body["architecture"] == "llama" and body["largest_context"] is None


def test_memory_follows_the_setting(api: APIClient, chat: Report) -> None:
    small = api.get(url(chat, "memory?context=256")).json()
    large = api.get(url(chat, "memory?context=4096&sequences=2&flash=false")).json()
    assert large["context"] == 4096 and not large["flash_attention"]
    assert large["cache"]["bytes"] == 16 * small["cache"]["bytes"]
    assert large["total"] > small["total"]


def test_what_fits(api: APIClient, chat: Report) -> None:
    assert api.get(url(chat, "memory?gib=1")).json()["largest_context"] == 256
    assert api.get(url(chat, "memory?gib=0")).json()["largest_context"] is None


@pytest.mark.parametrize("query", ["kv=Q8_0", "kv=Q4_0&flash=false&context=512"])
def test_a_setting_nothing_would_run_is_refused(api: APIClient, chat: Report, query: str) -> None:
    # Heads of 8 elements are no whole blocks of 32.
    answer = api.get(url(chat, f"memory?{query}"))
    assert (answer.status_code, answer.json()["type"]) == (422, "/problems/no-such-setting")


@pytest.mark.parametrize(
    "query",
    ["context=0", "context=x", "kv=Q2_K", "sequences=257", "flash=maybe", "gib=-1", "gib=nan"],
)
def test_what_is_no_setting_is_invalid(api: APIClient, chat: Report, query: str) -> None:
    answer = api.get(url(chat, f"memory?{query}"))
    assert (answer.status_code, answer.json()["type"]) == (400, "/problems/invalid")


def test_memory_tells_where_layers_lie_and_which_quants_fit(api: APIClient, chat: Report) -> None:
    answer = api.get(url(chat, "memory?offload=2&split=1,1&gib=0.001&unified=false&ubatch=64"))
    body = answer.json()
    assert [place["layers"] for place in body["places"]] == [1, 1, 0]
    fits = {quant["mix"]: quant["fits"] for quant in body["quants"]}
    assert fits["F32"] in (True, False) and "Q4_K_M" in fits
    assert api.get(url(chat, "memory")).json()["quants"] is None
    for wrong in ("split=0", "split=a", "offload=-1", "kv_values=Q9", "ubatch=0"):
        assert api.get(url(chat, f"memory?{wrong}")).status_code in (400, 422), wrong


def projector(tmp_path: Path, owner: Any = None) -> Report:
    file = Gguf().key("general.type", "mmproj").key("general.architecture", "clip")
    file.key("clip.projector_type", "mlp").tensor("mm.0.weight", (32, 32))
    return rows.finished(rows.built(file.build(), tmp_path), owner=owner)


def test_memory_counts_what_is_loaded_beside_it(
    api: APIClient, chat: Report, tmp_path: Path
) -> None:
    alone = api.get(url(chat, "memory?gib=1")).json()
    draft = rows.finished(rows.built(llama(), tmp_path))
    beside = f"memory?gib=1&mmproj={projector(tmp_path).pk}&draft={draft.pk}"
    body = api.get(url(chat, beside)).json()
    first, second = body["parts"]
    assert (first["what"], first["bytes"]) == ("mmproj", 32 * 32 * 4)
    assert (second["what"], second["bytes"]) == ("draft", alone["total"])
    assert body["total"] == 2 * alone["total"] + first["bytes"]
    assert alone["parts"] == []


def test_only_a_report_one_may_see_can_be_beside_it(
    api: APIClient, chat: Report, tmp_path: Path
) -> None:
    for wrong in (f"mmproj={chat.pk}", f"draft={uuid4()}", f"adapter={chat.pk}"):
        answer = api.get(url(chat, f"memory?{wrong}"))
        assert (answer.status_code, answer.json()["type"]) == (422, "/problems/no-such-setting")
    assert api.get(url(chat, "memory?draft=x")).status_code == 400


def test_what_is_no_language_model_has_no_memory(api: APIClient, vocabulary: Report) -> None:
    answer = api.get(url(vocabulary, "memory"))
    assert (answer.status_code, answer.json()["type"]) == (404, "/problems/no-memory")


def test_estimates_are_asked_for_again_after_an_update(api: APIClient, chat: Report) -> None:
    answer = api.get(url(chat, "memory"))
    assert answer["Cache-Control"] == "private, no-cache"
    again: Any = api.get(url(chat, "memory"), headers={"If-None-Match": answer["ETag"]})
    assert (again.status_code, again.content) == (304, b"")
