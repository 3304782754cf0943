"""The cases of llama.cpp's own ``tests/test-model-resolution.cpp``, each in several orders."""

from dataclasses import dataclass, field

import pytest

from ggufhub.sources.hub_choice import choose, models

FLAT = [
    "README.md", "model-BF16.gguf", "model-Q4_K_M.gguf", "model-Q8_0.gguf",
    "mmproj-model-BF16.gguf", "mmproj-model-Q8_0.gguf", "mtp-model-BF16.gguf",
    "mtp-model-Q4_0.gguf", "mtp-model-Q8_0.gguf", "dflash-model-BF16.gguf",
    "dflash-model-Q8_0.gguf",
]  # fmt: skip
Q3_SHARDS = [f"Q3_K_M/model-Q3_K_M-0000{n}-of-00003.gguf" for n in (1, 2, 3)]
SUBDIR = [
    "mmproj-model-f16.gguf", "model-mtp-BF16.gguf", "model-mtp-Q8_0.gguf", *Q3_SHARDS,
    "Q8_0/model-Q8_0-00001-of-00002.gguf", "Q8_0/model-Q8_0-00002-of-00002.gguf",
]  # fmt: skip
HOLE = [path for path in FLAT if path.endswith(".gguf") and not path.startswith("mmproj")]
UNSLOTH = ["model-UD-Q8_K_XL.gguf", "mmproj-BF16.gguf", "model-MTP-BF16.gguf"]
VENDORS = ["TheDrummer_Model-24B-v4.1-Q8_0.gguf", "BlackSheep-24B.Q8_0.gguf"]
KINDS = ("mtp", "dflash", "eagle3", "dspark")
QUAD = ["model-Q8_0.gguf", *(f"{kind}-model-Q8_0.gguf" for kind in KINDS)]
SPARK = ["README.md", "model-MXFP4.gguf", "dspark-model-BF16.gguf", "dspark-model-MXFP4.gguf"]


@dataclass
class Case:
    name: str
    files: list[str]
    tag: str = ""
    file: str = ""
    primary: str = ""
    sides: dict[str, str] | None = None
    shards: list[str] = field(default_factory=list)
    ordered: bool = False


CASES = [
    Case(
        "flat exact tag", FLAT, "Q8_0", primary="model-Q8_0.gguf",
        sides={
            "mmproj": "mmproj-model-Q8_0.gguf",
            "mtp": "mtp-model-Q8_0.gguf",
            "dflash": "dflash-model-Q8_0.gguf",
        },
    ),
    Case("flat default", FLAT, primary="model-Q4_K_M.gguf"),
    Case(
        "first model", UNSLOTH, primary="model-UD-Q8_K_XL.gguf",
        sides={"mmproj": "mmproj-BF16.gguf"}, ordered=True,
    ),
    Case("flat file", FLAT, file="model-BF16.gguf", primary="model-BF16.gguf"),
    Case("flat missing file", FLAT, file="nope.gguf"),
    Case(
        "shards in a folder", SUBDIR, "Q3_K_M", primary=Q3_SHARDS[0], shards=Q3_SHARDS,
        sides={"mmproj": "mmproj-model-f16.gguf", "mtp": "model-mtp-Q8_0.gguf"},
    ),
    Case(
        "no model of the tag, but side files", HOLE, "Q4_0",
        sides={"mtp": "mtp-model-Q4_0.gguf", "dflash": "dflash-model-Q8_0.gguf"},
    ),
    Case("no model of the tag", HOLE, "Q4_0"),
    Case(
        "side files near the default", HOLE, primary="model-Q4_K_M.gguf",
        sides={"mtp": "mtp-model-Q4_0.gguf", "dflash": "dflash-model-Q8_0.gguf"},
    ),
    Case(
        "MTP in capitals is no side file", UNSLOTH, "Q8_K_XL", primary="model-UD-Q8_K_XL.gguf",
        sides={"mmproj": "mmproj-BF16.gguf"},
    ),
    Case("first of two", VENDORS, "Q8_0", primary=VENDORS[0], ordered=True),
    Case(
        "every kind of side file", QUAD, "Q8_0", primary="model-Q8_0.gguf",
        sides={kind: f"{kind}-model-Q8_0.gguf" for kind in KINDS},
    ),
    Case(
        "side file of the only model", SPARK, primary="model-MXFP4.gguf",
        sides={"dspark": "dspark-model-MXFP4.gguf"},
    ),
    Case(
        "side file alone", SPARK, "BF16", sides={"dspark": "dspark-model-BF16.gguf"},
    ),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_what_llama_cpp_loads(case: Case) -> None:
    for turn in range(1 if case.ordered else len(case.files)):
        files = case.files[turn:] + case.files[:turn]
        if turn % 2:
            files.reverse()
        plan = choose(files, case.tag, case.file)
        assert plan.primary == case.primary
        expected = case.shards or ([case.primary] if case.primary else [])
        assert sorted(plan.shards) == expected
        if case.sides is not None:
            assert plan.sides == case.sides


def test_there_are_all_fourteen_cases() -> None:
    assert len(CASES) == 14


def test_a_preset_wins() -> None:
    plan = choose(["model-Q8_0.gguf", "preset.ini"])
    assert plan.preset
    assert plan.primary == ""


def test_later_shards_and_side_files_are_no_choice() -> None:
    assert models(SUBDIR) == [Q3_SHARDS[0], "Q8_0/model-Q8_0-00001-of-00002.gguf"]


def test_a_tag_is_no_pattern() -> None:
    assert choose(["model-Q8_0.gguf"], ".*").primary == ""
