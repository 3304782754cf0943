"""Where a model lies when it runs: what the processor and each device hold.

Layers go to devices from the last one backwards, the output counting as one more layer behind
them; several devices share them by fractions (``load_tensors`` in ``src/llama-model.cpp`` of
llama.cpp 0c1e57098). The input embedding stays with the processor; where it serves as the output
too, the device that holds the output has a copy. Each layer's cache and state lie with it.
"""

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import accumulate

from ggufhub.errors import UsageError
from ggufhub.estimate.cache import Bytes, Setting, layer_bytes
from ggufhub.estimate.memory import Estimator

PROCESSOR = 0
"""Index of the processor among the places; devices follow from 1."""

MOST_DEVICES = 16
"""``LLAMA_MAX_DEVICES`` of builds in use."""

EVERYTHING = 1 << 30
"""``-ngl`` that nothing is left out of."""


@dataclass(frozen=True, slots=True)
class Placement:
    """``offloaded`` layers (``-ngl``) go to the devices, which share them by ``split``."""

    offloaded: int = EVERYTHING
    split: tuple[float, ...] = (1.0,)

    def check(self) -> None:
        """``UsageError`` for what makes no sense."""
        if self.offloaded < 0:
            raise UsageError("The number of offloaded layers is not negative.")
        shares = all(0 <= share < float("inf") for share in self.split)
        if not 1 <= len(self.split) <= MOST_DEVICES or not shares or sum(self.split) <= 0:
            raise UsageError(f"A split is 1 to {MOST_DEVICES} shares, not all of them zero.")


@dataclass(frozen=True, slots=True)
class Share:
    """What one place holds, in bytes; ``layers`` without the output. ``compute`` is what each
    place that computes needs, approximately."""

    layers: int = 0
    weights: int = 0
    cache: int = 0
    states: int = 0
    compute: int = 0

    @property
    def total(self) -> int:
        return self.weights + self.cache + self.states + self.compute


def layer_places(layers: int, placement: Placement) -> list[int]:
    """The place of each of ``layers`` layers and of the output behind them."""
    moved = min(placement.offloaded, layers + 1)
    start = layers + 1 - moved
    ends = list(accumulate(placement.split))
    shares = [end / ends[-1] for end in ends]
    places = []
    for layer in range(layers + 1):
        if layer < start:
            places.append(PROCESSOR)
        else:
            device = bisect_right(shares, (layer - start) / moved)
            places.append(1 + min(device, len(shares) - 1))
    return places


def place(estimator: Estimator, setting: Setting, placement: Placement) -> list[Share] | None:
    """What the processor holds, and each device. None where the cache has no formula.

    Raises ``UsageError`` for a setting or a placement that makes no sense.
    """
    placement.check()
    layers = estimator.layers
    if layers is None:
        setting.check()
        return None
    caches = layer_bytes(estimator.hyper, layers, setting)
    weights = estimator.weights
    *blocks, output = layer_places(len(weights.blocks), placement)
    shares = [Share() for _ in range(1 + len(placement.split))]
    for where, size, cache in zip(blocks, weights.blocks, _padded(caches, blocks), strict=True):
        shares[where] = _with_layer(shares[where], size, cache)
    shares[PROCESSOR] = _with_weights(shares[PROCESSOR], weights.input)
    shares[output] = _with_weights(shares[output], weights.output)
    if weights.tied and output != PROCESSOR:
        shares[output] = _with_weights(shares[output], weights.input)
    compute = estimator.estimate(setting).compute.bytes or 0
    used = {*blocks, output}
    return [
        replace(share, compute=compute) if where in used else share
        for where, share in enumerate(shares)
    ]


def _padded(caches: list[Bytes], blocks: list[int]) -> Iterable[Bytes]:
    """One entry for each block; those beyond the layers of the cache keep nothing."""
    return [*caches, *[Bytes(0, 0, 0, 0)] * (len(blocks) - len(caches))]


def _with_layer(share: Share, weights: int, cache: Bytes) -> Share:
    return replace(
        share,
        layers=share.layers + 1,
        weights=share.weights + weights,
        cache=share.cache + cache.total - cache.states,
        states=share.states + cache.states,
    )


def _with_weights(share: Share, weights: int) -> Share:
    return replace(share, weights=share.weights + weights)


def most_offloaded(
    estimator: Estimator, setting: Setting, limits: tuple[int, ...]
) -> Placement | None:
    """The placement of the most layers on devices of so many bytes each, which share them by
    their sizes; None where the cache has no formula, or the input of the model itself is refused.

    Raises ``UsageError`` as ``place`` does.
    """
    split = tuple(float(limit) for limit in limits)
    for offloaded in range(len(estimator.weights.blocks) + 1, -1, -1):
        placement = Placement(offloaded, split)
        shares = place(estimator, setting, placement)
        if shares is None:
            return None
        if all(share.total <= limit for share, limit in zip(shares[1:], limits, strict=True)):
            return placement
    return None
