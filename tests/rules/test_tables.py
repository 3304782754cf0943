"""The generated tables agree with an independent extraction of the same commit; every difference
is one of those explained here."""

import csv
import re
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from ggufhub.rules.tables import commit, table
from tests.corpus import SHARED, needs_corpus

TABLES = ("tokenizer", "architectures", "keys", "tensors", "converter")

NO_HELPER = {
    (architecture, f"blk.N.{part}.weight")
    for architecture in ("deepseek2", "mistral4")
    for part in ("attn_qkv", "attn_k", "attn_v")
}
"""Tensors that the other extraction has and no line of the loader asks for: it put down the
fused form for every architecture that has a query tensor."""

HELPED = re.compile(
    r"^blk\.N\.(?:attn_(?:qkv|q|k|v)\.bias|ffn_(?:gate_up|gate|up)_exps\.weight"
    r"|ssm_conv1d_[qkv]\.weight|ffn_up\.(?:weight|bias))$"
)
"""Tensors that only we have: they are asked for in helper functions and by variables."""

MORE_CONDITIONS = frozenset({"dflash", "hrm_text", "arwkv7"})
"""Architectures whose loaders leave a function, a round or a ``try`` early; that makes lines
conditional which stand under no ``if``."""

ALWAYS = frozenset({"arctic", "qwen4exp"})
"""Architectures with lines whose flags (``false``, reshaping) do not make a tensor optional."""

FALSE_OTHERWISE = frozenset(
    {
        *("expert_shared_feed_forward_length", "logit_scale", "residual_scale", "attention.scale"),
        *("embedding_scale", "adapters.router_gain", "rope.scaling.yarn_log_multiplier"),
        *("moe_every_n_layers", "swiglu_clamp_shexp"),
    }
)
"""Keys read with ``/* required */ false``, ``0`` or ``0.0f``: not required, whatever it says."""

BY_PATTERN = "attention.sliding_window_pattern"
"""A key that 18 architectures read through a helper function."""


def rows(name: str) -> list[dict[str, str]]:
    path: Path = SHARED / "data" / name
    with path.open(encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE))


def plain(shape: str) -> str:
    """A shape without what the two extractions write differently."""
    shape = re.sub(r"hparams\.|~\d+|\s+", "", shape).strip(",")
    shape = re.sub(r"\b(\d+)u\b", r"\1", shape)
    parts = shape.split(",")
    return ",".join(p[1:-1] if re.fullmatch(r"\([^()]*\)", p) else p for p in parts)


Facts = dict[tuple[str, str], set[tuple[str, str]]]


def their_tensors() -> Facts:
    """Requirement and shape of each tensor; no shape where a helper asks for it."""
    found: Facts = defaultdict(set)
    for row in rows("arch_tensors.tsv"):
        if "|" in row["tensor"]:
            for part in ("attn_qkv", "attn_q", "attn_k", "attn_v"):
                found[row["arch"], f"blk.N.{part}.weight"].add(("helper", ""))
        else:
            facts = (row["requirement"], plain(row["shape"]))
            found[row["arch"], row["tensor"]].add(facts)
    return found


def our_tensors() -> Facts:
    found: Facts = defaultdict(set)
    for architecture, content in table("tensors")["architectures"].items():
        for row in content["rows"]:
            facts = (requirement(row), plain(",".join(row["shape"])))
            found[architecture, row["name"]].add(facts)
    return found


def requirement(row: dict[str, Any]) -> str:
    if "optional" in row:
        return "optional"
    return "required-if" if "if" in row or "flags" in row else "required"


@needs_corpus
def test_the_same_tensors_are_named() -> None:
    theirs, ours = set(their_tensors()), set(our_tensors())
    assert len(theirs & ours) > 3_200
    assert theirs - ours == NO_HELPER
    assert {name for _, name in ours - theirs if not HELPED.match(name)} == set()


@needs_corpus
def test_all_shapes_agree() -> None:
    theirs, ours = their_tensors(), our_tensors()
    compared = [k for k in theirs.keys() & ours.keys() if ("helper", "") not in theirs[k]]
    different = [
        key
        for key in compared
        if {shape for _, shape in theirs[key]} != {shape for _, shape in ours[key]}
    ]
    assert len(compared) > 2_700
    assert different == []


@needs_corpus
def test_requirements_agree_but_for_those_explained() -> None:
    theirs, ours = their_tensors(), our_tensors()
    for key in theirs.keys() & ours.keys():
        needs = {need for need, _ in theirs[key]}
        found = {need for need, _ in ours[key]}
        if needs == found or "helper" in needs:
            continue
        explained = MORE_CONDITIONS if "required-if" in found else ALWAYS
        assert key[0] in explained, (key, needs, found)


@needs_corpus
def test_keys_agree_but_for_those_explained() -> None:
    theirs, ours = defaultdict(set), defaultdict(set)
    for row in rows("arch_keys.tsv"):
        name = row["key"].removeprefix(f"{row['arch']}.")
        theirs[row["arch"], name].add(row["requirement"].removesuffix("-if"))
    for architecture, steps in table("keys")["architectures"].items():
        for step in steps:
            if "key" in step:
                need = "required" if "required" in step else "optional"
                ours[architecture, step["key"]].add(need)
    assert set(theirs) - set(ours) == set()
    assert {name for _, name in set(ours) - set(theirs)} == {BY_PATTERN}
    different = {name for key in theirs if theirs[key] != ours[key] for name in key[1:]}
    assert different - FALSE_OTHERWISE <= {"full_attention_interval"}


@needs_corpus
def test_architectures_agree() -> None:
    listed = {row["arch"] for row in rows("architectures.tsv") if row["llama_cpp"] == "1"}
    tables = table("architectures")
    assert set(tables["known"]) == listed
    assert listed - set(tables["loaded"]) == {"clip", "gptj"}
    flags = {row["arch"]: row["llama_cpp_flags"] for row in rows("architectures.tsv")}
    recurrent = {name for name, said in flags.items() if "recurrent" in said}
    assert set(tables["recurrent"]) == recurrent


@needs_corpus
def test_other_runtimes_are_as_stated() -> None:
    columns = {
        "transformers": "transformers_5.24",
        "ollama": "ollama_engine_list",
        "hub": "hf_js_llm_list",
    }
    for name, column in columns.items():
        listed = {row["arch"] for row in rows("architectures.tsv") if row[column] == "1"}
        assert set(table("runtimes")[name]) == listed


@pytest.mark.parametrize("name", TABLES)
def test_tables_tell_their_commit(name: str) -> None:
    assert table(name)["commit"] == commit()


def test_every_architecture_has_keys_and_tensors() -> None:
    loaded = table("architectures")["loaded"]
    assert sorted(table("keys")["architectures"]) == loaded
    assert sorted(table("tensors")["architectures"]) == loaded
    assert len(loaded) == 151
