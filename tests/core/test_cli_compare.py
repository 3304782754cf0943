"""`ggufhub compare` and the comparison of two documents."""

import json
import struct
from pathlib import Path
from typing import Any

import pytest

from ggufhub.cli import main
from ggufhub.limits import FULL
from ggufhub.report.compare import compare
from ggufhub.report.render.comparison import comparison_markdown, comparison_text
from ggufhub.rules.model_samples import llama, llama_tensors
from tests.builders import Gguf
from tests.core.reading import report

TEMPLATE = "{{ bos_token }}\n{% for m in messages %}\n{{ m.content }}\n{% endfor %}"


def compared(before: bytes, after: bytes) -> dict[str, Any]:
    return compare(report(before).linked(), report(after).linked())


def test_a_model_is_like_itself() -> None:
    document = compared(llama(), llama())
    assert document["same"]
    assert document["summary"] == document["types"] == document["templates"] == []
    assert document["findings"] == {"new": [], "gone": []}


def test_keys_are_added_removed_and_changed() -> None:
    before = llama({"old": "x", "llama.context_length": 128})
    after = llama({"new": 7, "llama.context_length": 256})
    document = compared(before, after)
    assert document["metadata"]["added"] == [{"key": "new", "type": "uint32", "value": 7}]
    assert document["metadata"]["removed"] == [{"key": "old", "type": "string", "value": "x"}]
    (changed,) = document["metadata"]["changed"]
    assert changed["key"] == "llama.context_length"
    assert (changed["before"]["value"], changed["after"]["value"]) == (128, 256)
    assert {"what": "context_length", "before": 128, "after": 256} in document["summary"]


def test_long_arrays_are_compared_to_their_end() -> None:
    words = [f"word{number}" for number in range(500)]
    before, after = llama({"words": words}), llama({"words": [*words[:-1], "other"]})
    (changed,) = compared(before, after)["metadata"]["changed"]
    assert changed["before"]["value"] == changed["after"]["value"]
    assert changed["before"]["array"] != changed["after"]["array"]


def test_tensors_types_and_sizes() -> None:
    half = {name: (shape, 1) for name, (shape, _) in llama_tensors().items()}
    document = compared(llama(), llama(tensors={**half, "extra.weight": ((32,), 0)}))
    assert document["tensors"]["added"][0]["name"] == "extra.weight"
    assert len(document["tensors"]["changed"]) == len(half)
    types = {row["type"]: row for row in document["types"]}
    assert types["F16"]["before"] is None
    assert types["F32"]["after"]["tensors"] == 1
    rows = {row["what"]: row for row in document["summary"]}
    assert rows["size"]["after"] < rows["size"]["before"]
    assert (rows["bits_per_weight"]["before"], rows["bits_per_weight"]["after"] < 17) == (32, True)


def test_templates_have_a_difference() -> None:
    key = "tokenizer.chat_template"
    document = compared(llama({key: TEMPLATE}), llama({key: TEMPLATE.replace("m.content", "m")}))
    (template,) = document["templates"]
    assert "-{{ m.content }}" in template["diff"]
    assert "+{{ m }}" in template["diff"]


def test_findings_new_and_gone_whatever_the_file_is_called(tmp_path: Path) -> None:
    before = report({"v1.gguf": llama({"bad key": 1})}).linked()
    after = report({"v2.gguf": llama()[:-200]}).linked()
    findings = compare(before, after)["findings"]
    assert [finding["rule"] for finding in findings["new"]] == ["STR032"]
    assert [finding["rule"] for finding in findings["gone"]] == ["STR013"]


@pytest.fixture
def pair(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    key = "tokenizer.chat_template"
    (tmp_path / "a.gguf").write_bytes(llama({key: TEMPLATE, "old": "\x1b[31m"}))
    (tmp_path / "b.gguf").write_bytes(llama({key: TEMPLATE + "x", "<b>": 1}))
    monkeypatch.chdir(tmp_path)


def test_text(pair: None, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", "a.gguf", "b.gguf"]) == 0
    text = capsys.readouterr().out
    assert text.startswith("a.gguf → b.gguf\n")
    assert "  + <b>: 1\n" in text
    assert "  - old: \\u{1B}[31m\n" in text
    assert "\nTemplate default\n" in text
    assert "  + {% endfor %}x\n" in text
    assert "\x1b" not in text


def test_markdown(pair: None, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", "a.gguf", "b.gguf", "--format", "markdown"]) == 0
    text = capsys.readouterr().out
    assert text.startswith("### What changed: a.gguf → b.gguf\n")
    assert "- **added** &#60;b&#62;: 1\n" in text


def test_json(pair: None, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", "a.gguf", "a.gguf", "--format", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["schema"], document["same"]) == ("ggufhub.compare/1", True)


def test_no_differences_are_said(pair: None, capsys: pytest.CaptureFixture[str]) -> None:
    main(["compare", "a.gguf", "a.gguf"])
    assert "No differences in metadata, tensors and templates." in capsys.readouterr().out


def test_what_cannot_be_read(pair: None) -> None:
    assert main(["compare", "a.gguf", "absent.gguf"]) == 3


def weighed(**tensors: float) -> bytes:
    """A model of tensors of eight equal floats, by name."""
    model = Gguf(data=b"".join(struct.pack("<8f", *[value] * 8) for value in tensors.values()))
    model.key("general.architecture", "llama")
    for name in tensors:
        model.tensor(name, (8,))
    return model.build()


def test_weights_are_compared_where_both_were_read() -> None:
    before = report(weighed(a=1, b=2, old=3), depth=FULL).linked()
    after = report(weighed(a=1, b=9, new=3), depth=FULL).linked()
    document = compare(before, after)
    assert not document["same"]
    (changed,) = document["tensors"]["changed"]
    assert changed["name"] == "b"
    assert changed["before"]["xxh64"] != changed["after"]["xxh64"]
    renamed = [{"before": "old", "after": "new"}]
    assert document["weights"] == {"compared": 2, "changed": 1, "renamed": renamed}
    for text in (comparison_text(document), comparison_markdown(document)):
        assert "the data of 1 of 2 tensors differs" in text and "old → new" in text
    assert compare(before, before)["same"]


def test_of_two_tensors_with_one_name_the_first_counts() -> None:
    data = Gguf().key("general.architecture", "llama").tensor("a", (33,), 2).tensor("a", (32,))
    model = report(data.build(), depth=FULL).document
    assert ["data" in row for row in model["tensors"]] == [False, True]
    document = compare(model, model)
    assert document["same"] and document["weights"] is None


def test_weights_are_not_compared_by_headers() -> None:
    document = compared(weighed(a=1), weighed(a=2))
    assert document["same"] and document["weights"] is None
    assert "Weights were not compared" in comparison_text(document)
    full = report(weighed(a=2), depth=FULL).linked()
    assert compare(report(weighed(a=1)).linked(), full)["same"]


def test_the_command_reads_every_byte_where_it_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, value in (("a.gguf", 1.0), ("b.gguf", 2.0)):
        (tmp_path / name).write_bytes(weighed(x=value))
    paths = [str(tmp_path / "a.gguf"), str(tmp_path / "b.gguf")]
    assert main(["compare", *paths, "--depth", "full"]) == 0
    assert "the data of 1 of 1 tensor differs" in capsys.readouterr().out
