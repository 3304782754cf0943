"""Hyper-parameters that load and are likely wrong: lengths, bases, epsilons, pooling.

What models of a family have in common is taken from their published configurations.
"""

import math
from collections.abc import Iterator

from ggufhub.formats.header import Key
from ggufhub.formats.kind import MODEL
from ggufhub.rules.heads import TENSORS_NEEDED
from ggufhub.rules.hyperparameters import KEYS_NEEDED
from ggufhub.rules.model_samples import TOKENS, llama
from ggufhub.rules.registry import Hit, Severity, Truth, model_rule
from ggufhub.rules.subject import Subject

FREQ_BASE = "rope.freq_base"

LARGEST_EPSILON = 1e-2
"""Published models have 1e-3 at most."""

LONGEST_CONTEXT = 1 << 24
"""Contexts of ten million tokens exist."""

OTHER_FREQ_BASE = frozenset(
    {
        *("qwen2", "qwen2moe", "qwen2vl", "qwen3", "qwen3moe", "qwen3vl", "qwen3vlmoe"),
        *("qwen3next", "qwen35", "qwen35moe", "gemma3", "starcoder2"),
    }
)
"""Architectures whose models were trained with another frequency base than the default 10,000."""

LLAMA_VOCABULARIES = {128_256: "Llama 3", 32_016: "Code Llama"}
"""Sizes of vocabularies of llama models with another frequency base than the default."""

STRETCHED = {"deepseek2": 4_096, "deepseek32": 4_096, "deepseek4": 65_536, "gpt-oss": 4_096}
"""Architectures whose long contexts come from YaRN, and a length that they reach without it."""

DEFAULT_FREQ_BASE = 10_000.0

EMBEDDERS = frozenset(
    {
        *("bert", "nomic-bert", "nomic-bert-moe", "jina-bert-v2", "jina-bert-v3"),
        *("modern-bert", "neo-bert", "eurobert"),
    }
)
"""Architectures of models that turn texts into vectors."""

RANK = 4
"""``LLAMA_POOLING_TYPE_RANK`` in ``include/llama.h``."""


def _float(key: Key | None) -> float | None:
    value = None if key is None or key.array is not None else key.value
    return value if isinstance(value, float) else None


@model_rule(
    "HYP011",
    "Impossible base, epsilon or factor",
    Severity.WARNING,
    Truth.ADVICE,
    needs=KEYS_NEEDED,
    help="A frequency base or scaling factor of 0 or less, an epsilon of 0 or of more than 0.01, "
    "or no number at all. The file loads, and every result is nonsense; a negative epsilon "
    "aborts the program at the first token.",
    fix="Convert again from the original config.json.",
    failing=lambda: llama({"llama.attention.layer_norm_rms_epsilon": 0.0}),
    passing=llama,
)
def impossible_numbers(subject: Subject) -> Iterator[Hit]:
    hyper = subject.hyper
    if hyper is None:
        return
    for name, most in (
        (FREQ_BASE, math.inf),
        ("rope.freq_base_swa", math.inf),
        ("rope.scaling.factor", math.inf),
        ("attention.layer_norm_epsilon", LARGEST_EPSILON),
        ("attention.layer_norm_rms_epsilon", LARGEST_EPSILON),
        ("attention.group_norm_epsilon", LARGEST_EPSILON),
    ):
        key = subject.find(hyper.key_name(name))
        value = _float(key)
        if key is None or value is None:
            continue
        if not 0 < value <= most or math.isinf(value):
            expected = "above 0" if most == math.inf else f"above 0, at most {most}"
            # The norm asserts that epsilon is not negative, and NaN is not either: it aborts.
            aborts = "epsilon" in name and not value >= 0
            yield Hit.at_key(
                key,
                f"{key.name} is {value:g}.",
                expected=expected,
                actual=f"{value:g}",
                severity=Severity.ERROR if aborts else Severity.WARNING,
            )


@model_rule(
    "HYP012",
    "Unlikely context length",
    Severity.WARNING,
    Truth.ADVICE,
    needs=KEYS_NEEDED,
    help="A context of 0 or 1 tokens, of more than 16 million, or shorter than the one the model "
    "was trained with. Programs take it as the largest context they offer.",
    fix="Correct context_length, or the original length of the scaling.",
    failing=lambda: llama({"llama.context_length": 0}),
    passing=llama,
)
def unlikely_context(subject: Subject) -> Iterator[Hit]:
    hyper = subject.hyper
    if hyper is None:
        return
    name = hyper.key_name("context_length")
    length = subject.number(name)
    if length is None:
        return
    if not 1 < length <= LONGEST_CONTEXT:
        message = f"The context length is {length:,}."
        yield Hit.at_name(
            subject, name, message, expected=f"2 to {LONGEST_CONTEXT:,}", actual=f"{length}"
        )
    original_name = hyper.key_name("rope.scaling.original_context_length")
    original = subject.number(original_name)
    if original is not None and original > length:
        message = f"The context was {original:,} before it was stretched to {length:,}."
        expected = f"at most {length}"
        yield Hit.at_name(subject, original_name, message, expected=expected, actual=f"{original}")


@model_rule(
    "HYP014",
    "Frequency base missing",
    Severity.WARNING,
    Truth.ADVICE,
    needs=KEYS_NEEDED,
    help="Models of this family were trained with another frequency base than 10,000, which "
    "loaders take where `rope.freq_base` is absent. Output then falls apart after a few hundred "
    "tokens.",
    fix="Write rope.freq_base (float32) as rope_theta of config.json says.",
    failing=lambda: llama(arch="qwen2"),
    passing=lambda: llama({"qwen2.rope.freq_base": 1e6}, arch="qwen2"),
)
def no_freq_base(subject: Subject) -> Iterator[Hit]:
    hyper = subject.hyper
    if hyper is None or subject.find(hyper.key_name(FREQ_BASE)) is not None:
        return
    family = hyper.architecture if hyper.architecture in OTHER_FREQ_BASE else None
    if hyper.architecture == "llama":
        family = LLAMA_VOCABULARIES.get(subject.vocabulary.size)
    if family is not None:
        name = hyper.key_name(FREQ_BASE)
        message = f"{name} is missing; {family} models have another base than the default 10,000."
        yield Hit(message, key=name, expected="the base of training", actual="key absent")


@model_rule(
    "HYP015",
    "Scaling of a stretched context missing",
    Severity.WARNING,
    Truth.ADVICE,
    needs=KEYS_NEEDED,
    help="Models of this family reach long contexts by YaRN, and the file has no `rope.scaling` "
    "keys. It loads, and is worse the longer the context grows.",
    fix="Convert again with a converter that reads rope_parameters of config.json.",
    failing=lambda: llama({"gpt-oss.context_length": 131_072}, arch="gpt-oss"),
    passing=lambda: llama(
        {"gpt-oss.context_length": 131_072, "gpt-oss.rope.scaling.type": "yarn"}, arch="gpt-oss"
    ),
)
def no_scaling(subject: Subject) -> Iterator[Hit]:
    hyper = subject.hyper
    plain = None if hyper is None else STRETCHED.get(hyper.architecture)
    if hyper is None or plain is None:
        return
    name = hyper.key_name("context_length")
    length, prefix = subject.number(name), hyper.key_name("rope.scaling.")
    assert subject.header is not None
    if length is None or length <= 2 * plain:
        return
    # Others use the architecture with a base that reaches far without stretching.
    base = _float(subject.find(hyper.key_name(FREQ_BASE))) or DEFAULT_FREQ_BASE
    natural = hyper.architecture != "gpt-oss" and base > DEFAULT_FREQ_BASE
    if not natural and not any(key.name.startswith(prefix) for key in subject.header.keys):
        message = f"The context is {length:,}, and no {prefix}* key says how it was stretched."
        yield Hit.at_name(subject, name, message, expected=f"{prefix}type", actual="keys absent")


def _llama3(**changes: object) -> bytes:
    """A llama that looks like Llama 3.1: its vocabulary size, base and context."""
    tokens = [*TOKENS, *(f"[{number}]" for number in range(128_256 - len(TOKENS)))]
    keys = {
        "llama.context_length": 131_072,
        "llama.rope.freq_base": 500_000.0,
        "tokenizer.ggml.tokens": tokens,
        "tokenizer.ggml.scores": None,
        "tokenizer.ggml.token_type": None,
    }
    shape = ((32, len(tokens)), 2)
    tensors = {"token_embd.weight": shape, "output.weight": shape}
    return llama(keys | changes, tensors)


@model_rule(
    "HYP016",
    "Frequency factors of Llama 3.1 missing",
    Severity.WARNING,
    Truth.ADVICE,
    needs=TENSORS_NEEDED,
    help="Llama 3.1 stretches its context by a factor for each frequency, which files carry as the "
    "tensor `rope_freqs.weight`. Without it long contexts get worse. Llama 3 with its 8,192 "
    "tokens has none.",
    fix="Convert again with a converter from August 2024 or later.",
    failing=lambda: _llama3(),
    passing=lambda: _llama3(**{"llama.context_length": 8_192}),
)
def no_frequency_factors(subject: Subject) -> Iterator[Hit]:
    hyper = subject.hyper
    if hyper is None or hyper.architecture != "llama" or "rope_freqs.weight" in subject.names:
        return
    name = hyper.key_name("context_length")
    base = _float(subject.find(hyper.key_name(FREQ_BASE)))
    scaled = any(scaling.startswith("rope_factors") for scaling in subject.names)
    long = (subject.number(name) or 0) >= 131_072
    if base == 500_000 and subject.vocabulary.size == 128_256 and long and not scaled:
        message = "It looks like Llama 3.1, but rope_freqs.weight is missing."
        yield Hit.at_name(
            subject, name, message, expected="rope_freqs.weight", actual="tensor absent"
        )


@model_rule(
    "HYP017",
    "Pooling not stated",
    Severity.WARNING,
    Truth.ADVICE,
    needs=TENSORS_NEEDED,
    help="Models for embedding and ranking end in one vector or score, and `pooling_type` says "
    "how it is made of the tokens. Without it llama.cpp gives one vector a token, and ranking "
    "without its head (`cls` tensors, pooling 4) gives scores near 0.",
    fix="Convert again with a current converter, or state the pooling on the command line.",
    failing=lambda: llama({"general.name": "Sample Embedding"}),
    passing=lambda: llama({"general.name": "Sample Embedding", "llama.pooling_type": 3}),
)
def no_pooling(subject: Subject) -> Iterator[Hit]:
    hyper = subject.hyper
    if hyper is None or subject.kind != MODEL:
        return
    said = f"{subject.text('general.name')} {subject.text('general.basename')}".lower()
    name = hyper.key_name("pooling_type")
    pooling = subject.number(name)
    ranks = "rerank" in said
    if subject.find(name) is None and (hyper.architecture in EMBEDDERS or ranks or "embed" in said):
        message = f"{name} is missing."
        yield Hit(message, key=name, expected="1 to 4", actual="key absent")
    elif ranks and pooling != RANK and not any(t.startswith("cls") for t in subject.names):
        message = "The model is to rank, but has no head for it, and its pooling is another."
        yield Hit.at_name(subject, name, message, expected=f"{RANK}", actual=f"{pooling}")
