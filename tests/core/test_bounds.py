"""What a hostile file may cost: memory and documents stay small whatever its header holds."""

import json
import tracemalloc
from array import array
from collections.abc import Callable

import pytest

from ggufhub.formats.header import TEXT_BYTES
from ggufhub.formats.values import is_utf8
from ggufhub.limits import KIB, MIB, Limits
from ggufhub.report import codec
from ggufhub.report.contents import metadata
from ggufhub.report.templates import MOST_VARIANTS
from ggufhub.templating.render import LARGEST
from tests.builders import Gguf, ValueType
from tests.core.reading import read, report


def test_positions_of_short_arrays_take_four_bytes_each() -> None:
    header = read(Gguf().array("x", ValueType.STRING, ["a", "", "bc"]).build())
    strings = header.array("x")
    assert strings is not None
    assert isinstance(strings.starts, array)
    assert strings.starts.itemsize == 4
    assert list(strings) == [b"a", b"", b"bc"]


def test_all_arrays_of_a_file_share_one_budget() -> None:
    sample = Gguf()
    for number in range(4):
        sample.array(f"x{number}", ValueType.UINT8, [0] * 30)
    assert read(sample.build(), Limits(array_elements=120)).limit is None
    header = read(sample.build(), Limits(array_elements=100))
    assert header.limit is not None
    assert header.limit.limit == "array_elements"
    assert header.limit.message.endswith("(asked for 120).")
    assert len(header.keys) == 3


def test_elements_of_inner_arrays_count_too() -> None:
    inner = (4).to_bytes(4, "little") + (60).to_bytes(8, "little") + bytes(240)
    payload = (9).to_bytes(4, "little") + (3).to_bytes(8, "little") + inner * 3
    header = read(Gguf().raw_key("x", ValueType.ARRAY, payload).build(), Limits(array_elements=150))
    assert header.limit is not None
    assert header.limit.limit == "array_elements"


def test_all_names_of_a_file_share_one_budget() -> None:
    sample = Gguf().key("k" * 60, 1).tensor("t" * 60)
    assert read(sample.build(), Limits(name_bytes=120)).limit is None
    header = read(sample.build(), Limits(name_bytes=119))
    assert header.limit is not None
    assert header.limit.limit == "name_bytes"


def test_only_the_start_of_a_text_is_decoded() -> None:
    header = read(Gguf().key("x", "a" * (TEXT_BYTES + 5)).build())
    text = header.text("x")
    assert text is not None
    assert len(text) == TEXT_BYTES
    key = header.find("x")
    assert key is not None
    assert (key.head(3), key.value) == (b"aaa", b"a" * (TEXT_BYTES + 5))


@pytest.mark.parametrize("wrong", [b"\xff", b"\xe2\x82", b"\xed\xa0\x80"])
@pytest.mark.parametrize("before", [0, 10, 256 * KIB - 1, 300 * KIB])
def test_utf8_is_recognised_in_pieces(wrong: bytes, before: int) -> None:
    good = b"a" * before + "\u20ac\U0001f600".encode() + b"b" * 300 * KIB
    assert is_utf8(good)
    assert not is_utf8(good + wrong)
    assert not is_utf8(wrong + good)
    assert not is_utf8(b"a" * before + wrong + good)


def test_names_and_words_are_clipped() -> None:
    assert codec.safe_name("blk.0.attn_q.weight") == "blk.0.attn_q.weight"
    assert codec.safe_name("x" * 256) == "x" * 256
    assert codec.safe_name("x" * 257) == "x" * 256 + "…"
    assert codec.safe_name("\0" * 200) == ("\\x00" * 64) + "…"
    assert codec.safe_words("y" * 5_000) == "y" * 1_024 + "…"


def test_a_finding_quotes_no_more_than_anyone_reads() -> None:
    sample = Gguf().key("general.architecture", "a" * 500_000).key("k" * 70_000, 1)
    document = report(sample.tensor("t" * 70_000).build()).document
    for finding in document["findings"]:
        words = [finding[name] or "" for name in ("message", "expected", "actual")]
        assert max(map(len, words)) <= codec.SHOWN_WORDS + 1
        assert len(finding["place"].get("key", "")) <= codec.SHOWN_NAME + 1
    assert len(document["summary"]["architecture"]) == codec.SHOWN_NAME + 1
    assert len(document["metadata"][1]["key"]) == codec.SHOWN_NAME + 1
    assert len(document["tensors"][0]["name"]) == codec.SHOWN_NAME + 1
    assert len(json.dumps(document)) < 250_000


def test_shown_values_share_one_budget() -> None:
    sample = Gguf()
    for number in range(400):
        sample.key(f"general.x{number}", b"\xff" * 40_000)
    sample.array("last", ValueType.UINT8, list(range(60)))
    entries = metadata(read(sample.build()))
    assert len(json.dumps(entries)) < 2 * codec.SHOWN_TOTAL
    assert entries[0]["value"]["why"] == "utf8"
    assert entries[399]["value"] == {"text": "", "bytes": 40_000, "why": "long"}
    assert entries[400]["value"] == {"count": 60, "first": list(range(8))}


def test_ordinary_values_are_shown_whole() -> None:
    sample = Gguf().key("general.license", "b" * 40_000).array("x", ValueType.UINT8, [1] * 64)
    licence, numbers = metadata(read(sample.build()))
    assert licence["value"] == "b" * 40_000
    assert numbers["value"] == {"count": 64, "first": [1] * 64}


def test_templates_are_cut_and_few_are_shown() -> None:
    sample = Gguf().key("tokenizer.chat_template", "x" * (LARGEST + 100))
    for number in range(20):
        sample.key(f"tokenizer.chat_template.v{number:02}", " ")
    parts = report(sample.build()).document["templates"]
    assert len(parts) == MOST_VARIANTS
    assert (parts[0]["name"], len(parts[0]["text"])) == ("default", LARGEST)
    assert parts[0]["stopped"] == "the template has more than 262,144 characters"


def test_templates_share_their_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ggufhub.report.templates.ALL_SECONDS", 0.0)
    sample = Gguf().key("tokenizer.chat_template", "{{ messages }}")
    (part,) = report(sample.build()).document["templates"]
    assert "took all the time" in part["stopped"]
    assert part["renders"] == []


def one_large(value: bytes) -> Callable[[], bytes]:
    return lambda: Gguf().key("general.architecture", value).key("general.license", value).build()


@pytest.mark.parametrize(
    "make",
    [
        one_large(b"\xff" * 8 * MIB),
        one_large("\U0001f600".encode() * 2 * MIB),
        one_large("\u200b".encode() * MIB),
        lambda: Gguf().array("x", ValueType.STRING, [""] * 1_000_000).build(),
    ],
    ids=["no text", "astral", "unseen", "empty strings"],
)
def test_a_report_takes_little_more_than_its_header(make: Callable[[], bytes]) -> None:
    data = make()
    tracemalloc.start()
    try:
        document = report(data).document
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 3 * len(data) + 32 * MIB  # the window is a mapping and is not counted
    assert len(json.dumps(document)) < MIB
