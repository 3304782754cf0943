"""Heads and experts: do their numbers fit each other? Loaders divide by them.

What the reference demands: ``load_hparams`` in ``src/llama-model.cpp``, llama.cpp 0c1e57098. It
aborts the whole program where experts do not fit.
"""

from collections.abc import Iterator

from ggufhub.formats.naming import tensor_block
from ggufhub.rules.expressions import Value
from ggufhub.rules.hparams import LoadedHyperparameters
from ggufhub.rules.hyperparameters import ATTENTION, HEADS, KEYS_NEEDED
from ggufhub.rules.model_samples import Entry, llama, llama_tensors
from ggufhub.rules.registry import Hit, Need, Severity, Truth, model_rule
from ggufhub.rules.subject import Subject

TENSORS_NEEDED = (Need.KEYS, Need.TENSORS, Need.SHARDS)

KEY_VALUE_HEADS = "attention.head_count_kv"

WHOLE_ROTATION = frozenset({"llama", "deci", "falcon", "llama-embed"})
"""Architectures whose loader wants the rotation to cover the whole head."""

ROPE_SCALINGS = ("none", "linear", "yarn", "longrope")
"""``LLAMA_ROPE_SCALING_TYPES`` in ``src/llama-model.cpp``."""

MOST_EXPERTS = 1024
"""``LLAMA_MAX_EXPERTS`` in ``src/llama-hparams.h``."""


def number(value: Value) -> int | None:
    """A value as an int, where it is one."""
    return value if isinstance(value, int) else None


def layers(value: Value) -> list[int | None]:
    """A value for each block."""
    return [number(one) for one in value] if isinstance(value, list) else []


@model_rule(
    "HYP006",
    "Width is no multiple of the heads",
    Severity.ERROR,
    Truth.INVALID,
    needs=TENSORS_NEEDED,
    help="Without `attention.key_length`, the width of one head is the width of the model divided "
    "by the number of heads. A remainder leaves columns that belong to no head, and the tensors "
    "do not fit.",
    fix="Correct head_count, or state attention.key_length and value_length.",
    failing=lambda: llama({"llama.attention.head_count": 5, "llama.attention.head_count_kv": 5}),
    passing=llama,
)
def heads_do_not_divide(subject: Subject) -> Iterator[Hit]:
    hyper = subject.hyper
    if hyper is None or subject.find(hyper.key_name("attention.key_length")) is not None:
        return
    width, heads = number(hyper.value("hparams.n_embd")), number(hyper.value("hparams.n_head()"))
    attends = any(name.endswith(ATTENTION) for name in subject.names)
    if attends and width is not None and heads and width % heads:
        name = hyper.key_name(HEADS)
        message = f"The width of {width:,} is no multiple of {heads:,} heads."
        yield Hit.at_name(
            subject, name, message, expected=f"a divisor of {width}", actual=f"{heads}"
        )


@model_rule(
    "HYP007",
    "Heads do not share key-value heads evenly",
    Severity.ERROR,
    Truth.INVALID,
    needs=KEYS_NEEDED,
    help="Each key-value head serves the same number of heads, so `head_count` must be a multiple "
    "of `head_count_kv` in every block. Blocks without attention state 0 and are left alone.",
    fix="Correct head_count_kv.",
    failing=lambda: llama({"llama.attention.head_count_kv": 3}),
    passing=llama,
)
def uneven_groups(subject: Subject) -> Iterator[Hit]:
    hyper = subject.hyper
    if hyper is None:
        return
    heads = layers(hyper.value("hparams.n_head_arr"))
    shared = layers(hyper.value("hparams.n_head_kv_arr"))
    for block, (many, few) in enumerate(zip(heads, shared, strict=False)):
        if many and few and many % few:
            name = hyper.key_name(KEY_VALUE_HEADS)
            message = f"Block {block} has {many:,} heads for {few:,} key-value heads."
            expected = f"a divisor of {many}"
            yield Hit.at_name(subject, name, message, expected=expected, actual=f"{few}")
            return


@model_rule(
    "HYP008",
    "Rotation does not cover the head",
    Severity.ERROR,
    Truth.INVALID,
    needs=KEYS_NEEDED,
    help="For llama, deci and falcon the loader wants `rope.dimension_count` to equal the width of "
    "a head. Other architectures may rotate a part of it.",
    fix="Correct rope.dimension_count, or leave it out.",
    failing=lambda: llama({"llama.rope.dimension_count": 4}),
    passing=llama,
)
def partial_rotation(subject: Subject) -> Iterator[Hit]:
    hyper = subject.hyper
    if hyper is None or hyper.architecture not in WHOLE_ROTATION:
        return
    name = hyper.key_name("rope.dimension_count")
    rotated = number(hyper.value("hparams.n_rot_full"))
    head = number(hyper.value("hparams.n_embd_head_k_full"))
    if subject.find(name) is not None and None not in (rotated, head) and rotated != head:
        message = f"{rotated:,} of {head:,} columns of a head are rotated."
        yield Hit.at_name(subject, name, message, expected=f"{head}", actual=f"{rotated}")


@model_rule(
    "HYP009",
    "Unknown rope scaling",
    Severity.ERROR,
    Truth.INVALID,
    needs=KEYS_NEEDED,
    help="`rope.scaling.type` is none, linear, yarn or longrope. At any other name the reference "
    "aborts the whole program.",
    fix="Correct the key; what configurations call dynamic or llama3 is none of these.",
    failing=lambda: llama({"llama.rope.scaling.type": "dynamic"}),
    passing=lambda: llama({"llama.rope.scaling.type": "linear"}),
)
def unknown_scaling(subject: Subject) -> Iterator[Hit]:
    hyper = subject.hyper
    if hyper is None:
        return
    name = hyper.key_name("rope.scaling.type")
    found = subject.text(name)
    if found is not None and found not in ROPE_SCALINGS:
        message = f"The rope scaling {found[:80]} is unknown."
        yield Hit.at_name(
            subject, name, message, expected=", ".join(ROPE_SCALINGS), actual=found[:80]
        )


def _expert_sample(**counts: int) -> bytes:
    """A llama whose feed-forward layers are experts."""
    tensors: dict[str, Entry | None] = {}
    for name in llama_tensors():
        if ".ffn_" in name and "norm" not in name:
            tensors[name] = None
            shape = llama_tensors()[name][0]
            tensors[name.replace(".weight", "_exps.weight")] = ((*shape, 4), 0)
    for block in (0, 1):
        tensors[f"blk.{block}.ffn_gate_inp.weight"] = ((32, 4), 0)
    return llama({f"llama.{name}": count for name, count in counts.items()}, tensors)


@model_rule(
    "HYP010",
    "Numbers of experts do not fit",
    Severity.ERROR,
    Truth.INVALID,
    needs=TENSORS_NEEDED,
    help="A model with experts states how many there are (at most 1,024) and how many are used for "
    "a token: at least one, at most all, in groups that divide them. The reference aborts the "
    "whole program where that does not hold. Tensors of experts without `expert_count` are not "
    "found at all.",
    fix="Correct expert_count and expert_used_count; convert again where they are missing.",
    failing=lambda: _expert_sample(expert_count=4, expert_used_count=5),
    passing=lambda: _expert_sample(expert_count=4, expert_used_count=2),
)
def wrong_experts(subject: Subject) -> Iterator[Hit]:
    hyper = subject.hyper
    if hyper is None or hyper.blocks is None:
        return
    count = number(hyper.value("hparams.n_expert"))
    used = layers(hyper.value("hparams.n_expert_used_arr"))
    if count is None or None in used:
        return
    most = max((one for one in used if one is not None), default=0)
    for name, message, expected, actual in _expert_faults(subject, hyper, count, most):
        key = hyper.key_name(name)
        yield Hit.at_name(subject, key, message, expected=expected, actual=actual)


def _expert_faults(
    subject: Subject, hyper: LoadedHyperparameters, count: int, used: int
) -> Iterator[tuple[str, str, str, str]]:
    """Key, message, expected and actual of each number that does not fit."""
    groups = number(hyper.value("hparams.n_expert_groups")) or 0
    chosen = number(hyper.value("hparams.n_group_used")) or 0
    if not count and any("_exps." in name for name in subject.names):
        yield ("expert_count", "There are tensors of experts, but no count.", "a count", "none")
    if count > MOST_EXPERTS:
        yield ("expert_count", f"There are {count:,} experts.", f"to {MOST_EXPERTS}", f"{count}")
    if used > count:
        message = f"{used:,} of {count:,} experts are to be used."
        yield ("expert_used_count", message, f"at most {count}", f"{used}")
    if count and not used:
        message = f"None of {count:,} experts is used."
        yield ("expert_used_count", message, f"1 to {count}", "0")
    if groups and (groups >= count or count % groups):
        message = f"{count:,} experts are in {groups:,} groups."
        yield ("expert_group_count", message, f"fewer, dividing {count}", f"{groups}")
    elif groups > 1 and not 0 < chosen < groups:
        message = f"{chosen:,} of {groups:,} groups of experts are used."
        yield ("expert_group_used_count", message, f"1 to {groups - 1}", f"{chosen}")


@model_rule(
    "HYP013",
    "No key-value heads in a block with keys",
    Severity.ERROR,
    Truth.INVALID,
    needs=TENSORS_NEEDED,
    help="`head_count_kv` is 0 for a block that has keys to attend to. In hybrid models 0 marks "
    "blocks without attention; here the loader takes the block for one of another kind and misses "
    "its tensors.",
    fix="Convert again; the list of heads was overwritten.",
    failing=lambda: llama({"llama.attention.head_count_kv": [0, 2]}),
    passing=llama,
)
def no_key_value_heads(subject: Subject) -> Iterator[Hit]:
    hyper = subject.hyper
    if hyper is None:
        return
    # Blocks that predict further tokens stand behind the others and are loaded apart.
    count = number(hyper.value("hparams.n_layer()")) or 0
    shared = layers(hyper.value("hparams.n_head_kv_arr"))[:count]
    for tensor in subject.tensors:
        block = tensor_block(tensor.name)
        if block is None or not tensor.name.endswith(".attn_k.weight") or block >= len(shared):
            continue
        if shared[block] == 0 and subject.find(hyper.key_name(KEY_VALUE_HEADS)) is not None:
            message = f"Block {block} has attn_k, but no key-value heads."
            name = hyper.key_name(KEY_VALUE_HEADS)
            yield Hit.at_name(subject, name, message, expected="at least 1", actual="0")
