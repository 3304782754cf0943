"""Tokenizer: the special tokens, and whether generation will ever end."""

import re
from collections.abc import Iterator

from ggufhub.rules.registry import Hit, Need, Severity, Truth, model_rule, template_rule
from ggufhub.rules.subject import Subject
from ggufhub.rules.tables import table
from ggufhub.rules.template_samples import CHATML
from ggufhub.rules.tokenizer_samples import bpe, spm
from ggufhub.rules.vocabulary import (
    CONTROL,
    ID_KEYS,
    NORMAL,
    TOKENS,
    TYPES,
    UNSET,
    Vocabulary,
)
from ggufhub.templating import conversations as sample
from ggufhub.templating.facts import TemplateFacts

GPT2_DEFAULT_ID = 11
"""bos and eos of a gpt2 vocabulary that declares none (``src/llama-vocab.cpp``)."""

PLAIN_CONTROLS = 1_000

_MARKED = re.compile(r"[<\[(].*[>\])]|[^\w\s]", re.DOTALL)
_MARKER_LITERAL = re.compile(r"<\|[^|<>\s]{1,40}\|>")

ENDS = ("eos", "eot", "eom")
TOKENS_NEEDED = (Need.TOKENS,)

ADDS_BOS = frozenset({"gemma", "gemma2", "gemma3", "gemma3n", "gemma4"})
"""Architectures whose models were all trained with a begin token."""

NEVER_BOS = frozenset({"qwen2", "qwen2moe", "qwen3", "qwen3moe"})
"""Architectures whose models were all trained without one."""


@model_rule(
    "TOK013",
    "Special id outside the vocabulary",
    Severity.WARNING,
    Truth.PORTABILITY,
    needs=TOKENS_NEEDED,
    help="A special token id is not below the number of tokens. llama.cpp warns and uses a default "
    "instead; other programs read outside their tables. 4294967295 was written by old converters "
    "for “none”.",
    fix="Correct or remove the key, for example with gguf_set_metadata.py.",
    failing=lambda: spm(eos_token_id=32_000),
    passing=spm,
    runtimes=("mistral.rs", "others"),
)
def id_outside(subject: Subject) -> Iterator[Hit]:
    size = subject.vocabulary.size
    for name in ID_KEYS.values():
        number = subject.number(name)
        if number is not None and not 0 <= number < size:
            unset = " It stands for “none” in files of old converters." if number == UNSET else ""
            yield Hit.at_name(
                subject,
                name,
                f"{name} is {number:,}, but there are {size:,} tokens.{unset}",
                expected=f"0 to {size - 1}",
                actual=str(number),
            )


@model_rule(
    "TOK014",
    "No begin or end token declared",
    Severity.WARNING,
    Truth.ADVICE,
    needs=TOKENS_NEEDED,
    help="A gpt2 vocabulary without bos or eos id gets id 11 for both, which in most vocabularies "
    "is an ordinary character: generation then stops at it, or never.",
    fix="Set the ids, for example with gguf_set_metadata.py.",
    failing=lambda: bpe(eos_token_id=None),
    passing=bpe,
)
def no_begin_or_end(subject: Subject) -> Iterator[Hit]:
    vocabulary = subject.vocabulary
    if vocabulary.model != "gpt2" or vocabulary.size <= GPT2_DEFAULT_ID:
        return
    shown = vocabulary.text(GPT2_DEFAULT_ID)
    add_bos = subject.find("tokenizer.ggml.add_bos_token")
    template = subject.text("tokenizer.chat_template") or ""
    for name in ("bos", "eos"):
        if subject.find(ID_KEYS[name]) is not None:
            continue
        unused = name == "bos" and "bos_token" not in template
        unused = unused and (add_bos is None or add_bos.value == 0)
        yield Hit.at_name(
            subject,
            ID_KEYS[name],
            f"There is no {name} id, so token 11 “{shown}” is taken.",
            actual="key absent",
            severity=Severity.INFO if unused else Severity.WARNING,
        )


@model_rule(
    "TOK015",
    "End token is not a control token",
    Severity.WARNING,
    Truth.ADVICE,
    needs=TOKENS_NEEDED,
    help="A token that ends a turn is typed as ordinary text. llama.cpp corrects the 22 texts it "
    "knows and says that this is probably a bug of the model; others print the token and go on.",
    fix="Convert again with a current converter, which types special tokens as control.",
    failing=lambda: bpe(token_type=[3, 3, 1] + [1] * 9),
    passing=bpe,
)
def plain_end(subject: Subject) -> Iterator[Hit]:
    vocabulary = subject.vocabulary
    if vocabulary.types is None:
        return
    declared = {name: vocabulary.special_id(name) for name in ENDS}
    told: set[int] = set()
    for name, number in declared.items():
        if number is not None and vocabulary.type_of(number) != CONTROL and number not in told:
            told.add(number)
            message = (
                f"The {name} token {number:,} “{vocabulary.text(number)}” is not typed control."
            )
            yield _type_hit(subject, number, message)
    for text in table("tokenizer")["end_of_generation"]:
        number = vocabulary.number_of(text)
        if number is None or number in told or vocabulary.type_of(number) == CONTROL:
            continue
        if _emitted(subject, text):
            message = f"The template ends turns with {text}, token {number:,}, not typed control."
            yield _type_hit(subject, number, message)


def _type_hit(subject: Subject, number: int, message: str) -> Hit:
    actual = str(subject.vocabulary.type_of(number))
    return Hit.at_name(subject, TYPES, message, expected="3 (control)", actual=actual)


def _emitted(subject: Subject, text: str) -> bool:
    """Whether a template writes the text: many vocabularies hold end texts nobody uses."""
    return any(text in facts.text for facts in subject.templates)


@model_rule(
    "TOK016",
    "End token is an ordinary word",
    Severity.WARNING,
    Truth.ADVICE,
    needs=TOKENS_NEEDED,
    help="The eos id points at a plain word. Generation stops whenever the model writes it, and "
    "runs on where it should end. Usually the id was shifted by added tokens.",
    fix="Set the id of the true end token, for example with gguf_set_metadata.py.",
    failing=lambda: bpe(eos_token_id=5),
    passing=bpe,
)
def word_as_end(subject: Subject) -> Iterator[Hit]:
    vocabulary = subject.vocabulary
    number = vocabulary.special_id("eos")
    if number is None or vocabulary.type_of(number) != NORMAL or vocabulary.types is None:
        return
    if _MARKED.search(vocabulary.text(number)) is None:
        message = f"The end token {number:,} is the word “{vocabulary.text(number)}”."
        yield Hit.at_name(subject, ID_KEYS["eos"], message, actual=vocabulary.text(number))


@model_rule(
    "TOK017",
    "Told to add a token that is not declared",
    Severity.WARNING,
    Truth.ADVICE,
    needs=TOKENS_NEEDED,
    help="`add_bos_token` is true but no bos id is given, so a default is added to every prompt. "
    "`add_eos_token` on a chat model ends the prompt before the model can answer.",
    fix="Declare the id, or set the flag to false.",
    failing=lambda: spm(bos_token_id=None, add_bos_token=True),
    passing=lambda: spm(add_bos_token=True),
)
def undeclared_addition(subject: Subject) -> Iterator[Hit]:
    name = "tokenizer.ggml.add_bos_token"
    flag = subject.find(name)
    if flag is not None and flag.value == 1 and subject.find(ID_KEYS["bos"]) is None:
        yield Hit.at_name(subject, name, "A begin token is added, but none is declared.")
    name = "tokenizer.ggml.add_eos_token"
    flag = subject.find(name)
    if flag is not None and flag.value == 1 and subject.templates:
        yield Hit.at_name(subject, name, "An end token is added to every prompt of a chat model.")


@model_rule(
    "TOK019",
    "Begin token against the habit of the family",
    Severity.WARNING,
    Truth.ADVICE,
    needs=TOKENS_NEEDED,
    help="All models of the family were trained with a begin token, or all without. The other way "
    "round the output gets clearly worse, without any error.",
    fix="Set tokenizer.ggml.add_bos_token as the original tokenizer_config.json has it.",
    failing=lambda: spm(architecture="gemma3", add_bos_token=False),
    passing=lambda: spm(architecture="gemma3", add_bos_token=True),
)
def against_family(subject: Subject) -> Iterator[Hit]:
    name = "tokenizer.ggml.add_bos_token"
    flag = subject.find(name)
    if flag is None or flag.value not in (0, 1):
        return
    architecture = subject.text("general.architecture") or ""
    needed = architecture in ADDS_BOS or (
        architecture == "llama" and subject.vocabulary.pre in ("llama3", "llama-bpe", "llama-v3")
    )
    if needed and flag.value == 0:
        yield Hit.at_name(subject, name, "This family needs a begin token.", expected="true")
    elif architecture in NEVER_BOS and flag.value == 1:
        yield Hit.at_name(subject, name, "This family has no begin token.", expected="false")


@template_rule(
    "TOK020",
    "Template ends turns with a token that does not end generation",
    Severity.WARNING,
    Truth.ADVICE,
    needs=(Need.TOKENS, Need.RENDERS),
    help="After an answer the template writes a special token that is neither eos nor eot. The "
    "model writes the same one when it is done, and runtimes that stop at the declared ids only "
    "never stop. llama.cpp knows 22 texts by heart and stops at those.",
    fix="Set eos or eot to that token, for example with gguf_set_metadata.py.",
    failing=lambda: bpe(eos_token_id=1, chat_template=CHATML),
    passing=lambda: bpe(chat_template=CHATML),
)
def endless(subject: Subject, facts: TemplateFacts) -> Iterator[Hit]:
    vocabulary = subject.vocabulary
    end = _turn_end(vocabulary, facts.output("several turns"))
    declared = {vocabulary.special_id(name) for name in ENDS}
    if end is None or end in declared or declared == {None}:
        return
    text = vocabulary.text(end)
    known = text in table("tokenizer")["end_of_generation"]
    yield Hit(
        f"Turns end with “{text}”, token {end:,}, which is neither eos nor eot.",
        key=ID_KEYS["eos"],
        expected=str(end),
        actual=str(subject.number(ID_KEYS["eos"])),
        severity=Severity.INFO if known else Severity.WARNING,
    )


def _turn_end(vocabulary: Vocabulary, output: str | None) -> int | None:
    """The special token right after the assistant's answer, if there is one."""
    if output is None or sample.ANSWER not in output:
        return None
    rest = output[output.index(sample.ANSWER) + len(sample.ANSWER) :].lstrip()
    for length in range(min(len(rest), 40), 1, -1):
        number = vocabulary.number_of(rest[:length])
        if number is not None and vocabulary.type_of(number) == CONTROL:
            return number
    return None


@template_rule(
    "TPL012",
    "Template writes a marker that is no token",
    Severity.WARNING,
    Truth.ADVICE,
    needs=(Need.TOKENS, Need.RENDERS),
    help="The rendered prompt holds a marker such as <|im_start|> that the vocabulary lacks, so "
    "it is cut into pieces the model never saw. Some models were trained that way; where the "
    "vocabulary has other markers of the form, it is a template of another model.",
    fix="Use the template of the model's own repository.",
    failing=lambda: bpe(chat_template=CHATML),
    passing=lambda: bpe(
        chat_template=CHATML,
        tokens=["<|im_start|>", "</s>", "<|im_end|>", *"abcdefghi"],
    ),
)
def no_such_token(subject: Subject, facts: TemplateFacts) -> Iterator[Hit]:
    output = facts.output("several turns")
    vocabulary = subject.vocabulary
    if output is None:
        return
    markers = dict.fromkeys(_MARKER_LITERAL.findall(output))
    missing = [marker for marker in markers if vocabulary.number_of(marker) is None]
    if not missing:
        return
    own_style = len(missing) < len(markers)
    yield Hit(
        f"The template writes {', '.join(missing[:5])}, which the vocabulary does not have.",
        key=facts.key,
        actual=", ".join(missing[:5]),
        severity=Severity.WARNING if own_style else Severity.INFO,
    )


@model_rule(
    "TOK021",
    "Ordinary words typed as control tokens",
    Severity.INFO,
    Truth.ADVICE,
    needs=TOKENS_NEEDED,
    help="Control tokens are not printed. More than a thousand of them that look like plain words "
    "mean that an added vocabulary got the wrong type: those words vanish from the output.",
    fix="Convert again, with the added tokens typed as normal or user-defined.",
    failing=lambda: spm(
        tokens=["<unk>", "<s>", "</s>", *(f"word{n}" for n in range(1_100))],
        scores=[0.0] * 1_103,
        token_type=[3] * 1_103,
    ),
    passing=spm,
)
def vanishing_words(subject: Subject) -> Iterator[Hit]:
    vocabulary = subject.vocabulary
    types = vocabulary.types
    if types is None or types.count(CONTROL) <= PLAIN_CONTROLS:
        return
    words = sum(
        kind == CONTROL and token.isalnum()
        for token, kind in zip(vocabulary.tokens, types, strict=False)
    )
    if words > PLAIN_CONTROLS:
        yield Hit.at_name(subject, TOKENS, f"{words:,} control tokens look like plain words.")
