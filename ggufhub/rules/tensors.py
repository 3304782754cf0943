"""Tensors: has a model those that its architecture needs, and no others, in the right shapes?

What the reference demands: ``load_arch_tensors`` of each architecture, llama.cpp 0c1e57098 (table
``tensors``). It stops at a tensor that is missing or misshapen, and where it has not taken in
every tensor there is.
"""

import re
from collections import defaultdict
from collections.abc import Iterator

from ggufhub.formats.header import Tensor
from ggufhub.formats.naming import tensor_block
from ggufhub.rules.expected import VOCABULARY_TENSORS, Expected, Plan, has_token_rows
from ggufhub.rules.heads import TENSORS_NEEDED
from ggufhub.rules.model_samples import EMBEDDING, Entry, llama, llama_tensors
from ggufhub.rules.registry import Hit, Severity, Truth, model_rule
from ggufhub.rules.subject import Subject
from ggufhub.rules.tables import table

TRIED = frozenset({"llama", "gemma3", "qwen2", "internlm2"})
"""Architectures whose table was tried on published files; elsewhere TEN002 only warns."""

ONE_EXPERT = re.compile(r"^blk\.\d+\.ffn_(?:gate|up|down)\.\d+\.weight$")
"""One tensor for each expert, as converters wrote them before April 2024."""

OTHER_PARTS = ("v.", "a.", "mm.", "mtp.")
"""Vision, sound, projector and prediction parts that Ollama keeps in the same file."""

_FREE = ("comfy.",)
"""Beginnings of names that carry no weights of the network."""

_BLOCKS = re.compile(r"^(?:enc\.)?blk\.")
"""Tensors of blocks that ``block_count`` counts; decoders beside an encoder count their own."""


@model_rule(
    "TEN001",
    "Tensor missing",
    Severity.ERROR,
    Truth.INVALID,
    needs=TENSORS_NEEDED,
    help="The architecture needs this tensor and the loader stops without it. Some are needed only "
    "under conditions (experts, a low-rank projection); those count where the condition is sure. "
    "Fused and separate query, key and value tensors are equally good.",
    fix="Convert again; a tensor was left out or renamed.",
    failing=lambda: llama(tensors={"blk.1.ffn_down.weight": None}),
    passing=llama,
)
def missing_tensor(subject: Subject) -> Iterator[Hit]:
    plan = subject.plan
    if plan is None:
        return
    absent = set(_missing_blocks(subject, plan))
    split_experts = any(ONE_EXPERT.match(name) for name in subject.names)
    told: set[str] = set()
    for line in plan:
        excused = split_experts and "_exps" in line.name
        present = line.name in subject.names or line.name in told
        if not line.required or present or excused:
            continue
        if tensor_block(line.name) in absent and _BLOCKS.match(line.name):
            continue
        told.add(line.name)
        shape = _shown(line)
        message = f"{line.name} is missing."
        yield Hit(message, tensor=line.name, expected=shape, actual="tensor absent")


def _shown(line: Expected) -> str | None:
    known = all(isinstance(dimension, int) for dimension in line.shape)
    return " x ".join(str(dimension) for dimension in line.shape) if known else None


def _missing_blocks(subject: Subject, plan: Plan) -> list[int]:
    """Blocks that need tensors and have none at all."""
    needed = {
        tensor_block(line.name) for line in plan if line.required and _BLOCKS.match(line.name)
    }
    present = {tensor_block(name) for name in subject.names}
    return sorted(block for block in needed - present if block is not None)


def _surplus(subject: Subject, plan: Plan) -> dict[int, list[Tensor]]:
    """Tensors by block beyond the number of blocks that the keys state."""
    hyper = plan.hyper
    stated = subject.number(hyper.key_name("block_count"))
    found: dict[int, list[Tensor]] = defaultdict(list)
    for tensor in subject.tensors:
        block = tensor_block(tensor.name)
        if block is None or stated is None or block < stated or not _BLOCKS.match(tensor.name):
            continue
        if not plan.by_name.get(tensor.name):
            found[block].append(tensor)
    return found


@model_rule(
    "TEN002",
    "Unexpected tensor",
    Severity.ERROR,
    Truth.INVALID,
    needs=TENSORS_NEEDED,
    help="The loader counts the tensors it takes in and stops with “wrong number of tensors” where "
    "some are left. A misspelt name leaves two findings: one missing, one too many. For "
    "architectures whose table was never tried on a published file, and for names that converters "
    "know, this is a warning. Scales beside weights, and tensors that predict further tokens, are "
    "let through.",
    fix="Convert again with a current converter, or remove the tensor.",
    failing=lambda: llama(tensors={"blk.0.attn_gate.weight": ((EMBEDDING, 4), 0)}),
    passing=lambda: llama(tensors={"blk.0.attn_q.scale": ((1,), 0)}),
)
def unexpected_tensor(subject: Subject) -> Iterator[Hit]:
    plan = subject.plan
    if plan is None:
        return
    architecture = plan.hyper.architecture
    written = set(table("converter")["architectures"].get(architecture, ()))
    surplus = {t.name for tensors in _surplus(subject, plan).values() for t in tensors}
    for tensor in subject.tensors:
        judged_elsewhere = tensor.name in surplus or _let_through(tensor.name)
        if judged_elsewhere or plan.uses(tensor.name) is not False:
            continue
        sure = architecture in TRIED and _general(tensor.name) not in written
        severity = None if sure else Severity.WARNING
        message = f"{architecture} has no tensor {tensor.name} here."
        actual = " x ".join(map(str, tensor.shape))
        yield Hit.at_tensor(tensor, message, expected="absent", actual=actual, severity=severity)


def _general(name: str) -> str:
    """A tensor's name without block and suffix, as the table ``converter`` has it."""
    return re.sub(r"\.\d+\.", ".N.", re.sub(r"\.(?:weight|bias)$", "", name), count=1)


def _let_through(name: str) -> bool:
    """Whether other rules judge the name, or none needs to."""
    special = name.startswith((*OTHER_PARTS, *_FREE)) or ".nextn." in name
    return special or ONE_EXPERT.match(name) is not None


@model_rule(
    "TEN003",
    "Blocks do not match their number",
    Severity.ERROR,
    Truth.INVALID,
    needs=TENSORS_NEEDED,
    help="`block_count` says how many blocks there are, numbered from 0; blocks that predict "
    "further tokens count too. A block too few is missing for the loader, a block too many is "
    "left over.",
    fix="Correct block_count, or convert again.",
    failing=lambda: llama({"llama.block_count": 1}),
    passing=llama,
)
def wrong_blocks(subject: Subject) -> Iterator[Hit]:
    plan = subject.plan
    if plan is None:
        return
    stated = subject.number(plan.hyper.key_name("block_count"))
    expected = f"blocks 0 to {(stated or 0) - 1}"
    for block in _missing_blocks(subject, plan):
        message = f"Block {block} of {stated} has no tensors."
        yield Hit(message, tensor=f"blk.{block}", expected=expected, actual="block absent")
    for block, tensors in sorted(_surplus(subject, plan).items()):
        message = f"Block {block} has {len(tensors)} tensors, but there are {stated} blocks."
        yield Hit.at_tensor(tensors[0], message, expected=expected, actual=f"block {block}")


def _old_experts() -> bytes:
    """A llama with experts as files had them before April 2024."""
    tensors: dict[str, Entry | None] = {}
    for name, (shape, kind) in llama_tensors().items():
        if ".ffn_" in name and "norm" not in name:
            tensors[name] = None
            for expert in (0, 1):
                tensors[name.replace(".weight", f".{expert}.weight")] = (shape, kind)
    for block in (0, 1):
        tensors[f"blk.{block}.ffn_gate_inp.weight"] = ((EMBEDDING, 2), 0)
    return llama({"llama.expert_count": 2, "llama.expert_used_count": 1}, tensors)


@model_rule(
    "TEN004",
    "One tensor for each expert",
    Severity.ERROR,
    Truth.INVALID,
    needs=TENSORS_NEEDED,
    help="Until April 2024 converters wrote one tensor for each expert. Loaders want all experts "
    "of a block in one tensor, `ffn_gate_exps` and so on, and no longer read the old form.",
    fix="Convert again with a current converter.",
    failing=_old_experts,
    passing=llama,
)
def split_experts(subject: Subject) -> Iterator[Hit]:
    old = [tensor for tensor in subject.tensors if ONE_EXPERT.match(tensor.name)]
    if old and subject.hyper is not None:
        yield Hit.at_tensor(
            old[0],
            f"{len(old):,} tensors hold one expert each.",
            expected="ffn_*_exps.weight with all experts of a block",
            actual=old[0].name,
        )


@model_rule(
    "TEN005",
    "Tensor of the wrong shape",
    Severity.ERROR,
    Truth.INVALID,
    needs=TENSORS_NEEDED,
    help="The shape of every tensor follows from the hyper-parameters: width, heads, feed-forward "
    "width, experts. The loader compares all dimensions. Either the tensor or a key is wrong; "
    "where many tensors are, it is a key. Shapes that depend on something unknown are not judged.",
    fix="Convert again; keys and tensors belong to different models.",
    failing=lambda: llama(tensors={"blk.0.ffn_gate.weight": ((EMBEDDING, 60), 0)}),
    passing=llama,
)
def wrong_shape(subject: Subject) -> Iterator[Hit]:
    plan = subject.plan
    for tensor in subject.tensors if plan is not None else ():
        assert plan is not None
        lines = [line for line in plan.by_name.get(tensor.name, []) if line.used is not False]
        if not lines or not all(_is_sure(line) for line in lines):
            continue
        if any(_fits(tensor, line) for line in lines) or _only_rows_differ(plan, tensor):
            continue
        expected = _shown(lines[0])
        actual = " x ".join(map(str, tensor.shape))
        message = f"{tensor.name} is {actual}; the keys say {expected}."
        yield Hit.at_tensor(tensor, message, expected=expected, actual=actual)


def _is_sure(line: Expected) -> bool:
    return line.used is True and _shown(line) is not None


def _fits(tensor: Tensor, line: Expected) -> bool:
    wanted = [dimension for dimension in line.shape if isinstance(dimension, int)]
    if line.reshaped:
        elements = 1
        for dimension in wanted:
            elements *= dimension
        return tensor.elements == elements
    return _four(list(tensor.shape)) == _four(wanted)


def _four(shape: list[int]) -> list[int]:
    """A shape with the dimensions of 1 that the reference adds."""
    return shape + [1] * (4 - len(shape))


def _only_rows_differ(plan: Plan, tensor: Tensor) -> bool:
    """Whether the rows alone are wrong of a tensor whose rows TOK002 judges."""
    if tensor.name not in VOCABULARY_TENSORS or len(tensor.shape) != 2:
        return False
    same_width = tensor.shape[0] == plan.by_name[tensor.name][0].shape[0]
    return same_width and has_token_rows(plan.hyper.architecture, tensor.name)


@model_rule(
    "TEN006",
    "Parts of another model in the file",
    Severity.ERROR,
    Truth.INVALID,
    needs=TENSORS_NEEDED,
    help="Ollama keeps the vision or sound part of a model in the same file. Its own engine loads "
    "that; llama.cpp wants such parts in a file of their own (mmproj) and stops with “wrong number "
    "of tensors”.",
    fix="Take the file from the original repository, with its mmproj file, or load it in Ollama.",
    failing=lambda: llama(tensors={"v.patch_embd.weight": ((16, 16, 3, 32), 0)}),
    passing=llama,
)
def other_parts(subject: Subject) -> Iterator[Hit]:
    plan = subject.plan
    if plan is None:
        return
    for prefix in OTHER_PARTS:
        found = [
            tensor
            for tensor in subject.tensors
            if tensor.name.startswith(prefix) and plan.uses(tensor.name) is False
        ]
        if found:
            message = f"{len(found):,} tensors begin with {prefix} and belong to another part."
            yield Hit.at_tensor(found[0], message, expected="a file of their own")


def _old_latent() -> bytes:
    """A deepseek2 that keeps keys and values in one projection."""
    tensors = {"blk.0.attn_kv_b.weight": ((16, 64), 0)}
    return llama(tensors=tensors, arch="deepseek2")


@model_rule(
    "TEN007",
    "Old layout of latent attention",
    Severity.INFO,
    Truth.PORTABILITY,
    needs=TENSORS_NEEDED,
    help="Models with latent attention (DeepSeek) converted before April 2025 keep keys and values "
    "in one tensor `attn_kv_b`; newer files split it into `attn_k_b` and `attn_v_b`, which "
    "llama.cpp runs much faster. It loads both.",
    fix="Convert again for speed.",
    failing=_old_latent,
    passing=lambda: llama(tensors={"blk.0.attn_k_b.weight": ((16, 64), 0)}, arch="deepseek2"),
    runtimes=("llama.cpp", "ktransformers"),
)
def old_latent_attention(subject: Subject) -> Iterator[Hit]:
    old = [tensor for tensor in subject.tensors if tensor.name.endswith(".attn_kv_b.weight")]
    if old and subject.hyper is not None:
        message = f"{len(old):,} blocks keep keys and values in attn_kv_b."
        yield Hit.at_tensor(old[0], message, expected="attn_k_b and attn_v_b", actual=old[0].name)


@model_rule(
    "TEN008",
    "Output shares the token embeddings",
    Severity.INFO,
    Truth.PORTABILITY,
    needs=TENSORS_NEEDED,
    help="There is no `output.weight`; the architecture then takes `token_embd.weight` for both "
    "ends, as the model was trained. Small models do so to save memory. CMP003 is about programs "
    "that do not.",
    fix="Nothing, if the model was trained with tied embeddings.",
    failing=lambda: llama(tensors={"output.weight": None}),
    passing=llama,
    runtimes=("mistral.rs", "others"),
)
def tied_output(subject: Subject) -> Iterator[Hit]:
    tensor = tied_embedding(subject)
    if tensor is not None:
        message = "There is no output.weight: token_embd.weight serves for both."
        yield Hit.at_tensor(tensor, message)


def tied_embedding(subject: Subject) -> Tensor | None:
    """The embedding, where it is the output as well: the architecture has one, and may lack it."""
    plan = subject.plan
    if plan is None or "output.weight" in subject.names:
        return None
    lines = [line for line in plan.by_name.get("output.weight", []) if line.used]
    if not lines or any(line.required for line in lines):
        return None
    return next((t for t in subject.tensors if t.name == "token_embd.weight"), None)
