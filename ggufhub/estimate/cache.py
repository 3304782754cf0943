"""Bytes of the key-value cache and of recurrent states, as llama.cpp allocates them.

The formulas are those of ``src/llama-kv-cache.cpp``, ``llama-kv-cache-iswa.cpp`` and
``llama-memory-recurrent.cpp`` at 0c1e57098; 276 allocations match byte for byte.
"""

from dataclasses import dataclass

from ggufhub.errors import UsageError
from ggufhub.estimate.hyperparameters import Hyperparameters
from ggufhub.estimate.layers import Cache, Layers
from ggufhub.formats.tensor_types import TENSOR_TYPES

CELLS = 256
"""Caches are padded to this many cells (``llama_context``)."""

STATE_BYTES = 4
"""Recurrent states are float32, whatever the cache types."""

KV_TYPES = ("F32", "F16", "BF16", "Q8_0", "Q5_1", "Q5_0", "Q4_1", "Q4_0", "IQ4_NL")
"""Types ``-ctk`` and ``-ctv`` take (``common/arg.cpp``)."""

_BY_NAME = {entry.name: entry for entry in TENSOR_TYPES.values()}

MICRO_BATCH, BATCH = 512, 2048
"""Defaults of ``-ub`` and ``-b``."""


@dataclass(frozen=True, slots=True)
class Setting:
    """How a model is run. ``context`` in tokens; ``sequences`` share it if ``unified``."""

    context: int
    key_type: str = "F16"
    value_type: str = "F16"
    sequences: int = 1
    unified: bool = True
    flash_attention: bool = True
    full_window: bool = False
    micro_batch: int = MICRO_BATCH

    def check(self) -> None:
        """``UsageError`` for what llama.cpp would refuse."""
        for name in (self.key_type, self.value_type):
            if name not in KV_TYPES:
                raise UsageError(f"{name} is no cache type; one of {', '.join(KV_TYPES)} is.")
        if self.context < 1 or not 1 <= self.sequences <= 256 or self.micro_batch < 1:
            raise UsageError("Context, sequences and micro-batch are positive numbers.")
        if not self.flash_attention and _BY_NAME[self.value_type].block > 1:
            raise UsageError("A quantised value cache needs flash attention.")


@dataclass(frozen=True, slots=True)
class Bytes:
    """Bytes of keys, values, indexer rows and recurrent states."""

    keys: int
    values: int
    indexer: int
    states: int

    @property
    def total(self) -> int:
        return self.keys + self.values + self.indexer + self.states


def padded(value: int, step: int) -> int:
    return -(-value // step) * step


def row_bytes(type_name: str, elements: int) -> int:
    """Bytes of one row. ``UsageError`` where it is not whole blocks."""
    kind = _BY_NAME[type_name]
    if elements % kind.block:
        raise UsageError(f"Rows of {elements} elements are not whole blocks of {type_name}.")
    return elements // kind.block * kind.size


def cells_of(setting: Setting, window: int) -> tuple[int, int, int]:
    """Cells of a full and of a sliding cache, and how many streams hold them."""
    context = padded(setting.context, CELLS)
    sequences, unified = setting.sequences, setting.unified
    cells = context if unified else padded(context // sequences, CELLS)
    micro = min(setting.micro_batch, context, BATCH)
    wanted = min(cells, window * (sequences if unified else 1) + micro)
    sliding = cells if setting.full_window or window == 0 else padded(wanted, CELLS)
    return cells, sliding, 1 if unified else sequences


def cache_bytes(hyper: Hyperparameters, layers: Layers, setting: Setting) -> Bytes:
    """Everything a context allocates for memory. Raises ``UsageError`` as ``check`` does."""
    each = layer_bytes(hyper, layers, setting)
    return Bytes(
        keys=sum(one.keys for one in each),
        values=sum(one.values for one in each),
        indexer=sum(one.indexer for one in each),
        states=sum(one.states for one in each),
    )


def layer_bytes(hyper: Hyperparameters, layers: Layers, setting: Setting) -> list[Bytes]:
    """What a context allocates for each layer. Raises ``UsageError`` as ``check`` does."""
    setting.check()
    cells, sliding_cells, streams = cells_of(setting, layers.window)
    widths = _widths(hyper, layers)
    widest = max((value for _, value in widths), default=0)
    state = _state_elements(hyper) * STATE_BYTES * max(setting.sequences, 1)
    found = []
    for layer, cache in enumerate(layers.caches):
        keys = values = indexer = 0
        if cache is not Cache.NONE:
            rows = (sliding_cells if cache is Cache.WINDOW else cells) * streams
            key, value = widths[layer]
            # Without flash attention values are stored transposed, all layers as wide as the
            # widest.
            value = value if setting.flash_attention or value == 0 else widest
            keys = row_bytes(setting.key_type, key) * rows
            values = row_bytes(setting.value_type, value) * rows
            indexer = _indexer_row(hyper, setting, layer) * rows
        found.append(Bytes(keys, values, indexer, state * layers.recurrent[layer]))
    return found


def _widths(hyper: Hyperparameters, layers: Layers) -> list[tuple[int, int]]:
    """Elements of a key row and a value row of each layer."""
    widths = []
    for cache, heads in zip(layers.caches, hyper.kv_heads, strict=True):
        key, value = hyper.head_lengths(sliding=cache is Cache.WINDOW)
        if hyper.latent:
            widths.append((key if heads else 0, 0))
        else:
            widths.append((heads * key, heads * value))
    return widths


def _indexer_row(hyper: Hyperparameters, setting: Setting, layer: int) -> int:
    """Bytes of one row of a sparse-attention indexer."""
    length = hyper.maybe("attention.indexer.key_length")
    if length is None:
        return 0
    if hyper.architecture in ("deepseek32", "glm-dsa"):
        return row_bytes(setting.key_type, length)
    if hyper.architecture == "minimax-m3" and layer >= hyper.number("leading_dense_block_count"):
        _, head = hyper.head_lengths(sliding=False)
        return row_bytes(setting.key_type, length) + row_bytes(setting.value_type, head)
    return 0


def _state_elements(hyper: Hyperparameters) -> int:
    """Elements one recurrent layer keeps for one sequence: shift or convolution, and state."""
    name, embedding = hyper.architecture, hyper.number("embedding_length")
    if name in ("rwkv6", "rwkv6qwen2", "rwkv7", "arwkv7"):
        shifts = hyper.number("token_shift_count", 2)
        return shifts * embedding + embedding * hyper.number("wkv.head_size")
    if name in ("lfm2", "lfm2moe"):
        return embedding * max(hyper.number("shortconv.l_cache") - 1, 0)
    kernel = hyper.number("ssm.conv_kernel")
    if name in ("kimi-linear", "kimi-k3", "bailingmoe3"):
        width, heads = hyper.number("kda.head_dim"), hyper.heads[0]
        return 3 * (max(kernel - 1, 0) or 3) * heads * width + width * width * heads
    if name == "minimax-01":
        key, _ = hyper.head_lengths(sliding=False)
        return key * key * hyper.heads[0]
    inner, state = hyper.number("ssm.inner_size"), hyper.number("ssm.state_size")
    convolved = inner + 2 * hyper.number("ssm.group_count") * state
    return max(kernel - 1, 0) * convolved + state * inner
