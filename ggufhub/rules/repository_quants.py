"""Quants of one model: what they must have in common, because only the weights differ.

Quantising copies every key and the name and shape of every tensor (``src/llama-quant.cpp`` of
llama.cpp 0c1e57098), so a quant that disagrees was made from another version of the model.
"""

from collections.abc import Callable, Hashable, Iterator, Mapping
from typing import Any

from ggufhub.formats.kind import MODEL
from ggufhub.rules.model_samples import TOKENS, Entry, llama
from ggufhub.rules.quantisation import with_matrices
from ggufhub.rules.registry import Need, Severity, Truth, repository_rule
from ggufhub.rules.repository import (
    Member,
    Repository,
    RepositoryHit,
    difference,
    frozen,
    odd_ones,
)

TEMPLATE = "tokenizer.chat_template"

LISTING = (Need.REPOSITORY,)

Q8_0 = 8
"""The tensor type's number."""


def _pair(
    keys: dict[str, Any] | None = None, tensors: Mapping[str, Entry | None] | None = None
) -> dict[str, bytes]:
    """Two files of the sample model, the second with other keys and tensors."""
    return {"F32/sample.gguf": llama(), "sample-F32.gguf": llama(keys, tensors)}


def _disagreements(
    repository: Repository, fact: Callable[[Member], Hashable]
) -> Iterator[tuple[Member, Member]]:
    """``(speaker, odd one)`` for every quant whose ``fact`` is not that of its family."""
    for members in repository.families.values():
        odd = odd_ones(members, fact)
        if odd is not None:
            yield from ((odd[0], member) for member in odd[1])


def _differs(speaker: Member, odd: Member, says: str, expected: str, actual: str) -> RepositoryHit:
    message = f"{odd.name} {says} than {speaker.name}."
    return RepositoryHit(message, (odd.path, speaker.path), expected, actual)


def _short(digest: str | None) -> str:
    return (digest or "none")[:16]


@repository_rule(
    "AUD001",
    "Chat template differs between quants",
    Severity.WARNING,
    Truth.ADVICE,
    needs=LISTING,
    help="All quants of one model are made from the same source, so their chat template is the "
    "same text. One that differs is from an older upload, was edited, or was left out; who swaps "
    "one quant for another then gets other answers without knowing why.",
    fix="Make the odd quants again from the current source.",
    failing=lambda: {
        "F32/sample.gguf": llama({TEMPLATE: "{{ messages[0]['content'] }}"}),
        "sample-F32.gguf": llama({TEMPLATE: "{{ messages[-1]['content'] }}"}),
    },
    passing=_pair,
)
def other_template(repository: Repository) -> Iterator[RepositoryHit]:
    for speaker, odd in _disagreements(repository, lambda member: member.template or ""):
        says = "has another chat template" if odd.template else "has no chat template, other"
        expected, actual = _short(speaker.template), _short(odd.template)
        yield _differs(speaker, odd, says, expected, actual)


@repository_rule(
    "AUD002",
    "Tokenizer differs between quants",
    Severity.WARNING,
    Truth.ADVICE,
    needs=LISTING,
    help="Model, pre-tokenizer, tokens, their types and scores, and merges are compared by their "
    "digest. A quant with another tokenizer was converted by another version of the converter, "
    "and one of the two tokenises text wrongly.",
    fix="Convert the model again and make every quant from that file.",
    failing=lambda: _pair({"tokenizer.ggml.tokens": ["<unk>", "<s>", "</s>", *TOKENS[3:][::-1]]}),
    passing=_pair,
)
def other_tokenizer(repository: Repository) -> Iterator[RepositoryHit]:
    for speaker, odd in _disagreements(repository, lambda member: member.tokenizer):
        expected, actual = _short(speaker.tokenizer), _short(odd.tokenizer)
        yield _differs(speaker, odd, "has another tokenizer", expected, actual)


@repository_rule(
    "AUD003",
    "Special tokens differ between quants",
    Severity.WARNING,
    Truth.ADVICE,
    needs=LISTING,
    help="Ids of special tokens, and whether they are added to a prompt, are corrected now and "
    "then after a model's release. A quant that still has the old ones stops too late, or starts "
    "a prompt wrongly.",
    fix="Set the keys in the odd quants with gguf_set_metadata.py, or make them again.",
    failing=lambda: _pair({"tokenizer.ggml.eos_token_id": 1}),
    passing=_pair,
)
def other_special_tokens(repository: Repository) -> Iterator[RepositoryHit]:
    yield from _other_keys(repository, lambda member: member.special, "special tokens")


@repository_rule(
    "AUD004",
    "Context length or rope differ between quants",
    Severity.WARNING,
    Truth.ADVICE,
    needs=LISTING,
    help="Context length and rope parameters come with the weights. Quants that disagree were "
    "made before and after a correction, and behave differently in long conversations.",
    fix="Make the odd quants again from the current source.",
    failing=lambda: _pair({"llama.context_length": 256}),
    passing=_pair,
)
def other_context(repository: Repository) -> Iterator[RepositoryHit]:
    yield from _other_keys(repository, lambda member: member.context, "context or rope keys")


def _other_keys(
    repository: Repository, keys: Callable[[Member], Mapping[str, Any]], what: str
) -> Iterator[RepositoryHit]:
    for speaker, odd in _disagreements(repository, lambda member: frozen(keys(member))):
        expected, actual = difference(keys(speaker), keys(odd))
        yield _differs(speaker, odd, f"has other {what}", expected, actual)


@repository_rule(
    "AUD005",
    "Tensors differ between quants",
    Severity.WARNING,
    Truth.ADVICE,
    needs=LISTING,
    help="Names and shapes of all tensors are compared, their types are not. A quant with other "
    "tensors is of another model or of another conversion, or it lost some on the way.",
    fix="Compare the two files (`ggufhub compare A B`) and make the wrong one again.",
    failing=lambda: _pair(tensors={"blk.0.attn_q.bias": ((32,), 0)}),
    passing=_pair,
)
def other_tensors(repository: Repository) -> Iterator[RepositoryHit]:
    for speaker, odd in _disagreements(repository, lambda member: member.tensor_set):
        says = "has tensors of other names or shapes"
        yield _differs(speaker, odd, says, _tensors(speaker), _tensors(odd))


def _tensors(member: Member) -> str:
    return f"{member.tensors or 0:,} tensors, digest {(member.tensor_set or '')[:8]}"


@repository_rule(
    "AUD006",
    "Number of parameters differs between quants",
    Severity.WARNING,
    Truth.ADVICE,
    needs=LISTING,
    help="Quantising changes how a weight is stored, never how many there are. Another number "
    "means another model under the same name.",
    fix="Rename the file that is another model, or replace it.",
    failing=lambda: _pair(tensors={"blk.0.attn_q.bias": ((32,), 0)}),
    passing=_pair,
)
def other_size(repository: Repository) -> Iterator[RepositoryHit]:
    for speaker, odd in _disagreements(repository, lambda member: member.parameters):
        expected, actual = f"{speaker.parameters:,}", f"{odd.parameters:,}"
        yield _differs(speaker, odd, "has another number of parameters", expected, actual)


@repository_rule(
    "AUD007",
    "Quants say different things about their origin",
    Severity.INFO,
    Truth.ADVICE,
    needs=LISTING,
    help="Base name, size, organisation and base models are keys that quantising copies. Where "
    "they differ, people and catalogues take one model for two.",
    fix="Set the same keys in every quant.",
    failing=lambda: {
        "F32/sample.gguf": llama({"general.basename": "Sample"}),
        "sample-F32.gguf": llama({"general.basename": "Other"}),
    },
    passing=_pair,
)
def other_origin(repository: Repository) -> Iterator[RepositoryHit]:
    yield from _other_keys(repository, lambda member: member.origin, "keys about its origin")


@repository_rule(
    "AUD008",
    "Named for another quant than it holds",
    Severity.WARNING,
    Truth.ADVICE,
    needs=LISTING,
    help="The quant in the name of a file or of its folder is how people choose one. Here most "
    "weights are of a type that no mix of that name has, whatever `general.file_type` says.",
    fix="Rename the file, or put the right one in its place.",
    failing=lambda: {"Q4_K_M/sample.gguf": with_matrices(Q8_0)},
    passing=lambda: {"Q8_0/sample.gguf": with_matrices(Q8_0)},
)
def wrong_name(repository: Repository) -> Iterator[RepositoryHit]:
    for member in repository.members:
        holds = _held(member)
        if member.error is None and member.quant and holds and not _fits(member.quant, holds):
            yield RepositoryHit(
                f"{member.path} is named for {member.quant}, but most of its weights are {holds}.",
                (member.path,),
                expected=member.quant,
                actual=holds if member.label is None else f"{holds} (file type {member.label})",
            )


_PLAIN = frozenset({"F64", "F32", "F16", "BF16"})
_SAME = {"FP32": "F32", "FP16": "F16", "BF16": "F16"}
"""Names of one width that are used for each other."""


def _held(member: Member) -> str | None:
    """The type of most weights, where the name can be judged by it. Dynamic mixes (``UD-``) take
    any type for any tensor."""
    judged = member.kind == MODEL and member.role == MODEL and not member.quant.startswith("UD-")
    return member.main_type if judged else None


def _fits(quant: str, main: str) -> bool:
    """Whether a file of this name may have most weights of this type: the same number of bits,
    give or take one, because mixes raise some tensors and small models fall back."""
    quant, main = _SAME.get(quant, quant), _SAME.get(main, main)
    if quant in _PLAIN or main in _PLAIN:
        return quant == main
    wanted, held = _bits(quant), _bits(main)
    return wanted is None or held is None or abs(wanted - held) <= 1


def _bits(name: str) -> int | None:
    """4 for Q4_K_M, IQ4_XS and MXFP4."""
    digits = [character for character in name if character.isdigit()]
    return int(digits[0]) if digits else None
