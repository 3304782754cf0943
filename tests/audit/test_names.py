"""What names of files claim, over the layouts that repositories really have."""

import pytest

from ggufhub.audit.groups import group
from ggufhub.formats.model_names import parse_model_name
from ggufhub.sources.listing import Entry
from tests.effort import cpu_seconds

NAMES = [
    # name, family, role, size, quant
    ("Mixtral-8x7B-v0.1-KQ2.gguf", "mixtral-8x7b-v0-1-kq2", "model", "8x7B", ""),
    ("Grok-100B-v1.0-Q4_0-00003-of-00009.gguf", "grok-100b-v1-0", "model", "100B", "Q4_0"),
    ("Hermes-2-Pro-Llama-3-8B-F16.gguf", "hermes-2-pro-llama-3-8b", "model", "8B", "F16"),
    ("Model.Q8_0.gguf", "model", "model", "", "Q8_0"),
    ("TheDrummer_Model-24B-v4.1-Q8_0.gguf", "thedrummer-model-24b-v4-1", "model", "24B", "Q8_0"),
    ("model-UD-Q8_K_XL.gguf", "model", "model", "", "UD-Q8_K_XL"),
    ("qwen2.5-7b-instruct-q4_k_m.gguf", "qwen2-5-7b-instruct", "model", "7b", "Q4_K_M"),
    ("mmproj-Qwen2-VL-F16.gguf", "qwen2-vl", "mmproj", "", "F16"),
    ("gemma-3-4b-it-mmproj-bf16.gguf", "gemma-3-4b-it", "mmproj", "4b", "BF16"),
    ("GLM-4.5-Air-MTP.gguf", "glm-4-5-air", "draft", "", ""),
    ("eagle3-Llama-8B-BF16.gguf", "llama-8b", "draft", "8B", "BF16"),
    ("Model-imatrix.gguf", "model", "imatrix", "", ""),
    ("Step-3.7-Flash-APEX-I-Compact.gguf", "step-3-7-flash-apex-i-compact", "model", "", ""),
    ("Qwen3-30B-A3B-MXFP4_MOE.gguf", "qwen3-30b-a3b", "model", "30B", "MXFP4_MOE"),
    ("gpt-oss-20b-mxfp4.gguf", "gpt-oss-20b", "model", "20b", "MXFP4"),
    ("a-Q4_K_M-then-Q5_K_S.gguf", "a-q4-k-m-then", "model", "", "Q5_K_S"),
    (".gguf", "", "model", "", ""),
]


@pytest.mark.parametrize(("name", "family", "role", "size", "quant"), NAMES)
def test_parts_of_a_name(name: str, family: str, role: str, size: str, quant: str) -> None:
    parts = parse_model_name(name)
    assert (parts.family, parts.role, parts.quant) == (family, role, quant)
    assert parts.size == size


@pytest.mark.parametrize(
    ("name", "conforms"),
    [
        ("Mixtral-8x7B-v0.1-KQ2.gguf", True),
        ("Grok-100B-v1.0-Q4_0-00003-of-00009.gguf", True),
        ("Phi-3-mini-3.8B-ContextLength4k-instruct-v1.0.gguf", True),
        ("Hermes-2-Pro-Llama-3-8B-F16.gguf", False),  # the specification's own counter-example
        ("not-a-known-arrangement.gguf", False),
    ],
)
def test_the_convention_asks_for_size_and_version(name: str, conforms: bool) -> None:
    assert parse_model_name(name).conforms is conforms


def test_hostile_names_take_no_time() -> None:
    names = [
        "-" * 100_000,
        "Q4_" * 50_000,
        "1x" * 60_000 + "B",
        "v1" + ".1" * 50_000,
        "A-" * 90_000,
    ]
    with cpu_seconds(1):
        for name in names:
            parse_model_name(f"{name}.gguf")


def entries(*paths: str) -> list[Entry]:
    return [Entry(path, f"/models/{path}", 1) for path in paths]


def test_shards_are_one_model_and_quants_one_family() -> None:
    groups = group(
        entries(
            "Q3_K_M/big-Q3_K_M-00002-of-00003.gguf",
            "Q3_K_M/big-Q3_K_M-00001-of-00003.gguf",
            "Q3_K_M/big-Q3_K_M-00003-of-00003.gguf",
            "big-Q8_0.gguf",
            "README.md",
        )
    )
    first, second = groups.items
    assert [file.name[-19:] for file in first.files] == [
        "-00001-of-00003.gguf"[1:],
        "-00002-of-00003.gguf"[1:],
        "-00003-of-00003.gguf"[1:],
    ]
    assert first.family == second.family == "big"
    assert (first.quant, second.quant) == ("Q3_K_M", "Q8_0")
    assert first.size == 3


def test_a_folder_named_like_the_file_is_no_boundary() -> None:
    folder = "Llama-405B.Q4_0.gguf"
    (item,) = group(
        entries(*(f"{folder}/Llama-405B.Q4_0-0000{n}-of-00002.gguf" for n in (1, 2)))
    ).items
    assert item.family == "llama-405b"


def test_other_folders_are_families_of_their_own() -> None:
    one, two = group(entries("a/model-Q4_0.gguf", "b/model-Q8_0.gguf")).items
    assert one.family != two.family


@pytest.mark.parametrize(
    "name",
    [
        "big.gguf.part1of2",
        "big.gguf-split-a",
        "big.gguf.part-aa",
        "big.gguf.001",
        "big.gguf.split02",
    ],
)
def test_pieces_are_told_from_models(name: str) -> None:
    groups = group(entries(name, "big.gguf"))
    assert [part.path for part in groups.parts] == [name]
    assert [item.path for item in groups.items] == ["big.gguf"]


def test_identity_follows_size_digest_and_time() -> None:
    def identity(size: int = 1, version: str | None = "1") -> str | None:
        entry = Entry("a.gguf", "/a.gguf", size, version=version)
        return group([entry]).items[0].identity

    assert identity() == identity()
    assert len({identity(), identity(size=2), identity(version="2")}) == 3
    assert identity(version=None) is None
