"""Kind: is the file what it says it is, and does it have what its kind needs?

What loaders demand: ``src/llama-adapter.cpp`` and ``tools/mtmd/clip.cpp`` of llama.cpp 0c1e57098.
"""

from collections.abc import Iterator

from ggufhub.formats import kind as kinds
from ggufhub.formats.header import Header, Tensor
from ggufhub.formats.values import ValueType
from ggufhub.rules.model_samples import assemble, llama
from ggufhub.rules.registry import Hit, Need, Severity, Truth, model_rule
from ggufhub.rules.subject import Subject

TYPE = "general.type"
ALPHA = "adapter.lora.alpha"
LORA_A, LORA_B = ".lora_a", ".lora_b"

NOT_FOR_LOADING = {
    kinds.ADAPTER: "give it with --lora beside the model it was made for",
    kinds.MMPROJ: "give it with --mmproj beside its text model",
    kinds.IMATRIX: "give it to llama-quantize with --imatrix",
    kinds.CONTROL_VECTOR: "give it with --control-vector beside its model",
    kinds.DRAFT: "give it with --model-draft beside its model",
}
"""Kinds that go with a model, and how."""

DECLARED = {
    "model": {kinds.MODEL, kinds.DRAFT, kinds.OTHER_RUNTIME, kinds.SHARD},
    "adapter": {kinds.ADAPTER},
    "mmproj": {kinds.MMPROJ},
    "imatrix": {kinds.IMATRIX},
    "vocab": {kinds.VOCAB},
}
"""Kinds that fit each value of ``general.type`` (``GGUFType`` of gguf-py)."""


def _adapter(
    keys: dict[str, object] | None = None, tensors: dict[str, tuple[int, ...] | None] | None = None
) -> bytes:
    """A sound LoRA adapter of one pair, with some of it replaced or left out."""
    all_keys: dict[str, object] = {
        "general.architecture": "llama",
        TYPE: "adapter",
        "adapter.type": "lora",
        ALPHA: 16.0,
    }
    shapes: dict[str, tuple[int, ...] | None] = {
        "blk.0.attn_q.weight.lora_a": (32, 4),
        "blk.0.attn_q.weight.lora_b": (4, 32),
    }
    shapes |= tensors or {}
    rows = {name: None if shape is None else (shape, 0) for name, shape in shapes.items()}
    return assemble(all_keys | (keys or {}), rows)


def _projector(**keys: object) -> bytes:
    named = {f"clip.{name}": value for name, value in keys.items()}
    return assemble({"general.architecture": "clip", **named}, {"mm.0.weight": ((32, 32), 0)})


@model_rule(
    "KND001",
    "Goes with a model",
    Severity.INFO,
    Truth.PORTABILITY,
    needs=(Need.KEYS,),
    help="Adapters, projectors, importance matrices, control vectors and draft models are GGUF "
    "files too, but a loader that is given one as the model refuses it. If the file even calls "
    "itself a model, programs will try.",
    fix="Use it together with its model, as the message says.",
    failing=_adapter,
    passing=llama,
)
def companion(subject: Subject) -> Iterator[Hit]:
    how = NOT_FOR_LOADING.get(subject.kind)
    if how is None:
        return
    claims = subject.text(TYPE) == "model" and subject.kind != kinds.DRAFT
    yield Hit(
        f"This is {_article(subject.kind)}: {how}.",
        key=TYPE if claims else "general.architecture",
        actual=subject.kind,
        severity=Severity.ERROR if claims else Severity.INFO,
    )


def _article(kind: str) -> str:
    return f"an {kind}" if kind[0] in "aeiou" else f"a {kind}"


@model_rule(
    "KND003",
    "Calls itself another kind",
    Severity.WARNING,
    Truth.ADVICE,
    needs=(Need.KEYS,),
    help="`general.type` says one kind and the contents are another. Loaders look at the contents; "
    "hubs and model managers at the key.",
    fix="Correct general.type, for example with gguf_set_metadata.py.",
    failing=lambda: llama({TYPE: "mmproj"}),
    passing=llama,
    runtimes=("hubs",),
)
def wrong_kind(subject: Subject) -> Iterator[Hit]:
    key = subject.find(TYPE)
    declared = subject.text(TYPE)
    fitting = DECLARED.get(declared or "")
    if key is None or fitting is None or subject.kind in fitting or subject.kind == kinds.UNKNOWN:
        return
    if declared == "model" and subject.kind in (*NOT_FOR_LOADING, kinds.VOCAB):
        return  # KND001 says so; vocabularies are written as models by all converters
    yield Hit.at_key(
        key,
        f"general.type says {declared}, but this is {_article(subject.kind)}.",
        expected=subject.kind,
        actual=declared,
    )


@model_rule(
    "KND004",
    "Adapter that loaders refuse",
    Severity.ERROR,
    Truth.INVALID,
    needs=(Need.TENSORS,),
    help="A LoRA adapter must have `general.type` adapter, `adapter.type` lora, a float32 "
    "`adapter.lora.alpha`, and at least one pair of tensors.",
    fix="Convert the adapter again with convert_lora_to_gguf.py.",
    failing=lambda: _adapter({ALPHA: None}),
    passing=_adapter,
)
def bad_adapter(subject: Subject) -> Iterator[Hit]:
    header = subject.header
    if subject.kind != kinds.ADAPTER or header is None:
        return
    for name, wanted in ((TYPE, "adapter"), ("adapter.type", "lora")):
        if header.text(name) != wanted:
            actual = header.text(name) or "absent"
            yield Hit(f"{name} is {actual}.", key=name, expected=wanted, actual=actual)
    alpha = header.find(ALPHA)
    if alpha is None or alpha.type is not ValueType.FLOAT32:
        actual = "key absent" if alpha is None else alpha.type_label
        message = f"{ALPHA} is missing or of the wrong type."
        yield Hit(message, key=ALPHA, expected="float32", actual=actual)
    if not any(tensor.name.endswith((LORA_A, LORA_B)) for tensor in header.tensors):
        yield Hit("The adapter holds no tensors of an adapter.", key=TYPE, expected="pairs")


PROJECTOR_OUTPUTS = {
    "mlp": ("mm.2.weight", 1),
    "pixtral": ("mm.2.weight", 1),
    "lfm2": ("mm.2.weight", 1),
    "kimivl": ("mm.2.weight", 1),
    "qwen2vl_merger": ("mm.2.bias", 0),
    "qwen2.5vl_merger": ("mm.2.bias", 0),
    "qwen3vl_merger": ("mm.2.bias", 0),
    "gemma3": ("mm.input_projection.weight", 0),
    "gemma4v": ("mm.input_projection.weight", 1),
    "idefics3": ("mm.model.fc.weight", 1),
    "llama4": ("mm.model.fc.weight", 1),
    "internvl": ("mm.model.mlp.3.weight", 1),
}
"""Tensor and dimension that give the width of a projector's output by its type
(``clip_n_mmproj_embd`` in ``tools/mtmd/clip.cpp``). Other types are not judged. Deepstack layers
of qwen3vl multiply both sides alike, so the plain width is compared."""


def projector_set(width: int) -> dict[str, bytes]:
    """A projector with an output of ``width`` beside the sample model, whose embedding is 32."""
    keys = {"general.architecture": "clip", "clip.projector_type": "mlp"}
    projector = assemble(keys, {"mm.2.weight": ((32, width), 0)})
    return {"mmproj-sample.gguf": projector, "sample.gguf": llama()}


@model_rule(
    "KND005",
    "Projector does not fit its model",
    Severity.ERROR,
    Truth.INVALID,
    needs=(Need.TENSORS, Need.COMPANION),
    help="What the projector puts out is as wide as the embedding of its text model, or images "
    "cannot be fed in and the loader refuses the pair. Judged where exactly one text model lies "
    "beside the projector, and for the projectors whose output is known.",
    fix="Use the projector that was published with this model.",
    failing=lambda: projector_set(64),
    passing=lambda: projector_set(32),
)
def unfitting_projector(subject: Subject) -> Iterator[Hit]:
    companion = subject.companion
    assert companion is not None and companion.header is not None
    architecture = companion.header.text("general.architecture")
    embedding = companion.header.number(f"{architecture}.embedding_length")
    tensor, width = _projector_output(subject)
    if tensor is None or embedding is None or width == embedding:
        return
    yield Hit.at_tensor(
        tensor,
        f"The projector puts out {width:,} values, {companion.name} takes {embedding:,}.",
        expected=f"{embedding:,}",
        actual=f"{width:,}",
    )


def _projector_output(subject: Subject) -> tuple[Tensor | None, int]:
    """The tensor that ends the projector, and how wide its output is."""
    kind = subject.text("clip.projector_type") or subject.text("clip.vision.projector_type")
    name, dimension = PROJECTOR_OUTPUTS.get(kind or "", ("", 0))
    tensor = next((one for one in subject.tensors if one.name == name), None)
    if tensor is None or len(tensor.shape) <= dimension:
        return None, 0
    return tensor, tensor.shape[dimension]


@model_rule(
    "KND006",
    "Adapter tensors that do not pair up",
    Severity.ERROR,
    Truth.INVALID,
    needs=(Need.TENSORS,),
    help="Every tensor of a LoRA adapter is half of a pair: `<name>.lora_a` and `<name>.lora_b`, "
    "whose inner dimensions agree. Loaders refuse halves and any other tensor but norms.",
    fix="Convert the adapter again with convert_lora_to_gguf.py.",
    failing=lambda: _adapter(tensors={"blk.0.attn_q.weight.lora_b": None}),
    passing=_adapter,
)
def unpaired(subject: Subject) -> Iterator[Hit]:
    header = subject.header
    if subject.kind != kinds.ADAPTER or header is None:
        return
    by_name = {tensor.name: tensor for tensor in header.tensors}
    for name, tensor in by_name.items():
        if name.endswith("_norm.weight"):
            continue  # the loader leaves them out
        if not name.endswith((LORA_A, LORA_B)):
            yield Hit.at_tensor(
                tensor, f"{name} is no half of a pair.", expected=".lora_a or .lora_b"
            )
            continue
        a, b = by_name.get(name[:-1] + "a"), by_name.get(name[:-1] + "b")
        if a is None or b is None:
            yield Hit.at_tensor(tensor, f"The other half of {name} is missing.")
        elif tensor is a and not _fits(a, b):
            yield Hit.at_tensor(
                a,
                f"The halves of {name[: -len(LORA_A)]} do not fit.",
                expected=f"rank {a.shape[1:2]}",
                actual=f"rank {b.shape[:1]}",
            )


def _fits(a: Tensor, b: Tensor) -> bool:
    """``a.ne[1] == b.ne[0]``, the rank (``llama-adapter.cpp``)."""
    return len(a.shape) >= 2 and len(b.shape) >= 1 and a.shape[1] == b.shape[0]


@model_rule(
    "KND007",
    "Projector without its keys",
    Severity.INFO,
    Truth.PORTABILITY,
    needs=(Need.KEYS,),
    help="A multimodal projector says what it encodes (`clip.has_vision_encoder`, "
    "`clip.has_audio_encoder`) and how (`clip.projector_type`). Old LLaVA files lack them, and "
    "the loader takes the oldest kind.",
    fix="Convert the projector again with a current converter.",
    failing=_projector,
    passing=lambda: _projector(has_vision_encoder=True, projector_type="mlp"),
)
def silent_projector(subject: Subject) -> Iterator[Hit]:
    header = subject.header
    if subject.kind != kinds.MMPROJ or header is None:
        return
    for names in (
        ("clip.has_vision_encoder", "clip.has_audio_encoder", "clip.has_gen_audio_encoder"),
        ("clip.projector_type", "clip.vision.projector_type", "clip.audio.projector_type"),
    ):
        if not _any_key(header, names):
            yield Hit(f"None of {', '.join(names)} is there.", key=names[0], actual="key absent")


def _any_key(header: Header, names: tuple[str, ...]) -> bool:
    return any(header.find(name) is not None for name in names)
