"""The memory estimate: weights exactly, caches by formula, compute buffers approximately.

Every figure says on what it rests. ``ggufhub.estimate.placement`` tells what of it lies where.
"""

from dataclasses import asdict, dataclass, replace
from typing import Any

from ggufhub.errors import UsageError
from ggufhub.estimate.cache import CELLS, Setting, cache_bytes, padded
from ggufhub.estimate.hyperparameters import Hyperparameters
from ggufhub.estimate.layers import Layers, layers_of
from ggufhub.formats.kind import DRAFT, MODEL
from ggufhub.formats.model import Model
from ggufhub.formats.naming import tensor_block

EXACT, FORMULA, APPROXIMATE, UNKNOWN = "exact", "formula", "approximate", "unknown"

CONTEXTS = (4_096, 8_192, 16_384, 32_768, 65_536, 131_072, 262_144, 1_048_576)
"""Contexts of the table; those beyond what the model was trained for are left out."""

TABLE_TYPES = ("F16", "Q8_0", "Q4_0")

POORLY_MODELLED = frozenset({"deepseek2", "deepseek32", "glm-dsa", "minimax-m3", "t5"})
"""Architectures whose compute buffer is larger than the formula says: shown as "at least"."""


@dataclass(frozen=True, slots=True)
class Weights:
    """Bytes of the tensors by where they go. ``blocks`` has one entry a layer."""

    input: int
    output: int
    blocks: list[int]
    tied: bool

    @property
    def total(self) -> int:
        return self.input + self.output + sum(self.blocks)


@dataclass(frozen=True, slots=True)
class Figure:
    """A number of bytes and on what it rests."""

    bytes: int | None
    basis: str


@dataclass(frozen=True, slots=True)
class Estimate:
    """What one setting takes, in bytes."""

    setting: Setting
    weights: Figure
    cache: Figure
    states: Figure
    compute: Figure

    @property
    def total(self) -> int | None:
        """The sum; None where a part is unknown."""
        parts = [self.weights.bytes, self.cache.bytes, self.states.bytes, self.compute.bytes]
        known = [part for part in parts if part is not None]
        return sum(known) if len(known) == len(parts) else None


@dataclass(slots=True)
class Estimator:
    """Estimates one model under any setting."""

    hyper: Hyperparameters
    weights: Weights
    vocabulary: int

    @property
    def layers(self) -> Layers | None:
        return layers_of(self.hyper)

    def estimate(self, setting: Setting) -> Estimate:
        """Raises ``UsageError`` for a setting that llama.cpp would refuse."""
        setting.check()
        layers = self.layers
        weights = Figure(self.weights.total, EXACT)
        if layers is None:
            unknown = Figure(None, UNKNOWN)
            return Estimate(setting, weights, unknown, unknown, self._compute(setting))
        found = cache_bytes(self.hyper, layers, setting)
        basis = FORMULA if layers.known else APPROXIMATE
        cache = Figure(found.total - found.states, basis)
        return Estimate(
            setting, weights, cache, Figure(found.states, basis), self._compute(setting)
        )

    def _compute(self, setting: Setting) -> Figure:
        """The compute buffer, fitted to reservations on a processor (median error 0.8 %)."""
        hyper = self.hyper
        context = padded(setting.context, CELLS)
        micro = min(setting.micro_batch, context)
        embedding, heads = hyper.number("embedding_length"), max(hyper.heads, default=0)
        experts = hyper.number("expert_used_count") * hyper.number("expert_feed_forward_length")
        forward = max(hyper.per_layer("feed_forward_length"), default=0) or experts
        logits = (self.vocabulary + 2 * embedding) * micro * 4
        if setting.flash_attention:
            inner = (3 * forward + 4 * embedding) * micro * 4 + 2 * context * micro
        else:
            inner = (heads * context + context + 5 * embedding) * micro * 4
        return Figure(max(logits, inner), APPROXIMATE)

    def largest_context(self, limit: int, setting: Setting) -> int | None:
        """The largest context, in steps of 256 cells, that fits into ``limit`` bytes."""
        trained = self.hyper.number("context_length") or CONTEXTS[-1]
        low, high = 0, max(trained // CELLS, 1)
        while low < high:
            middle = (low + high + 1) // 2
            total = self.estimate(replace(setting, context=middle * CELLS)).total
            if total is None:
                return None
            low, high = (middle, high) if total <= limit else (low, middle - 1)
        return low * CELLS or None


def estimator_of(model: Model) -> Estimator | None:
    """None for what is no language model, or says too little about itself."""
    if model.header is None or model.kind not in (MODEL, DRAFT) or model.missing:
        return None
    hyper = Hyperparameters.of(model.header)
    if hyper is None or hyper.number("embedding_length") == 0:
        return None
    tokens = model.header.array("tokenizer.ggml.tokens")
    vocabulary = hyper.number("vocab_size") if tokens is None else tokens.count
    return Estimator(hyper, _weights(model, hyper.layers), vocabulary)


def _weights(model: Model, layers: int) -> Weights:
    blocks, input_bytes, output_bytes, tied = [0] * layers, 0, 0, True
    for tensor in model.tensors:
        size, block = tensor.bytes or 0, tensor_block(tensor.name)
        if block is not None and block < layers:
            blocks[block] += size
        elif tensor.name.startswith(("token_embd", "per_layer_token_embd", "position_embd")):
            input_bytes += size
        else:
            output_bytes += size
            tied = tied and tensor.name != "output.weight"
    return Weights(input_bytes, output_bytes, blocks, tied)


def memory_document(model: Model) -> dict[str, Any] | None:
    """The part of a report: inputs to estimate again, and a table of usual settings."""
    estimator = estimator_of(model)
    if estimator is None:
        return None
    layers = estimator.layers
    return {
        "architecture": estimator.hyper.architecture,
        "hyperparameters": estimator.hyper.values,
        "weights": asdict(estimator.weights),
        "vocabulary": estimator.vocabulary,
        "context_length": estimator.hyper.maybe("context_length"),
        "assumed": layers is not None and not layers.known,
        "at_least": estimator.hyper.architecture in POORLY_MODELLED,
        "table": [estimate_row(estimator.estimate(setting)) for setting in _settings(estimator)],
    }


def _settings(estimator: Estimator) -> list[Setting]:
    trained = estimator.hyper.number("context_length") or CONTEXTS[0]
    contexts = [context for context in CONTEXTS if context < trained] + [trained]
    settings = []
    for context in dict.fromkeys(max(context, 1) for context in contexts):
        for name in TABLE_TYPES:
            setting = Setting(context, name, name)
            try:
                estimator.estimate(setting)
            except UsageError:
                continue  # heads that are not whole blocks of the type
            settings.append(setting)
    return settings


def estimate_row(estimate: Estimate) -> dict[str, Any]:
    """One estimate as plain data."""
    setting = estimate.setting
    return {
        "context": setting.context,
        "key_type": setting.key_type,
        "value_type": setting.value_type,
        "sequences": setting.sequences,
        "flash_attention": setting.flash_attention,
        "micro_batch": setting.micro_batch,
        **{
            name: asdict(getattr(estimate, name))
            for name in ("weights", "cache", "states", "compute")
        },
        "total": estimate.total,
    }


def estimator_from(document: dict[str, Any]) -> Estimator:
    """The estimator again, from the stored part of a report."""
    return Estimator(
        Hyperparameters(document["architecture"], document["hyperparameters"]),
        Weights(**document["weights"]),
        document["vocabulary"],
    )
