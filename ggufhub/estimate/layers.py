"""Which layers of an architecture keep what: a full cache, a window, a recurrent state, nothing.

The table follows ``load_arch_hparams`` of each model in ``src/models`` of llama.cpp 0c1e57098 and
was checked against 276 allocations that the program itself printed.
"""

from dataclasses import dataclass
from enum import Enum

from ggufhub.estimate.hyperparameters import Hyperparameters


class Cache(Enum):
    """What one layer keeps for each token it has seen."""

    FULL = "full"
    WINDOW = "window"
    NONE = "none"


@dataclass(slots=True)
class Layers:
    """One entry a layer. ``window`` is in tokens; ``known`` tells whether a rule was found."""

    caches: list[Cache]
    recurrent: list[bool]
    window: int = 0
    known: bool = True


NO_CACHE = frozenset(
    {
        "bert",
        "jina-bert-v2",
        "jina-bert-v3",
        "nomic-bert",
        "nomic-bert-moe",
        "neo-bert",
        "eurobert",
        "modern-bert",
        "gemma-embedding",
        "wavtokenizer-dec",
        "dream",
        "llada",
        "llada-moe",
        "rnd1",
    }
)

UNKNOWN_CACHE = frozenset({"deepseek4", "glm5-next", "dots3note"})
"""Compressed caches nobody has a formula for: no number is better than a wrong one."""

LAST_IS_FULL = {
    "gemma2": 2,
    "gemma3": 6,
    "gemma3n": 5,
    "gpt-oss": 2,
    "cohere2": 4,
    "llama4": 4,
    "olmo2": 4,
    "exaone4": 4,
    "exaone-moe": 4,
    "plamo3": 8,
    "afmoe": 4,
    "mellum": 4,
    "muse-glimmer": 4,
}
"""Of each n layers the last has a full cache, the others a window."""

FIRST_IS_FULL = {"cohere2moe": 4, "smallthinker": 4, "laguna": 4}

BY_PATTERN = frozenset(
    {
        "gemma4",
        "mimo2",
        "step35",
        "maple",
        "granite-swa",
        "spark2-5",
        "dflash",
        "gemma4-assistant",
    }
)
"""Architectures that carry the kind of each layer in an array."""

NEEDS_WINDOW_KEY = frozenset({"olmo2", "gemma3", "plamo3", "afmoe", "mellum"})

FIXED_WINDOW = {"smallthinker": 4096, "gemma2": 4096, "exaone4": 4096, "exaone-moe": 128}
"""Windows of architectures whose files may lack the key; smallthinker's is forced."""

LLAMA4_CHUNK = 8192

RECURRENT_ONLY = frozenset({"mamba", "mamba2", "rwkv6", "rwkv6qwen2", "rwkv7", "arwkv7"})

RECURRENT_WITHOUT_HEADS = frozenset(
    {
        "jamba",
        "granitehybrid",
        "lfm2",
        "lfm2moe",
        "plamo2",
        "kimi-linear",
        "kimi-k3",
        "bailingmoe3",
    }
)
"""Hybrids: a layer without cache heads is recurrent."""

MIXED_WITH_FEED_FORWARD = frozenset({"nemotron_h", "nemotron_h_moe"})

BY_INTERVAL = frozenset({"qwen3next", "qwen35", "qwen35moe", "qwen4exp", "minimax-01"})

BOTH_EVERYWHERE = frozenset({"falcon-h1"})

STANDARD = frozenset(
    {
        "llama",
        "qwen2",
        "qwen2moe",
        "qwen2vl",
        "qwen3",
        "qwen3moe",
        "qwen3vl",
        "qwen3vlmoe",
        "phi2",
        "phi3",
        "phimoe",
        "falcon",
        "gemma",
        "starcoder",
        "starcoder2",
        "gpt2",
        "gptneox",
        "bloom",
        "mpt",
        "baichuan",
        "stablelm",
        "command-r",
        "dbrx",
        "olmo",
        "olmoe",
        "deepseek",
        "deepseek2",
        "deepseek32",
        "glm4",
        "glm4moe",
        "chatglm",
        "granite",
        "granitemoe",
        "internlm2",
        "minicpm",
        "minicpm3",
        "nemotron",
        "exaone",
        "t5",
        "minimax-m2",
        "minimax-m3",
        "ernie4_5",
        "ernie4_5-moe",
        "hunyuan-moe",
        "smollm3",
        "mistral3",
        "apertus",
        "seed_oss",
        "arcee",
        "deci",
        "xverse",
        "orion",
        "grok",
        "refact",
        "qwen",
    }
)
"""Architectures known to keep a full cache on every layer, whatever other keys they carry."""

GEMMA3N_OWN = 20
"""Layers of gemma3n that own a cache; the rest share (``src/models/gemma3n.cpp``)."""


def layers_of(hyper: Hyperparameters) -> Layers | None:
    """What each layer keeps; None where the architecture's cache is not modelled."""
    name, count = hyper.architecture, hyper.layers
    if name in UNKNOWN_CACHE:
        return None
    if name in NO_CACHE:
        return Layers([Cache.NONE] * count, [False] * count)
    if name in RECURRENT_ONLY:
        return Layers([Cache.NONE] * count, [True] * count)
    recurrent = _recurrent(hyper)
    if recurrent is not None:
        return _hybrid(hyper, recurrent)
    return _attention(hyper)


def _recurrent(hyper: Hyperparameters) -> list[bool] | None:
    """Which layers of a hybrid are recurrent; None for others."""
    name, kv_heads = hyper.architecture, hyper.kv_heads
    if name in RECURRENT_WITHOUT_HEADS:
        return [heads == 0 for heads in kv_heads]
    if name in MIXED_WITH_FEED_FORWARD:
        feed_forward = hyper.per_layer("feed_forward_length")
        return [heads == 0 and ff == 0 for heads, ff in zip(kv_heads, feed_forward, strict=True)]
    if name in BY_INTERVAL:
        array = hyper.array("attention.recurrent_layers")
        if array is not None:
            return [bool(item) for item in hyper.per_layer("attention.recurrent_layers")]
        interval = hyper.number("full_attention_interval", 4) or 4
        return [(layer + 1) % interval != 0 for layer in range(hyper.layers)]
    return [True] * hyper.layers if name in BOTH_EVERYWHERE else None


def _hybrid(hyper: Hyperparameters, recurrent: list[bool]) -> Layers:
    caches = []
    last_own = hyper.layers - hyper.number("nextn_predict_layers")
    for layer, (state, heads) in enumerate(zip(recurrent, hyper.kv_heads, strict=True)):
        own = heads > 0 and layer < last_own
        both = hyper.architecture in BOTH_EVERYWHERE
        caches.append(Cache.FULL if own and (both or not state) else Cache.NONE)
    states = [state and layer < last_own for layer, state in enumerate(recurrent)]
    return Layers(caches, states)


def _attention(hyper: Hyperparameters) -> Layers:
    name, count = hyper.architecture, hyper.layers
    sliding, window = _sliding(hyper)
    caches = [Cache.WINDOW if slides else Cache.FULL for slides in sliding]
    own = count - hyper.number("nextn_predict_layers")
    if name == "gemma3n":
        own = min(own, GEMMA3N_OWN)
    if name == "gemma4":
        own = min(own, count - hyper.number("attention.shared_kv_layers"))
    for layer in range(max(own, 0), count):
        caches[layer] = Cache.NONE
    known = name in STANDARD or name in BY_PATTERN or name in (LAST_IS_FULL | FIRST_IS_FULL)
    return Layers(caches, [False] * count, window, known)


def _sliding(hyper: Hyperparameters) -> tuple[list[bool], int]:
    """Which layers slide, and the window in tokens."""
    name, count = hyper.architecture, hyper.layers
    nowhere = [False] * count
    stated = hyper.maybe("attention.sliding_window")
    window = FIXED_WINDOW.get(name, 0) if stated is None or name == "smallthinker" else stated
    if name == "llama4":
        window = 0 if stated == 0 else LLAMA4_CHUNK
    if window == 0 or (name in NEEDS_WINDOW_KEY and not stated):
        return nowhere, 0
    if name == "exaone4" and count != 64:
        return nowhere, 0
    pattern = hyper.array("attention.sliding_window_pattern")
    if pattern is not None and (name in BY_PATTERN or name in LAST_IS_FULL):
        return [bool(item) for item in hyper.per_layer("attention.sliding_window_pattern")], window
    if name in LAST_IS_FULL:
        period = hyper.number("attention.sliding_window_pattern", LAST_IS_FULL[name])
        period = period or LAST_IS_FULL[name]
        return [layer % period < period - 1 for layer in range(count)], window
    if name in FIRST_IS_FULL:
        return [layer % FIRST_IS_FULL[name] != 0 for layer in range(count)], window
    return nowhere, 0  # the key is there (phi3, Mistral 0.1) and the loader ignores it
