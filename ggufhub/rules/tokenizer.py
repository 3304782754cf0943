"""Tokenizer: are the lists whole and of the right types, and do loaders know its kind?

What the reference demands: ``llama_vocab::impl::load`` in ``src/llama-vocab.cpp`` of llama.cpp
0c1e57098; every error here was proved by loading a model with the defect.
"""

from collections.abc import Iterator
from difflib import get_close_matches

from ggufhub.formats.kind import WITH_TOKENS
from ggufhub.formats.values import ValueType, is_utf8
from ggufhub.rules import vocabulary as names
from ggufhub.rules.expected import VOCABULARY_TENSORS, has_token_rows
from ggufhub.rules.registry import Hit, Need, Severity, Truth, model_rule
from ggufhub.rules.subject import Subject
from ggufhub.rules.tables import table
from ggufhub.rules.tokenizer_samples import bpe, spm

WITHOUT_TOKENS = frozenset({"none", "no_vocab"})
"""Tokenizer models of files that have no vocabulary."""

WITH_MERGES = frozenset({"gpt2", "gemma4", "hybriddna"})

WITHOUT_MERGES = frozenset({"kimi-k2"})
"""Pre-tokenizers whose vocabularies are merged by rank and carry no merges."""

LONGEST_NAME = 80
"""Characters of a pre-tokenizer compared with the known ones, of which the longest has 20."""

TOKENS_NEEDED = (Need.TOKENS,)


@model_rule(
    "TOK002",
    "Vocabulary and embedding differ in size",
    Severity.ERROR,
    Truth.INVALID,
    needs=(Need.TOKENS, Need.TENSORS, Need.SHARDS),
    help="The number of tokens must equal the rows of `token_embd.weight`, and of `output.weight` "
    "where there is one, exactly; a few architectures, such as draft models with a smaller "
    "vocabulary of their own, want other rows there, and TEN005 judges those. Added tokens that "
    "were left out of the list, or padding rows that were kept, are the usual cause.",
    fix="Convert again from the original repository, with its added_tokens.json.",
    failing=lambda: bpe(embedding_rows=13),
    passing=lambda: bpe(embedding_rows=12),
)
def wrong_rows(subject: Subject) -> Iterator[Hit]:
    size = subject.vocabulary.size
    architecture = subject.text("general.architecture") or ""
    for tensor in subject.tensors:
        if tensor.name not in VOCABULARY_TENSORS or not has_token_rows(architecture, tensor.name):
            continue
        if len(tensor.shape) >= 2 and tensor.shape[1] != size:
            yield Hit.at_tensor(
                tensor,
                f"{tensor.name} has {tensor.shape[1]:,} rows for {size:,} tokens.",
                expected=f"{size:,} rows",
                actual=f"{tensor.shape[1]:,} rows",
            )


@model_rule(
    "TOK003",
    "Scores or token types do not match the tokens",
    Severity.ERROR,
    Truth.INVALID,
    needs=TOKENS_NEEDED,
    help="`scores` (float32, or int32) and `token_type` (int32) hold one number for each token. "
    "Shorter lists and other types stop the loader; longer ones load, and are wrong.",
    fix="Convert again from the original repository.",
    failing=lambda: spm(scores=[0.0] * 5),
    passing=spm,
)
def wrong_lists(subject: Subject) -> Iterator[Hit]:
    vocabulary = subject.vocabulary
    for name, allowed in (
        (names.SCORES, (ValueType.FLOAT32, ValueType.INT32)),
        (names.TYPES, (ValueType.INT32,)),
    ):
        key = subject.find(name)
        if key is None:
            continue
        if key.array is None or key.array.element_type not in allowed:
            wanted = " or ".join(f"{kind.label}[]" for kind in allowed)
            message = f"{name} is of type {key.type_label}."
            yield Hit.at_key(key, message, expected=wanted, actual=key.type_label)
        elif key.array.count != vocabulary.size:
            shorter = key.array.count < vocabulary.size
            yield Hit.at_key(
                key,
                f"{name} has {key.array.count:,} elements for {vocabulary.size:,} tokens.",
                expected=f"{vocabulary.size:,}",
                actual=f"{key.array.count:,}",
                severity=Severity.ERROR if shorter else Severity.WARNING,
            )


@model_rule(
    "TOK004",
    "Token occurs twice",
    Severity.ERROR,
    Truth.INVALID,
    needs=TOKENS_NEEDED,
    help="Two tokens with the same bytes. The reference loader checks that text and id lead to "
    "each other and aborts the whole program. Empty tokens are renamed and do not count.",
    fix="Rename the duplicates, as converters do, to [PAD123] or the like.",
    failing=lambda: spm(tokens=["<unk>", "<s>", "</s>", "a", "a", "c"]),
    passing=spm,
)
def duplicate_token(subject: Subject) -> Iterator[Hit]:
    vocabulary = subject.vocabulary
    if len(vocabulary.index) == vocabulary.size:
        return
    key = subject.find(names.TOKENS)
    assert key is not None
    first: dict[bytes, int] = {}
    for number, token in enumerate(vocabulary.tokens):
        earlier = first.setdefault(token, number)
        if token and earlier != number:
            shown = vocabulary.text(number)
            yield Hit.at_key(
                key,
                f"The tokens {earlier:,} and {number:,} are both “{shown}”.",
                expected="each text once",
                actual=shown,
            )


@model_rule(
    "TOK005",
    "Empty tokens",
    Severity.INFO,
    Truth.ADVICE,
    needs=TOKENS_NEEDED,
    help="Tokens without text load: the reference names them [EMPTY_n]. They can never be matched.",
    fix="Nothing, if the model was trained with them.",
    failing=lambda: spm(tokens=["<unk>", "<s>", "</s>", "a", "", "c"]),
    passing=spm,
)
def empty_tokens(subject: Subject) -> Iterator[Hit]:
    count = subject.vocabulary.tokens.count(b"")
    key = subject.find(names.TOKENS)
    if count and key is not None:
        first = subject.vocabulary.tokens.index(b"")
        yield Hit.at_key(key, f"{count:,} tokens have no text, the first is {first:,}.")


@model_rule(
    "TOK006",
    "Tokens that are not UTF-8",
    Severity.WARNING,
    Truth.SPEC,
    needs=TOKENS_NEEDED,
    help="Strings are UTF-8 by the specification. The reference loads such tokens; Python readers "
    "fail on them or replace what they cannot read.",
    fix="Convert again; bytes belong into tokens like <0xE2>.",
    failing=lambda: spm(tokens=["<unk>", "<s>", "</s>", b"\xff", "b", "c"]),
    passing=spm,
    runtimes=("gguf-py", "spec"),
)
def broken_text(subject: Subject) -> Iterator[Hit]:
    tokens = subject.vocabulary.tokens
    if is_utf8(b"\0".join(tokens)):  # the NUL keeps broken ends from joining up
        return
    broken = [number for number, token in enumerate(tokens) if not is_utf8(token)]
    key = subject.find(names.TOKENS)
    assert key is not None
    yield Hit.at_key(
        key,
        f"{len(broken):,} tokens are not UTF-8, the first is {broken[0]:,}.",
        expected="UTF-8 text",
        actual=repr(tokens[broken[0]][:40]),
    )


@model_rule(
    "TOK007",
    "Merges missing or malformed",
    Severity.ERROR,
    Truth.INVALID,
    needs=TOKENS_NEEDED,
    help="Vocabularies of the models gpt2, gemma4 and hybriddna are merged pair by pair; the "
    "pairs stand in `tokenizer.ggml.merges`, two parts with a space between. Without them loaders "
    "refuse the file.",
    fix="Convert again from a repository with merges.txt or tokenizer.json.",
    failing=lambda: bpe(merges=None),
    passing=bpe,
)
def bad_merges(subject: Subject) -> Iterator[Hit]:
    vocabulary = subject.vocabulary
    if vocabulary.model not in WITH_MERGES or vocabulary.pre in WITHOUT_MERGES:
        return
    key = subject.find(names.MERGES)
    if key is None:
        yield Hit("There are no merges.", key=names.MERGES, expected="pairs", actual="key absent")
        return
    if key.array is None or key.array.element_type is not ValueType.STRING:
        message = f"The merges are of type {key.type_label}."
        yield Hit.at_key(key, message, expected="string[]", actual=key.type_label)
        return
    wrong = names.first_without(key.array, ord(" "))
    if wrong is not None:
        merge = key.array[wrong]
        assert isinstance(merge, bytes)
        shown = merge[:60].decode("utf-8", "surrogateescape")
        message = f"Merge {wrong:,} is “{shown}”, which is no pair."
        yield Hit.at_key(key, message, expected="two parts with a space between", actual=shown)


@model_rule(
    "TOK008",
    "Pre-tokenizer not named",
    Severity.WARNING,
    Truth.ADVICE,
    needs=TOKENS_NEEDED,
    help="Vocabularies of the model gpt2 split text by a pattern before they merge, and "
    "`tokenizer.ggml.pre` names it. Without the name, loaders take a default that fits few "
    "models; the output gets worse and nobody says why.",
    fix="Convert again with a current convert_hf_to_gguf.py.",
    failing=lambda: bpe(pre=None),
    passing=bpe,
)
def unnamed_pre(subject: Subject) -> Iterator[Hit]:
    vocabulary = subject.vocabulary
    if vocabulary.model == "gpt2" and vocabulary.pre in (None, "default", ""):
        yield Hit(
            "The vocabulary does not name its pre-tokenizer.",
            key=names.PRE,
            expected="a name such as llama-bpe or qwen2",
            actual=vocabulary.pre or "key absent",
        )


@model_rule(
    "TOK009",
    "Unknown pre-tokenizer",
    Severity.ERROR,
    Truth.INVALID,
    needs=TOKENS_NEEDED,
    help="The loader knows pre-tokenizers by name and refuses others. A name can also be newer "
    "than the loader.",
    fix="Update the runtime; if the name is misspelt, convert again.",
    failing=lambda: bpe(pre="deepseek-v3.1"),
    passing=bpe,
)
def unknown_pre(subject: Subject) -> Iterator[Hit]:
    vocabulary = subject.vocabulary
    known = table("tokenizer")["pre_tokenizers"]
    if vocabulary.model != "gpt2" or not vocabulary.pre or vocabulary.pre in known:
        return
    key = subject.find(names.PRE)
    assert key is not None
    near = get_close_matches(vocabulary.pre[:LONGEST_NAME], known, 1)
    hint = f"; the nearest is {near[0]}" if near else ""
    yield Hit.at_key(
        key,
        f"The pre-tokenizer {vocabulary.pre} is unknown{hint}.",
        expected=f"one of {len(known)} names",
        actual=vocabulary.pre,
    )


@model_rule(
    "TOK010",
    "Unknown kind of tokenizer",
    Severity.ERROR,
    Truth.INVALID,
    needs=(Need.KEYS,),
    help="`tokenizer.ggml.model` names the algorithm. Loaders refuse a model without it, or with "
    "a name they do not know.",
    fix="Convert again with a current convert_hf_to_gguf.py.",
    failing=lambda: spm(model="sentencepiece"),
    passing=spm,
)
def unknown_model(subject: Subject) -> Iterator[Hit]:
    if subject.kind not in WITH_TOKENS:
        return
    key, known = subject.find(names.MODEL), table("tokenizer")["models"]
    if key is None:
        yield Hit("The model names no tokenizer.", key=names.MODEL, actual="key absent")
    elif subject.vocabulary.model not in known:
        shown = subject.vocabulary.model or key.type_label
        message = f"The tokenizer {shown} is unknown."
        yield Hit.at_key(key, message, expected=", ".join(known), actual=shown)


@model_rule(
    "TOK011",
    "No vocabulary",
    Severity.ERROR,
    Truth.INVALID,
    needs=(Need.KEYS,),
    help="`tokenizer.ggml.tokens` is the list of tokens, an array of strings. A model that names "
    "a tokenizer cannot load without it.",
    fix="Convert again from a repository with its tokenizer files.",
    failing=lambda: spm(tokens=None),
    passing=spm,
)
def no_vocabulary(subject: Subject) -> Iterator[Hit]:
    vocabulary = subject.vocabulary
    if subject.kind not in WITH_TOKENS or vocabulary.model is None:
        return
    key = subject.find(names.TOKENS)
    if vocabulary.model in WITHOUT_TOKENS or vocabulary.array is not None:
        return
    if key is None:
        yield Hit("There are no tokens.", key=names.TOKENS, actual="key absent")
    else:
        message = f"The tokens are of type {key.type_label}."
        yield Hit.at_key(key, message, expected="string[]", actual=key.type_label)


@model_rule(
    "TOK018",
    "Stated vocabulary size is wrong",
    Severity.WARNING,
    Truth.PORTABILITY,
    needs=TOKENS_NEEDED,
    help="`<architecture>.vocab_size` differs from the number of tokens. The reference counts the "
    "tokens and ignores the key; other programs allocate by it.",
    fix="Correct the key, for example with gguf_set_metadata.py.",
    failing=lambda: bpe(vocab_size=999),
    passing=lambda: bpe(vocab_size=12),
    runtimes=("others",),
)
def wrong_size(subject: Subject) -> Iterator[Hit]:
    key = subject.find(f"{subject.text('general.architecture')}.vocab_size")
    size = subject.vocabulary.size
    if key is not None and key.array is None and key.value != size:
        yield Hit.at_key(
            key,
            f"{key.name} is {key.value!r}, but there are {size:,} tokens.",
            expected=f"{size}",
            actual=str(key.value),
        )


@model_rule(
    "TOK023",
    "Spaces written in the way of another tokenizer",
    Severity.WARNING,
    Truth.ADVICE,
    needs=TOKENS_NEEDED,
    help="gpt2 vocabularies write a leading space as \u0120, llama vocabularies as \u2581. Tokens "
    "in the other way are never matched, so every word falls apart into letters.",
    fix="Convert again; the tokenizer was taken for one of another kind.",
    failing=lambda: bpe(tokens=["<s>", "</s>", "<|im_end|>", *(f"\u2581{c}" for c in "abcdefghi")]),
    passing=bpe,
)
def foreign_spaces(subject: Subject) -> Iterator[Hit]:
    vocabulary = subject.vocabulary
    ways = {"gpt2": "\u0120", "llama": "\u2581"}
    ours = ways.get(vocabulary.model or "")
    if ours is None:
        return
    other = next(way for way in ways.values() if way != ours)
    matching = sum(token.startswith(ours.encode()) for token in vocabulary.tokens)
    foreign = sum(token.startswith(other.encode()) for token in vocabulary.tokens)
    if foreign * 10 > vocabulary.size and matching * 100 < vocabulary.size:
        key = subject.find(names.TOKENS)
        assert key is not None
        yield Hit.at_key(
            key,
            f"{foreign:,} tokens begin with {other}, {matching:,} with {ours}.",
            expected=f"leading spaces written as {ours}",
            actual=f"written as {other}",
        )
