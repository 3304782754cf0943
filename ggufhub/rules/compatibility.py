"""Compatibility: which runtimes may not read the model, though current llama.cpp does.

Every rule here rests on a report of a program that failed on such a file.
"""

from collections.abc import Iterator

from ggufhub.formats.tensor_types import type_name
from ggufhub.rules.heads import TENSORS_NEEDED
from ggufhub.rules.model_samples import llama, llama_tensors
from ggufhub.rules.registry import Hit, Need, Severity, Truth, model_rule
from ggufhub.rules.split import COUNT, good_set
from ggufhub.rules.subject import Subject
from ggufhub.rules.tables import table
from ggufhub.rules.tensors import tied_embedding
from ggufhub.rules.tokenizer_samples import bpe
from ggufhub.rules.vocabulary import PRE

NEWER_TYPES = frozenset({"TQ1_0", "TQ2_0", "MXFP4", "NVFP4", "Q1_0", "Q2_0"})
"""Types added after the K and IQ quants; readers made before them refuse the file."""

PER_LAYER = ("attention.head_count", "attention.head_count_kv", "feed_forward_length")
"""Hyper-parameters that may be arrays, one value a layer (``src/llama-model.cpp``)."""

TENSORS = (Need.TENSORS, Need.SHARDS)


def _with_type(kind: int) -> bytes:
    shape, _ = llama_tensors()["blk.0.ffn_up.weight"]
    return llama(tensors={"blk.0.ffn_up.weight": ((32, *shape[1:]), kind)})


@model_rule(
    "CMP001",
    "Tensor type that older runtimes lack",
    Severity.INFO,
    Truth.PORTABILITY,
    needs=TENSORS,
    help="The model uses a tensor type that was added late. Programs with an older copy of ggml "
    "refuse the whole file with “invalid ggml type”.",
    fix="Update the runtime, or use a quant of the common types.",
    failing=lambda: _with_type(39),
    passing=llama,
    runtimes=("older llama.cpp", "ollama", "LM Studio"),
)
def new_type(subject: Subject) -> Iterator[Hit]:
    names = {type_name(tensor.type): tensor for tensor in subject.tensors}
    for name in sorted(NEWER_TYPES & set(names)):
        message = f"{name} needs a runtime that knows it."
        yield Hit.at_tensor(names[name], message, actual=name)


@model_rule(
    "CMP002",
    "Rope factors in a tensor",
    Severity.INFO,
    Truth.PORTABILITY,
    needs=TENSORS,
    help="`rope_freqs.weight` carries factors for long contexts since Llama 3.1. Runtimes from "
    "before it count tensors and stop with “wrong number of tensors”.",
    fix="Update the runtime.",
    failing=lambda: llama(tensors={"rope_freqs.weight": ((4,), 0)}),
    passing=llama,
    runtimes=("older llama.cpp",),
)
def rope_factors(subject: Subject) -> Iterator[Hit]:
    for tensor in subject.tensors:
        if tensor.raw_name == b"rope_freqs.weight":
            yield Hit.at_tensor(tensor, "Runtimes older than Llama 3.1 refuse this tensor.")


@model_rule(
    "CMP003",
    "Some programs ask for an output tensor",
    Severity.INFO,
    Truth.PORTABILITY,
    needs=TENSORS_NEEDED,
    help="There is no `output.weight`, and llama.cpp takes the embedding for it (TEN008). Other "
    "programs may not know that for this architecture: they ask for the tensor and stop.",
    fix="Nothing for llama.cpp. For other programs convert with the output as a tensor of its own.",
    failing=lambda: llama(tensors={"output.weight": None}),
    passing=llama,
    runtimes=("mistral.rs", "others"),
)
def tied_output(subject: Subject) -> Iterator[Hit]:
    tensor = tied_embedding(subject)
    if tensor is not None:
        yield Hit.at_tensor(tensor, "Programs that ask for output.weight do not load this.")


@model_rule(
    "CMP004",
    "Hyper-parameters given for each layer",
    Severity.INFO,
    Truth.PORTABILITY,
    needs=(Need.KEYS,),
    help="Head counts or feed-forward sizes are arrays with a value for each layer, which is "
    "allowed. Programs that expect one number fail on the type.",
    fix="Update the runtime.",
    failing=lambda: llama({"llama.attention.head_count_kv": [2, 2]}),
    passing=llama,
    runtimes=("older ollama", "candle"),
)
def per_layer(subject: Subject) -> Iterator[Hit]:
    architecture = subject.text("general.architecture")
    for name in PER_LAYER:
        key = subject.find(f"{architecture}.{name}")
        if key is not None and key.array is not None:
            yield Hit.at_key(
                key, f"{key.name} has {key.array.count} values.", actual=key.type_label
            )


@model_rule(
    "CMP005",
    "Pre-tokenizer that another runtime lacks",
    Severity.INFO,
    Truth.PORTABILITY,
    needs=(Need.TOKENS,),
    help="Runtimes know pre-tokenizers by name and refuse others, and every new family brings one. "
    "Compared with the names that ik_llama.cpp knew in August 2026.",
    fix="Update the runtime.",
    failing=lambda: bpe(pre="minicpm5"),
    passing=bpe,
    runtimes=("ik_llama.cpp",),
)
def new_pre_tokenizer(subject: Subject) -> Iterator[Hit]:
    key, pre = subject.find(PRE), subject.vocabulary.pre
    absent = table("runtimes")["pre_tokenizers_absent_from_ik_llama_cpp"]["names"]
    if key is not None and subject.vocabulary.model == "gpt2" and pre in absent:
        yield Hit.at_key(key, f"ik_llama.cpp does not know the pre-tokenizer {pre}.", actual=pre)


@model_rule(
    "CMP006",
    "Split models cannot be pulled by Ollama",
    Severity.INFO,
    Truth.PORTABILITY,
    needs=(Need.KEYS,),
    help="Ollama does not pull split models from a hub; its create command merges local shards.",
    fix="For Ollama merge the shards with llama-gguf-split --merge.",
    failing=good_set,
    passing=llama,
    runtimes=("ollama",),
)
def not_pullable(subject: Subject) -> Iterator[Hit]:
    key = subject.find(COUNT)
    if key is not None and (subject.number(COUNT) or 0) > 1:
        yield Hit.at_key(key, f"The model has {key.value!r} shards.", actual=str(key.value))


@model_rule(
    "CMP007",
    "Latent attention in the newer layout",
    Severity.INFO,
    Truth.PORTABILITY,
    needs=TENSORS,
    help="The key and value projections of latent attention are split into `attn_k_b` and "
    "`attn_v_b`. Programs that know only the older `attn_kv_b` do not find their tensor.",
    fix="Use a file of the older layout with such programs.",
    failing=lambda: llama(tensors={"blk.0.attn_k_b.weight": ((32, 32), 0)}),
    passing=llama,
    runtimes=("ktransformers", "older llama.cpp"),
)
def latent_layout(subject: Subject) -> Iterator[Hit]:
    for tensor in subject.tensors:
        if tensor.name.endswith("attn_k_b.weight"):
            yield Hit.at_tensor(tensor, "The file has the newer layout of latent attention.")
            return
