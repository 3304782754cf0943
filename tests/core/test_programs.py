"""Programs that share the magic of GGML: each layout is told from all others."""

import random
from collections.abc import Callable

import pytest

from ggufhub.formats.legacy.programs import BY_NAME
from ggufhub.formats.legacy.tensor_types import APRIL_2023, BEFORE_GGJT_2, CURRENT, RWKV_ERAS
from ggufhub.report.build import inspect
from ggufhub.rules.legacy_samples import Stream, gpt_2, small_llama
from ggufhub.sources.file import FileSource
from tests.core.reading import report, rules_hit
from tests.corpus import SHARED, needs_corpus


def ggml() -> Stream:
    return Stream(era=CURRENT).raw(b"lmgg")


def gpt_j() -> Stream:
    stream = ggml().words(8, 64, 32, 4, 1, 8, 1, 8).tokens(8)
    return stream.tensor("transformer.wte.weight").tensor("transformer.h.0.ln_1.weight", (32,), 0)


def gpt_neox() -> Stream:
    stream = ggml().words(8, 64, 32, 4, 1, 8, 1, 2002).tokens(8)
    return stream.tensor("gpt_neox.embed_in.weight", (32, 8), 2).tensor("embed_out.weight")


def mpt() -> Stream:
    stream = ggml().words(32, 64, 4, 1, 8).floats(8.0, 0.0).words(1).tokens(8)
    return stream.tensor("transformer.wte.weight").tensor("transformer.norm_f.weight", (32,), 0)


def replit() -> Stream:
    stream = ggml().words(32, 64, 4, 1, 8, 1).tokens(8, scored=True)
    return stream.tensor("transformer.wte.weight").tensor("transformer.norm_f.weight", (32,), 0)


def bloom() -> Stream:
    stream = ggml().words(8, 32, 256, 4, 1, 1).tokens(8)
    return stream.tensor("tok_embeddings.weight").tensor("norm.bias", (32,), 0)


def bert() -> Stream:
    stream = ggml().words(8, 64, 32, 128, 4, 1, 1).tokens(8)
    return stream.tensor("embeddings.word_embeddings.weight").tensor("encoder.layer.0.x", (8,), 0)


def whisper() -> Stream:
    stream = ggml().words(8, 1500, 32, 4, 1, 448, 32, 4, 1, 3, 1, 3, 5)
    return stream.floats(*[0.5] * 15).words(7).tokens(7).tensor("encoder.conv1.weight", (3, 8, 32))


def parakeet() -> Stream:
    stream = ggml().words(8, 3200, 8, 2, 1, 4, 0, 64, 8, 4, 3, 8, 1, 2, 5, 4, 3)
    stream.floats(*[0.5] * 12).words(6).floats(*[1.0] * 6).words(0, 1).words(8).tokens(8)
    return stream.tensor("encoder.pre_encode.out.weight").tensor("joint.steps", (), 0)


def silero() -> Stream:
    stream = ggml().text("silero-16k").words(6, 2, 0, 512, 64, 1, 129, 128, 3, 128, 128, 128, 1)
    return stream.tensor("_model.encoder.0.weight", (3, 9, 8))


def sam() -> Stream:
    return ggml().words(768, 12, 12, 256, 4, 1).tensor("image_encoder.pos_embed", (8, 4), 0)


def rwkv() -> Stream:
    stream = Stream(era=RWKV_ERAS[0]).raw(b"fmgg").words(101, 8, 32, 1, 2)
    return stream.tensor("emb.weight", (32, 8)).tensor("blocks.0.ffn.key.weight", (32, 4), 7)


LAYOUTS: dict[str, Callable[[], Stream]] = {
    "gpt2": gpt_2,
    "gptj": gpt_j,
    "gptneox": gpt_neox,
    "mpt": mpt,
    "replit": replit,
    "bloom": bloom,
    "bert": bert,
    "whisper": whisper,
    "parakeet": parakeet,
    "silero": silero,
    "sam": sam,
    "rwkv": rwkv,
}


def test_every_layout_is_tested() -> None:
    assert {*LAYOUTS, "llama", "ggla"} == set(BY_NAME)


@pytest.mark.parametrize("name", LAYOUTS)
def test_each_is_named_and_read_whole(name: str) -> None:
    document = report(LAYOUTS[name]().build()).document
    assert (document["kind"], document["verdict"]) == ("other runtime", "pass")
    assert document["summary"]["architecture"] == name
    assert len(document["tensors"]) in (1, 2)
    finding = next(f for f in document["findings"] if f["rule"] == "STR044")
    assert BY_NAME[name].title in finding["message"]
    position = 0
    for place in document["layout"]:
        assert place["offset"] == position
        position += place["length"]


@pytest.mark.parametrize("name", LAYOUTS)
def test_a_cut_download_is_still_named(name: str) -> None:
    data = LAYOUTS[name]().build()
    whole = report(data).document
    first = whole["tensors"][0]
    for length in range(first["offset"], len(data), 3):
        document = report(data[:length]).document
        assert document["summary"]["architecture"] == name, length
        if length not in {t["offset"] + t["bytes"] for t in whole["tensors"]}:
            assert document["verdict"] == "fail", length


@pytest.mark.parametrize("name", LAYOUTS)
def test_bytes_after_the_last_tensor_are_found(name: str) -> None:
    document = report(LAYOUTS[name]().build() + b"tail").document
    assert document["summary"]["architecture"] == name
    assert "STR042" in {finding["rule"] for finding in document["findings"]}


@pytest.mark.parametrize("name", LAYOUTS)
def test_mutants_end_in_a_report(name: str) -> None:
    chance = random.Random(name)
    seed = LAYOUTS[name]().build()
    for _ in range(120):
        data = bytearray(seed)
        at = chance.randrange(4, min(len(data) - 4, 300))
        data[at : at + 4] = chance.choice((0, 1, 255, 1 << 20, (1 << 32) - 1)).to_bytes(4, "little")
        assert report(bytes(data)).verdict in ("pass", "warn", "fail", "unreadable")


def test_numbers_are_shown_as_what_they_are() -> None:
    entries = {entry["key"]: entry for entry in report(mpt().build()).document["metadata"]}
    assert entries["alibi_bias_max"]["type"] == "float32"
    assert entries["alibi_bias_max"]["value"] == 8.0
    assert entries["ftype"]["offset"] == 4 + 4 * 7
    summary = report(gpt_j().build()).document["summary"]
    assert (summary["context_length"], summary["vocabulary"]) == (64, 8)


def test_arrays_before_the_tensors_are_keys() -> None:
    entries = {entry["key"]: entry for entry in report(whisper().build()).document["metadata"]}
    assert entries["mel_filters"]["value"]["count"] == 15
    assert entries["tokens"]["value"]["count"] == 7


def test_the_type_number_says_which_blocks_are_meant() -> None:
    for era, ftype, size in ((CURRENT, 2008, 34), (BEFORE_GGJT_2, 7, 36), (APRIL_2023, 7, 44)):
        stream = Stream(era=era).raw(b"lmgg").words(8, 64, 32, 4, 1, ftype, 8).tokens(8)
        document = report(stream.tensor("model/wte", (32, 8), 8).build()).document
        assert document["verdict"] == "pass", (era, document["findings"])
        assert document["tensors"][0]["bytes"] == 8 * size


def test_rwkv_counts_its_types_differently() -> None:
    tensors = report(rwkv().build()).document["tensors"]
    assert [tensor["type"] for tensor in tensors] == ["F16", "Q5_0"]


def test_two_sizes_of_a_vocabulary() -> None:
    assert "STR047" in rules_hit(report(gpt_2(9).build()))


def test_unknown_tensor_names_are_no_known_program() -> None:
    data = small_llama(b"lmgg", None).build().replace(b"tok_embeddings", b"own_embeddings")
    document = report(data).document
    assert document["kind"] == "legacy"  # the other names are those of LLaMA
    stream = ggml().words(8, 32, 256, 4, 1, 8, 1).tokens(8).tensor("what.is.this")
    document = report(stream.build()).document
    assert (document["kind"], document["summary"]["architecture"]) == ("other runtime", None)
    assert "no known program" in document["findings"][0]["message"]


@needs_corpus
@pytest.mark.parametrize(
    ("path", "program"),
    [
        ("legacy/gpt2-ggml-F16.bin", "gpt2"),
        ("legacy/whisper-ggml-F16.bin", "whisper"),
        ("legacy-other/for-tests-ggml-base.bin", "whisper"),
        ("legacy-other/for-tests-ggml-large.bin", "whisper"),
        ("legacy-other/for-tests-ggml-medium.en.bin", "whisper"),
        ("legacy-other/for-tests-ggml-small.en.bin", "whisper"),
        ("legacy-other/for-tests-ggml-tiny.en.bin", "whisper"),
        ("legacy-other/for-tests-ggml-parakeet-tdt.bin", "parakeet"),
    ],
)
def test_real_files_are_recognised(path: str, program: str) -> None:
    with FileSource(SHARED / "corpus" / path) as source:
        document = inspect(source).document
    assert document["kind"] == "other runtime"
    assert document["summary"]["architecture"] == program
    # The one error: a GPT-2 file that announces 50,257 tokens and holds 4, which its loader refuses
    wrong = {f["rule"] for f in document["findings"] if f["severity"] == "error"}
    assert wrong == ({"STR047"} if program == "gpt2" else set())
