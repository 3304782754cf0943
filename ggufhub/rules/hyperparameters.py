"""Hyper-parameters: are the keys that a loader reads there, of the right type and length?

What the reference demands: ``load_hparams`` in ``src/llama-model.cpp`` and ``load_arch_hparams``
of each architecture, llama.cpp 0c1e57098, replayed by ``ggufhub.rules.hparams``.
"""

from collections.abc import Iterator

from ggufhub.estimate.hyperparameters import MOST_BLOCKS
from ggufhub.formats.header import Key
from ggufhub.formats.kind import DRAFT, MODEL, VOCAB
from ggufhub.formats.values import ValueType
from ggufhub.rules.hparams import Fault, Problem
from ggufhub.rules.model_samples import llama
from ggufhub.rules.registry import Hit, Need, Severity, Truth, model_rule
from ggufhub.rules.subject import Subject
from ggufhub.rules.tokenizer import WITHOUT_TOKENS
from ggufhub.rules.vocabulary import ID_KEYS

KEYS_NEEDED = (Need.KEYS,)

EVERY_MODEL = ("context_length", "embedding_length", "block_count")
"""Keys without which no model loads."""

HEADS = "attention.head_count"

WITHOUT_EVERY = frozenset({"wavtokenizer-dec"})
"""Architectures of sound decoders, whose published files leave some of these keys out."""

ATTENTION = ("attn_q.weight", "attn_qkv.weight")
"""Tensors of blocks with attention heads."""

GENERAL_TYPES = {
    "general.name": ValueType.STRING,
    "general.file_type": ValueType.UINT32,
    "tokenizer.ggml.model": ValueType.STRING,
    "tokenizer.ggml.pre": ValueType.STRING,
    "tokenizer.ggml.token_type_count": ValueType.UINT32,
    "tokenizer.ggml.add_bos_token": ValueType.BOOL,
    "tokenizer.ggml.add_eos_token": ValueType.BOOL,
    "tokenizer.ggml.add_sep_token": ValueType.BOOL,
    "tokenizer.ggml.add_space_prefix": ValueType.BOOL,
    "tokenizer.ggml.remove_extra_whitespaces": ValueType.BOOL,
    **{key: ValueType.UINT32 for name, key in ID_KEYS.items() if name != "cls"},
    **{
        f"tokenizer.ggml.fim_{part}_token_id": ValueType.UINT32
        for part in ("pre", "suf", "mid", "pad", "rep", "sep")
    },
}
"""Keys that the loader reads for every architecture, and the one type it takes; it never asks for
the cls token."""


def _problems(subject: Subject, fault: Fault) -> Iterator[Problem]:
    """What the loader would stop at, each key once."""
    told: set[str] = set()
    for problem in subject.hyper.problems if subject.hyper else ():
        if problem.fault is fault and problem.name not in told:
            told.add(problem.name)
            yield problem


def _short(subject: Subject, name: str) -> str:
    """A key's name without the architecture."""
    return name.removeprefix(f"{subject.text('general.architecture')}.")


@model_rule(
    "HYP002",
    "Hyper-parameter of every model missing",
    Severity.ERROR,
    Truth.INVALID,
    needs=KEYS_NEEDED,
    help="No loader can build a network without its context length, width and number of blocks, "
    "and none with attention without the number of heads.",
    fix="Convert again from the original repository, with its config.json.",
    failing=lambda: llama({"llama.context_length": None}),
    passing=llama,
)
def missing_basics(subject: Subject) -> Iterator[Hit]:
    hyper = subject.hyper
    if hyper is None or hyper.architecture in WITHOUT_EVERY:
        return
    missing = [problem.name for problem in _problems(subject, Fault.MISSING)]
    wanted = {hyper.key_name(name) for name in EVERY_MODEL}
    heads = hyper.key_name(HEADS)
    if subject.find(heads) is None and _has_attention(subject):
        missing.append(heads)
        wanted.add(heads)
    for name in missing:
        if name in wanted:
            yield Hit(f"{name} is missing.", key=name, expected="uint32", actual="key absent")


def _has_attention(subject: Subject) -> bool:
    return any(name.endswith(ATTENTION) for name in subject.names)


@model_rule(
    "HYP003",
    "Key of the wrong type",
    Severity.ERROR,
    Truth.INVALID,
    needs=KEYS_NEEDED,
    help="The reference loader takes one type for each key and converts nothing: uint32 for "
    "counts, lengths and token ids, float32 for bases, factors and epsilons, bool for switches. "
    "A uint64 or int32 with the right number in it stops it as surely as a text.",
    fix="Write the key again with the type named, for example with gguf_new_metadata.py.",
    failing=lambda: llama({"llama.context_length": (ValueType.UINT64, 128)}),
    passing=llama,
)
def wrong_type(subject: Subject) -> Iterator[Hit]:
    for problem in _problems(subject, Fault.TYPE):
        assert problem.key is not None
        yield _type_hit(problem.key, problem.expected)
    if subject.kind not in (MODEL, DRAFT, VOCAB):
        return
    nothing = subject.vocabulary.model in WITHOUT_TOKENS
    for name, kind in GENERAL_TYPES.items():
        key = subject.find(name)
        unread = nothing and name.startswith("tokenizer.")
        if key is not None and key.type is not kind and not unread:
            yield _type_hit(key, kind.label)


def _type_hit(key: Key, expected: str) -> Hit:
    message = f"{key.name} is of type {key.type_label}; loaders take {expected} only."
    return Hit.at_key(key, message, expected=expected, actual=key.type_label)


@model_rule(
    "HYP004",
    "Hyper-parameter of the architecture missing",
    Severity.ERROR,
    Truth.INVALID,
    needs=KEYS_NEEDED,
    help="Beyond the keys of every model, each architecture has some that its loader demands: the "
    "epsilon of its norms, the ranks of its projections, the sizes of its state.",
    fix="Convert again from the original repository, with a converter that knows the architecture.",
    failing=lambda: llama({"llama.attention.layer_norm_rms_epsilon": None}),
    passing=llama,
)
def missing_key(subject: Subject) -> Iterator[Hit]:
    for problem in _problems(subject, Fault.MISSING):
        if _short(subject, problem.name) not in EVERY_MODEL:
            yield Hit(
                f"{problem.name} is missing.",
                key=problem.name,
                expected=problem.expected,
                actual=problem.actual,
            )


@model_rule(
    "HYP005",
    "List for each block of the wrong length",
    Severity.ERROR,
    Truth.INVALID,
    needs=KEYS_NEEDED,
    help="Numbers of heads, widths of feed-forward layers and the like may be one number for all "
    "blocks, or a list with one for each. The list must be as long as `block_count` says, blocks "
    "for predicting further tokens included. A sliding-window pattern of another length loads, "
    "and blocks beyond it are taken for full attention.",
    fix="Convert again; the list and the number of blocks belong to different models.",
    failing=lambda: llama({"llama.attention.head_count": [4, 4, 4]}),
    passing=lambda: llama({"llama.attention.head_count": [4, 4]}),
)
def wrong_length(subject: Subject) -> Iterator[Hit]:
    for problem in _problems(subject, Fault.LENGTH):
        assert problem.key is not None
        yield _length_hit(problem.key, problem.expected, problem.actual, None)
    hyper = subject.hyper
    if hyper is None or hyper.blocks is None:
        return
    pattern = subject.find(hyper.key_name("attention.sliding_window_pattern"))
    array = None if pattern is None else pattern.array
    if pattern is not None and array is not None and array.count != hyper.blocks:
        facts = (f"{hyper.blocks} elements", f"{array.count:,} elements")
        severity = Severity.ERROR if array.count > MOST_BLOCKS else Severity.WARNING
        yield _length_hit(pattern, *facts, severity)


def _length_hit(key: Key, expected: str, actual: str, severity: Severity | None) -> Hit:
    message = f"{key.name} has {actual}, for {expected}."
    return Hit.at_key(key, message, expected=expected, actual=actual, severity=severity)


@model_rule(
    "HYP018",
    "Number of blocks out of range",
    Severity.ERROR,
    Truth.INVALID,
    needs=KEYS_NEEDED,
    help="The reference loader has room for 512 blocks and aborts the whole program at 0, or at "
    "more; also where more blocks predict further tokens than there are blocks.",
    fix="Correct the key; no model has so many blocks.",
    failing=lambda: llama({"llama.block_count": 513}),
    passing=llama,
)
def wrong_block_count(subject: Subject) -> Iterator[Hit]:
    hyper = subject.hyper
    if hyper is None:
        return
    key = subject.find(hyper.key_name("block_count"))
    count = subject.number(hyper.key_name("block_count"))
    if key is None or count is None:
        return
    if not 0 < count <= MOST_BLOCKS:
        message = f"The model states {count:,} blocks."
        yield Hit.at_key(key, message, expected=f"1 to {MOST_BLOCKS}", actual=f"{count:,}")
    further = subject.find(hyper.key_name("nextn_predict_layers"))
    ahead = subject.number(hyper.key_name("nextn_predict_layers"))
    if further is not None and ahead is not None and ahead > count:
        message = f"{ahead:,} of {count:,} blocks are to predict further tokens."
        yield Hit.at_key(further, message, expected=f"at most {count:,}", actual=f"{ahead:,}")
