"""Which tensors a model must and may have, given its architecture and hyper-parameters."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from ggufhub.estimate.hyperparameters import MOST_BLOCKS
from ggufhub.rules.expressions import Value
from ggufhub.rules.hparams import CONSTANTS, LoadedHyperparameters
from ggufhub.rules.tables import table

_EVERY_BLOCK = ("0", "n_layer")

SIBLING_SUFFIXES = (".scale", ".input_scale")
"""Scales that may stand beside the weights of any architecture."""


VOCABULARY_TENSORS = frozenset({"token_embd.weight", "output.weight"})
"""Tensors that have a row for each token in most architectures."""


@dataclass(frozen=True, slots=True)
class Expected:
    """One tensor as one line of the loader asks for it.

    ``shape`` holds None where a dimension is unknown; ``required`` and ``used`` are None where
    the condition is; ``reshaped`` means that only the number of elements counts.
    """

    name: str
    shape: tuple[Value, ...]
    required: bool | None
    used: bool | None
    reshaped: bool


@dataclass(slots=True)
class Plan:
    """All that the loader of one architecture may ask for, by tensor name."""

    hyper: LoadedHyperparameters
    by_name: dict[str, list[Expected]] = field(default_factory=dict)

    @classmethod
    def of(cls, hyper: LoadedHyperparameters) -> "Plan":
        """The plan for a model. Needs a number of blocks that the loader takes."""
        tensors = table("tensors")
        own = tensors["architectures"][hyper.architecture]
        hyper.lets = {**tensors["common"], **own["lets"]}
        plan = cls(hyper)
        for row in own["rows"]:
            for expected in _expectations(hyper, row):
                plan.by_name.setdefault(expected.name, []).append(expected)
        return plan

    def __iter__(self) -> Iterator[Expected]:
        for lines in self.by_name.values():
            yield from lines

    def uses(self, name: str) -> bool | None:
        """Whether the loader takes in a tensor of this name; None where that is not sure."""
        used = [line.used for line in self.by_name.get(_owner(name), [])]
        if any(used):
            return True
        return None if None in used else False


def has_token_rows(architecture: str, name: str) -> bool:
    """Whether the loader of an architecture wants one row for each token in the tensor ``name``."""
    known = table("tensors")["architectures"].get(architecture, {"rows": ()})
    shapes = [row["shape"] for row in known["rows"] if row["name"] == name]
    return bool(shapes) and all(shape[1:] == ["n_vocab"] for shape in shapes)


def _owner(name: str) -> str:
    """The weight that a scale belongs to; other names are their own."""
    for suffix in SIBLING_SUFFIXES:
        if name.endswith(suffix):
            return name.removesuffix(suffix) + ".weight"
    return name


def _expectations(hyper: LoadedHyperparameters, row: dict[str, Any]) -> Iterator[Expected]:
    name: str = row["name"]
    start, stop = (hyper.value(text) for text in row.get("of", _EVERY_BLOCK))
    sure = isinstance(start, int) and isinstance(stop, int)
    layers = _layers(start, stop) if sure else range(hyper.blocks or 0)
    if ".N." not in name:
        yield _once(hyper, row, layers, sure)
        return
    for layer in layers:
        full = name.replace(".N.", f".{layer}.")
        yield _expected(hyper, row, full, layer) if sure else _unsure(full)


def _once(hyper: LoadedHyperparameters, row: dict[str, Any], layers: range, sure: bool) -> Expected:
    """What a row asks for whose name has no block: the first round that uses it counts."""
    name: str = row["name"]
    if not sure:
        return _unsure(name)
    for layer in layers:
        line = _expected(hyper, row, name, layer)
        if line.used is not False:
            return line
    return Expected(name, (), False, False, False)


def _unsure(name: str) -> Expected:
    return Expected(name, (), None, None, False)


def _layers(start: Value, stop: Value) -> range:
    assert isinstance(start, int) and isinstance(stop, int)
    return range(max(start, 0), min(stop, MOST_BLOCKS))


def _expected(hyper: LoadedHyperparameters, row: dict[str, Any], name: str, layer: int) -> Expected:
    conditions = [hyper.value(text, layer) for text in row.get("if", [])]
    used = None if None in conditions else True
    if any(value is not None and not value for value in conditions):
        used = False
    flags = hyper.value(row["flags"], layer) if "flags" in row else 0
    required: bool | None = False
    if "optional" not in row and used is not False:
        known = used and isinstance(flags, int)
        required = not _is_set(flags, "TENSOR_NOT_REQUIRED") if known else None
    shape = tuple(hyper.value(text, layer) for text in row["shape"]) if used else ()
    return Expected(name, shape, required, used, "reshaped" in row)


def _is_set(flags: Value, name: str) -> bool:
    bit = CONSTANTS[name]
    return isinstance(flags, int) and isinstance(bit, int) and bool(flags & bit)
