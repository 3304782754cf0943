"""GGML, GGMF, GGJT and GGLA: exact sizes of each era, every way to break them, the corpus."""

import random
import struct
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ggufhub.errors import BytesMissing, LimitExceeded, SourceError
from ggufhub.formats.legacy.tensor_types import APRIL_2023, BEFORE_GGJT_2, GGJT_2, GGJT_3, Era
from ggufhub.limits import MIB, Limits
from ggufhub.report import codec
from ggufhub.report.build import inspect
from ggufhub.report.contents import pack
from ggufhub.rules.legacy_samples import Stream, adapter, llama, small_llama
from ggufhub.sources.base import ByteSource
from ggufhub.sources.file import FileSource
from ggufhub.sources.pages import PAGE
from ggufhub.sources.upload import UploadSource
from tests.core.httpkit import SMALL, open_url
from tests.core.rangeserver import RangeServer
from tests.core.reading import MemorySource, report, rules_hit, source_of
from tests.corpus import SHARED, needs_corpus
from tests.effort import cpu_seconds

VERDICTS = {"pass", "warn", "fail", "unreadable"}
VARIANTS = [
    (b"lmgg", None, BEFORE_GGJT_2),
    (b"fmgg", 1, BEFORE_GGJT_2),
    (b"tjgg", 1, BEFORE_GGJT_2),
    (b"tjgg", 2, GGJT_2),
    (b"tjgg", 3, GGJT_3),
]


def errors(data: bytes) -> set[str]:
    found = report(data).document["findings"]
    return {finding["rule"] for finding in found if finding["severity"] == "error"}


@pytest.mark.parametrize(("magic", "version", "era"), VARIANTS)
def test_every_version_is_read_whole(magic: bytes, version: int | None, era: Era) -> None:
    document = report(small_llama(magic, version, era=era).build()).document
    assert (document["kind"], document["verdict"]) == ("legacy", "warn")
    assert document["format"] == {
        "name": magic[::-1].decode(),
        "version": version,
        "byte_order": "little",
        "alignment": 32 if magic == b"tjgg" else 1,
        "kv_count": None,
        "tensor_count": None,
        "data_offset": 0,
    }
    keys = [entry["key"] for entry in document["metadata"]]
    assert keys[:7] == ["n_vocab", "n_embd", "n_mult", "n_head", "n_layer", "n_rot", "ftype"]
    assert keys[7:] == (["tokens"] if version is None else ["tokens", "scores"])
    assert document["metadata"][7]["value"]["first"][1] == "t1"
    assert document["summary"]["architecture"] == "llama"
    assert document["summary"]["vocabulary"] == 8
    names = [tensor["name"] for tensor in document["tensors"]]
    assert names == ["tok_embeddings.weight", "norm.weight", "layers.0.ffn_norm.weight"]


@pytest.mark.parametrize(
    ("era", "version", "sizes"),
    [
        (BEFORE_GGJT_2, 1, {2: 20, 3: 24, 4: 20, 5: 24, 6: 22, 7: 24, 8: 36}),
        (APRIL_2023, 1, {8: 44}),
        (GGJT_2, 2, {2: 20, 3: 24, 6: 22, 7: 24, 8: 36}),
        (GGJT_3, 3, {2: 18, 3: 20, 6: 22, 7: 24, 8: 34}),
    ],
)
def test_blocks_are_as_large_as_they_were(era: Era, version: int, sizes: dict[int, int]) -> None:
    for kind, size in sizes.items():
        document = report(small_llama(b"tjgg", version, kind=kind, era=era).build()).document
        assert document["verdict"] == "warn", (kind, document["findings"])
        assert document["tensors"][0]["bytes"] == 8 * size


def test_k_quants_came_with_version_3() -> None:
    sample = llama().tensor("layers.0.w", (256, 2), 12)
    assert errors(sample.build()) == set()
    document = report(llama(version=2).tensor("layers.0.w", (256, 2), 12, size=288).build())
    assert "STR043" in rules_hit(document)


def test_layout_covers_the_file_without_holes() -> None:
    data = small_llama().build() + b"tail"
    places = report(data).document["layout"]
    position = 0
    for place in places:
        assert place["offset"] == position, place
        position += place["length"]
    assert position == len(data)
    kinds = [place["what"] for place in places]
    assert kinds[:2] == ["header", "key"]
    assert kinds[-1] == "trailing"
    assert {"tensor table", "padding", "tensor"} < set(kinds)


def test_interleaved_strings_and_scores_are_packed_exactly() -> None:
    stream = Stream(32).raw(b"tjgg").words(3, 5000, 32, 256, 4, 0, 8, 1)
    tokens = [f"tok{number}" * (number % 5) for number in range(5000)]
    for number, token in enumerate(tokens):
        stream.text(token).floats(number / 2)
    result = report(stream.build())
    strings, scores = result.arrays["tokens"], result.arrays["scores"]
    assert strings.count == scores.count == 5000
    chunks = strings.chunks.__getitem__
    assert codec.page(chunks, "string", 5000, 0, 5000) == tokens
    assert codec.page(scores.chunks.__getitem__, "float32", 5000, 4990, 1) == [2495.0]
    assert codec.search(strings.chunks, "string", tokens[4999], 0, 10)[1][0][1] == tokens[4999]


def test_packing_does_not_depend_on_the_gaps() -> None:
    from ggufhub.formats.header import Array, Encoding
    from ggufhub.formats.values import ByteOrder, ValueType

    words = [b"", b"one", b"", b"three hundred" * 30, b"x"]
    body, starts = b"??", []
    for number, word in enumerate(words):
        starts.append(len(body))
        body += struct.pack(">Q", len(word)) + word + b"!" * (number * 3)
    encoding = Encoding(memoryview(body), ByteOrder.BIG, 8)
    array = Array(encoding, ValueType.STRING, len(words), 2, len(body), starts)
    expected = [word.decode() for word in words]
    assert codec.read_chunk(pack(array).chunks[0], "string") == expected


@pytest.mark.parametrize(("magic", "version", "era"), VARIANTS)
def test_cut_anywhere_it_is_still_a_legacy_file(
    magic: bytes, version: int | None, era: Era
) -> None:
    data = small_llama(magic, version, era=era).build()
    header = report(data).document
    ends = {tensor["offset"] + tensor["bytes"] for tensor in header["tensors"]}
    vocabulary_end = header["metadata"][-1]["offset"] + header["metadata"][-1]["length"]
    for length in range(4, len(data)):
        document = report(data[:length]).document
        assert document["kind"] == "legacy", length
        if length not in ends and length != vocabulary_end:
            assert document["verdict"] == "fail", (length, document["findings"])
            found = [f for f in document["findings"] if f["severity"] == "error"]
            assert all("offset" in finding["place"] for finding in found)


def test_cut_between_two_tensors_the_layers_tell() -> None:
    data = small_llama().build()
    last = report(data).document["tensors"][1]
    assert errors(data[: last["offset"] + last["bytes"]]) == {"STR049"}


@pytest.mark.parametrize(
    ("data", "rule"),
    [
        (small_llama().build() + b"x", "STR042"),
        (small_llama().build() + bytes(100), "STR042"),
        (small_llama().build()[:-1], "STR032"),
        (small_llama(b"fmgg", 1).build()[:-1], "STR032"),
        (small_llama(ftype=19).build(), "STR043"),
        (small_llama(b"tjgg", 4).build(), "STR003"),
        (small_llama(b"fmgg", 2).build(), "STR003"),
        (adapter().build()[:4] + b"\x02" + adapter().build()[5:], "STR003"),
        (llama().tensor("layers.0.w", (32,), 99, size=9).build(), "STR043"),
        (llama().tensor("layers.0.w", (33,), 2, size=18).build(), "STR043"),
        (llama().words(5, 1, 0).build(), "STR042"),
        (llama().words(1, 0, 0).build(), "STR042"),
        (llama().words(1, 5000, 0).build(), "STR042"),
        (Stream().raw(b"tjgg").words(3, 1 << 31, 1, 1, 1, 1, 1, 1).build(), "STR005"),
        (Stream().raw(b"tjgg").words(3, 1, 1, 1, 1, 1, 1, 1, 1 << 31, 0).build(), "STR006"),
    ],
)
def test_each_defect_has_its_finding(data: bytes, rule: str) -> None:
    document = report(data).document
    assert document["verdict"] == "fail"
    assert rule in {finding["rule"] for finding in document["findings"]}


def test_data_past_the_end_says_how_much_is_missing() -> None:
    finding = next(
        f for f in report(small_llama().build()[:-10]).document["findings"] if f["rule"] == "STR032"
    )
    assert finding["place"]["tensor"] == "layers.0.ffn_norm.weight"
    assert "10 bytes are missing" in finding["message"]


def test_an_adapter_is_an_adapter() -> None:
    document = report(adapter().build()).document
    assert (document["kind"], document["verdict"]) == ("adapter", "warn")
    assert document["format"]["name"] == "ggml"
    assert [(e["key"], e["value"]) for e in document["metadata"]] == [("r", 8), ("alpha", 16)]
    assert all(tensor["offset"] % 32 == 0 for tensor in document["tensors"])


def test_mutants_end_in_a_report() -> None:
    chance = random.Random(1)
    seeds = [small_llama(*variant[:2], era=variant[2]).build() for variant in VARIANTS]
    seeds.append(adapter().build())
    for _ in range(1_500):
        data = bytearray(chance.choice(seeds))
        for _ in range(chance.randint(1, 3)):
            at = chance.randrange(4, min(len(data) - 4, 400))
            value = chance.choice((0, 1, 5, 255, 1 << 16, (1 << 31) - 1, (1 << 32) - 1))
            data[at : at + 4] = value.to_bytes(4, "little")
        assert report(bytes(data)).verdict in VERDICTS


@settings(max_examples=300)
@given(st.sampled_from([b"lmgg", b"fmgg\1\0\0\0", b"tjgg\3\0\0\0", b"algg\1\0\0\0"]), st.binary())
def test_any_bytes_end_in_a_report(magic: bytes, data: bytes) -> None:
    assert report(magic + data).verdict in VERDICTS


def test_limits_are_not_decided() -> None:
    many = llama()
    for number in range(20):
        many.tensor(f"layers.0.t{number}", (8,), 0)
    document = report(many.build(), Limits(tensors=10)).document
    assert (document["kind"], document["verdict"]) == ("legacy", "unreadable")
    assert document["error"]["code"] == "limit"
    assert len(document["tensors"]) == 10
    tokens = report(many.build(), Limits(array_elements=4)).document
    assert tokens["error"]["message"].startswith("The limit array_elements of 4")


def test_a_hostile_vocabulary_costs_little() -> None:
    count = 4_000_000
    data = b"lmgg" + struct.pack("<7I", *(count,) * 7) + bytes(4 * count)
    with cpu_seconds(20):  # twelve layouts, each up to its own bound
        assert report(data).verdict in ("unreadable", "fail")


class BoundedSource(MemorySource):
    """Plays a server whose budget of requests runs out."""

    def __init__(self, data: bytes, requests: int) -> None:
        super().__init__("model.bin", {"model.bin": data})
        self._left = requests

    def readinto(self, offset: int, buffer: memoryview) -> int:
        if self._left == 0:
            raise SourceError("limit", "No request is left.", limit=LimitExceeded("requests", 6))
        self._left -= 1
        return super().readinto(offset, buffer)


def large_llama(tensors: int = 8) -> bytes:
    """Tensors so large that each header lies in a page of its own."""
    stream = llama()
    for number in range(tensors):
        stream.tensor(f"layers.0.t{number}.weight", (1024, 256), 1)
    return stream.build()


def test_data_is_stepped_over() -> None:
    data = large_llama(40)
    limits = Limits(first_read=64 * 1024)
    source = source_of(data)
    document = inspect(source, limits=limits).document
    assert (document["verdict"], len(document["tensors"])) == ("warn", 40)
    assert source.reads.bytes < 64 * 1024 + 45 * PAGE < len(data) / 5


def test_a_budget_of_requests_is_not_decided() -> None:
    source = BoundedSource(large_llama(40), 6)
    document = inspect(source, limits=Limits(first_read=64 * 1024)).document
    assert (document["kind"], document["verdict"]) == ("legacy", "unreadable")
    assert document["error"]["code"] == "limit"
    assert 0 < len(document["tensors"]) < 40


def test_over_http_with_the_budget_of_the_source() -> None:
    limits = replace(SMALL, first_read=PAGE, largest_read=PAGE, requests=20)
    data = {"large.bin": large_llama(40), "small.bin": large_llama(8)}
    with RangeServer(data) as server:
        with open_url(server.url("small.bin"), limits) as source:
            document = inspect(source, limits=limits).document
            assert (document["verdict"], len(document["tensors"])) == ("warn", 8)
            assert document["reads"]["requests"] <= 9
        with open_url(server.url("large.bin"), limits) as source:
            document = inspect(source, limits=limits).document
            assert document["error"]["message"].startswith("The limit requests of 20")


def test_a_server_that_hides_the_size_changes_nothing() -> None:
    data = large_llama()
    limits = Limits(first_read=64 * 1024)
    known = inspect(source_of(data), limits=limits).document
    hidden = inspect(source_of(data, sized=False), limits=limits).document
    assert hidden["tensors"] == known["tensors"]
    assert hidden["kind"] == "legacy"
    assert hidden["verdict"] == "warn"


def test_a_header_only_upload_asks_once_for_the_whole_file(tmp_path: Path) -> None:
    data = large_llama()
    path = tmp_path / "upload"
    path.write_bytes(data[: 100 * 1024])
    with UploadSource(path, "old.bin", len(data)) as source, pytest.raises(BytesMissing) as caught:
        inspect(source)
    assert caught.value.offset == 100 * 1024
    assert caught.value.offset + caught.value.length == len(data)


def test_a_source_that_fails_elsewhere_is_unreadable() -> None:
    class Broken(BoundedSource):
        def readinto(self, offset: int, buffer: memoryview) -> int:
            if offset:
                raise SourceError("reset", "The server hung up.")
            return MemorySource.readinto(self, offset, buffer)

    source: ByteSource = Broken(large_llama(), 99)
    document = inspect(source, limits=Limits(first_read=64 * 1024)).document
    assert document["error"]["code"] == "reset"


def test_memory_stays_bounded() -> None:
    from ggufhub.sources.pages import KEPT, Pages
    from ggufhub.sources.window import Window

    data = bytes(range(256)) * (16 * MIB // 256)
    pages = Pages(Window(source_of(data), Limits()))
    for offset in range(0, len(data), PAGE):
        assert pages.read(offset, 3) == data[offset : offset + 3]
    assert len(pages._pages) == KEPT
    assert pages.read(PAGE - 5, 10) == data[PAGE - 5 : PAGE + 5]
    assert pages.read(len(data) - 2, 10) == data[-2:]
    assert pages.read(len(data) + 5, 10) == b""


# The corpus

NOT_LLAMA = {
    "gpt2-ggml-F16.bin": "the converter takes GPT-2 for LLaMA",
    "whisper-ggml-F16.bin": "the converter takes Whisper for LLaMA",
    "lora-ggla-v1.bin": "the converter knows no adapters",
}
CONVERTER_BLIND = {
    "llama-ggjt-v3-F16-trunc-last.bin": "the converter does not compare data with the file's size",
}
REMOVED_TYPE = {
    "llama-ggjt-v1-Q4_2.bin": "the converter forgot the type; the file is sound for its time",
    "llama-ggjt-v1-Q4_3.bin": "the converter forgot the type; the file is sound for its time",
}


def _verdicts() -> list[tuple[str, list[str]]]:
    table = SHARED / "corpus" / "legacy" / "parse_verdicts.tsv"
    if not table.exists():
        return []
    rows = (line.split("\t") for line in table.read_text().splitlines())
    return [(name, rest) for name, *rest in rows]


@needs_corpus
@pytest.mark.parametrize(("name", "verdict"), _verdicts(), ids=lambda v: v if v is str else None)
def test_agrees_with_the_converter(name: str, verdict: list[str]) -> None:
    with FileSource(SHARED / "corpus" / "legacy" / name) as source:
        document = inspect(source).document
    failing = {f["rule"] for f in document["findings"] if f["severity"] == "error"}
    if name in NOT_LLAMA:
        assert document["kind"] in ("other runtime", "adapter"), NOT_LLAMA[name]
        return
    assert document["kind"] == "legacy"
    if name in CONVERTER_BLIND:
        assert verdict[0] == "ok" and failing == {"STR032"}, CONVERTER_BLIND[name]
        return
    if name in REMOVED_TYPE or "Quantizations changed" in verdict[0] or "Q4 and Q8" in verdict[0]:
        assert failing == set()
        old = next(f for f in document["findings"] if f["rule"] == "STR041")
        assert "cannot be converted" in old["message"]
        return
    assert bool(failing) == verdict[0].startswith("fail"), failing
    if verdict[0] == "ok":
        facts = dict(part.split("=", 1) for part in verdict[2:])
        last = document["tensors"][-1]
        assert len(document["tensors"]) == int(facts["n_tensors"])
        assert document["tensors"][0]["offset"] == int(facts["first_tensor_data"])
        assert last["offset"] + last["bytes"] == int(facts["end"]) == int(facts["size"])
        assert document["metadata"][0]["value"] == int(facts["n_vocab"])
