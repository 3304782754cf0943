"""A small model of any architecture, made from the tables alone."""

from typing import Any

from ggufhub.rules.expected import Plan
from ggufhub.rules.hparams import LoadedHyperparameters
from ggufhub.rules.model_samples import TOKENS, assemble
from ggufhub.rules.tables import table
from tests.core.reading import read

BLOCKS = 4

SIZES: dict[str, Any] = {
    "context_length": 128,
    "embedding_length": 64,
    "block_count": BLOCKS,
    "feed_forward_length": 128,
    "attention.head_count": 4,
    "attention.head_count_kv": 2,
    "attention.sliding_window": 32,
    "attention.sliding_window_pattern": [1, 0, 1, 0],
    "attention.q_lora_rank": 24,
    "attention.kv_lora_rank": 16,
    "attention.key_length_mla": 24,
    "attention.value_length_mla": 16,
    "expert_feed_forward_length": 32,
    "expert_shared_feed_forward_length": 32,
    "expert_shared_count": 1,
    "expert_gating_func": 2,
    "leading_dense_block_count": 1,
    "rope.dimension_count": 16,
    "rope.dimension_sections": [4, 4, 4, 0],
    "ssm.inner_size": 128,
    "ssm.state_size": 16,
    "ssm.conv_kernel": 4,
    "ssm.time_step_rank": 8,
    "ssm.group_count": 2,
    "wkv.head_size": 16,
}
"""Values that fit each other, by the key's name without the architecture."""

EVERYWHERE = (
    *("context_length", "embedding_length", "block_count", "feed_forward_length"),
    *("attention.head_count", "attention.head_count_kv"),
)

_LATENT = {
    "rope.dimension_count": 8,
    "attention.key_length_mla": 24,
    "attention.value_length_mla": 16,
}
_HYBRID = {"attention.head_count_kv": [2, 0, 2, 0]}
_NEMOTRON = {
    **_HYBRID,
    "feed_forward_length": [0, 0, 128, 128],
    "expert_shared_feed_forward_length": 16,
}

OWN: dict[str, dict[str, Any]] = {
    "bailingmoe3": {"kda.gate_lower_bound": -1.0},
    "cohere2moe": {"attention.layer_norm_epsilon": 1e-5},
    "deepseek2": _LATENT,
    "deepseek32": _LATENT,
    "deepseek4": {"attention.compress_ratios": [0, 4, 128, 0], "expert_gating_func": 4},
    "dflash": {"target_layers": [1, 2, 3]},
    "dots3note": {
        **_LATENT,
        "attention.key_length_mla_swa": 24,
        "attention.value_length_mla_swa": 16,
    },
    "eagle3": {"target_layers": [1, 2, 3]},
    "gemma4-assistant": {"embedding_length_out": 96},
    "glm-dsa": _LATENT,
    "glm5-next": {"hyper_connection.count": 4, "rope.dimension_count": 8},
    "granitehybrid": _HYBRID,
    "graniteswitch": {"adapters.count": 4},
    "grovemoe": {"expert_chunk_feed_forward_length": 8, "experts_per_group": 2},
    "jamba": _HYBRID,
    "lfm2": _HYBRID,
    "mistral4": _LATENT,
    "nemotron_h": _NEMOTRON,
    "nemotron_h_moe": _NEMOTRON,
    "rwkv7": {"attention.gate_lora_rank": 8},
    "smallthinker": {"expert_feed_forward_length": 16},
    "wavtokenizer-dec": {
        "features_length": 64,
        "posnet.embedding_length": 64,
        "posnet.block_count": BLOCKS,
        "convnext.embedding_length": 64,
        "convnext.block_count": 2,
    },
}
"""What some architectures need beside or instead of the common values."""

TOLD: dict[str, dict[str, tuple[int, ...]]] = {
    "jina-bert-v2": {f"blk.{block}.ffn_up.weight": (64, 128) for block in range(BLOCKS)},
    "laguna": {f"blk.{block}.attn_gate.weight": (64, 4) for block in range(BLOCKS)},
    "rwkv6": {f"blk.{block}.time_mix_lerp_fused.weight": (64, 1, 1, 5) for block in range(BLOCKS)},
}
"""Tensors whose need or shape the tables leave open."""


def keys_of(architecture: str) -> dict[str, Any]:
    """Metadata with every key that the architecture demands."""
    own = OWN.get(architecture, {})
    general = table("keys")["general"]
    rows = table("tensors")["architectures"][architecture]["rows"]
    sizes = {name: SIZES[name] for name in EVERYWHERE}
    if any("exps" in row["name"] for row in rows):
        sizes |= {"expert_count": 4, "expert_used_count": 2}
    keys: dict[str, Any] = {}
    for step in table("keys")["architectures"][architecture]:
        if "required" in step and step["key"] not in sizes:
            value = SIZES.get(step["key"], _any_value(step))
            if step["key"] in general:
                keys[step["key"]] = value
            else:
                sizes[step["key"]] = value
    keys |= {f"{architecture}.{name}": value for name, value in {**sizes, **own}.items()}
    return {"general.architecture": architecture, **keys, **_vocabulary()}


def _any_value(step: dict[str, Any]) -> Any:
    value = {"float32": 1e-5, "bool": True, "string": "x"}.get(step.get("type", ""), 8)
    return [value] * BLOCKS if step["do"] == "list" else value


def _vocabulary() -> dict[str, Any]:
    return {
        "tokenizer.ggml.model": "llama",
        "tokenizer.ggml.tokens": list(TOKENS),
        "tokenizer.ggml.scores": [0.0] * len(TOKENS),
        "tokenizer.ggml.token_type": [2, 3, 3] + [1] * (len(TOKENS) - 3),
        "tokenizer.ggml.token_type_count": 2,
    }


class Small:
    """``data`` is the file; ``plan`` what its loader should ask for.

    ``ahead`` of its blocks are stated to predict further tokens.
    """

    def __init__(self, architecture: str, ahead: int = 0) -> None:
        keys = keys_of(architecture)
        if ahead:
            keys[f"{architecture}.nextn_predict_layers"] = ahead
        tensors = dict(TOLD.get(architecture, {}))
        hyper = LoadedHyperparameters(read(assemble(keys)), architecture, tensors.__contains__)
        self.problems = hyper.problems
        self.plan = Plan.of(hyper)
        for line in self.plan:
            if line.required and line.name not in tensors:
                tensors[line.name] = tuple(int(str(dimension)) for dimension in line.shape)
        self.plan = Plan.of(hyper)
        self.data = assemble(keys, {name: (shape, 0) for name, shape in tensors.items()})

    @property
    def asked(self) -> set[str]:
        """Names that the loader must ask for."""
        return {name for name, lines in self.plan.by_name.items() if any(x.used for x in lines)}

    @property
    def perhaps(self) -> set[str]:
        """Names that it may ask for, on conditions that nobody can judge."""
        return {
            name
            for name, lines in self.plan.by_name.items()
            if any(line.used is None for line in lines)
        }
