"""Hyper-parameters as the reference loader has them after reading the keys of a model.

The table ``keys`` is replayed step by step on exact ints; on the way we note what the loader
would have stopped at: keys that are missing, of the wrong type, or of the wrong length. What
cannot be followed is unknown, and whatever depends on it stays unjudged.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from ggufhub.estimate.hyperparameters import MOST_BLOCKS
from ggufhub.formats.header import Header, Key
from ggufhub.formats.values import ValueType
from ggufhub.rules.expressions import Value, evaluate
from ggufhub.rules.tables import table

METHODS = {
    "n_layer": "hparams.n_layer_all - hparams.n_layer_nextn",
    "n_head": "hparams.n_head_arr[i]",
    "n_head_kv": "hparams.n_head_kv_arr[i]",
    "n_ff": "hparams.n_ff_arr[i]",
    "n_ff_exp": "hparams.n_ff_exp_arr[i]",
    "n_expert_used": "hparams.n_expert_used_arr[i]",
    "n_gqa": "hparams.n_head_kv(i) == 0 ? 0 : hparams.n_head(i) / hparams.n_head_kv(i)",
    "n_rot": "hparams.is_swa(i) ? hparams.n_rot_swa : hparams.n_rot_full",
    "n_embd_head_k": "hparams.is_swa(i) ? hparams.n_embd_head_k_swa : hparams.n_embd_head_k_full",
    "n_embd_head_v": "hparams.is_swa(i) ? hparams.n_embd_head_v_swa : hparams.n_embd_head_v_full",
    "n_embd_k_gqa": "hparams.n_embd_head_k(i) * hparams.n_head_kv(i)",
    "n_embd_v_gqa": "hparams.n_embd_head_v(i) * hparams.n_head_kv(i)",
    "n_embd_out": "hparams.n_embd_out_impl > 0 ? hparams.n_embd_out_impl : hparams.n_embd",
    "n_embd_inp": "hparams.n_embd_inp_impl > 0 ? hparams.n_embd_inp_impl"
    " : hparams.n_embd + hparams.n_embd * hparams.n_deepstack_layers",
    "n_embd_inp_enc": "hparams.n_embd_inp_enc_impl > 0 ? hparams.n_embd_inp_enc_impl"
    " : hparams.n_embd_inp()",
    "is_mla": "hparams.n_embd_head_k_mla_impl != 0 && hparams.n_embd_head_v_mla_impl != 0",
    "n_embd_head_k_mla": "hparams.is_mla() ? hparams.n_embd_head_k_mla_impl"
    " : hparams.n_embd_head_k()",
    "n_embd_head_v_mla": "hparams.is_mla() ? hparams.n_embd_head_v_mla_impl"
    " : hparams.n_embd_head_v()",
    "is_swa": "hparams.is_swa_impl[i]",
    "is_recr": "hparams.is_recr_impl[i]",
    "is_indexer_full": "hparams.is_indexer_full_impl[i]",
    "has_kv": "hparams.n_layer_kv_from_start < 0 || i < hparams.n_layer_kv_from_start",
}
"""The getters of ``src/llama-hparams.cpp``; ``i`` is the layer, 0 where none is given."""

CONSTANTS: dict[str, Value] = {
    "TENSOR_NOT_REQUIRED": 1,
    "TENSOR_DUPLICATED": 2,
    "TENSOR_SKIP": 4,
    "TENSOR_SKIP_IF_VIRTUAL": 8,
    "TENSOR_ALLOW_RESHAPE": 16,
    "TENSOR_READ_LAZY": 32,
}
"""Flags of ``src/llama-model-loader.h``."""

_SCALING = "LLAMA_ROPE_SCALING_TYPE_"

_ELEMENTS = {
    "uint32": (ValueType.UINT32, ValueType.INT32, ValueType.BOOL),
    "int32": (ValueType.UINT32, ValueType.INT32),
    "bool": (ValueType.BOOL,),
    "float32": (ValueType.FLOAT32,),
    "string": (ValueType.STRING,),
}
"""Element types that ``get_arr`` of ``src/llama-model-loader.cpp`` takes for a field's type."""

MOST_ELEMENTS = 4096
"""No array that the loader reads into a field is longer; longer ones are not decoded."""


class Fault(Enum):
    """What the loader would stop at."""

    MISSING = "missing"
    TYPE = "type"
    LENGTH = "length"


@dataclass(frozen=True, slots=True)
class Problem:
    """One key the loader would stop at; ``key`` is None where it is missing."""

    fault: Fault
    name: str
    key: Key | None
    expected: str
    actual: str


@dataclass
class LoadedHyperparameters:
    """``architecture`` must be one the tables know. ``has`` tells whether a tensor is there."""

    header: Header
    architecture: str
    has: Callable[[str], bool]
    problems: list[Problem] = field(default_factory=list)
    fields: dict[str, Value] = field(default_factory=dict)
    lets: dict[str, str] = field(default_factory=dict)
    layer: int = 0

    def __post_init__(self) -> None:
        keys = table("keys")
        for name, text in keys["fields"].items():
            self.fields[f"hparams.{name}"] = evaluate(text, self)
        for step in [*keys["common"], *keys["architectures"][self.architecture]]:
            self._step(step)

    @property
    def blocks(self) -> int | None:
        """The number of blocks, where the loader takes it."""
        count = self.fields.get("hparams.n_layer_all")
        return count if isinstance(count, int) and 0 < count <= MOST_BLOCKS else None

    def value(self, text: str, layer: int = 0) -> Value:
        """The value of an expression in one layer; None where it is unknown."""
        before, self.layer = self.layer, layer
        try:
            return evaluate(text, self)
        except RecursionError:
            return None
        finally:
            self.layer = before

    def key_name(self, name: str) -> str:
        """The full name of a key of the tables."""
        general = name in table("keys")["general"]
        return name if general else f"{self.architecture}.{name}"

    # Scope: how expressions get their values.

    def name(self, name: str) -> Value:
        if name == "i":
            return self.layer
        if name == "arch":
            return self.architecture
        if name in CONSTANTS:
            return CONSTANTS[name]
        if name.startswith(_SCALING):
            return name.removeprefix(_SCALING).lower()
        if name in self.lets:
            return evaluate(self.lets[name], self)
        return self.fields.get(name)

    def call(self, name: str, arguments: list[Value]) -> Value:
        method = METHODS.get(name.removeprefix("hparams."))
        if method is not None and name.startswith("hparams."):
            layer = arguments[0] if arguments else 0
            return self.value(method, layer) if isinstance(layer, int) else None
        if name in ("max", "min") and all(isinstance(a, int | float) for a in arguments):
            numbers = [a for a in arguments if isinstance(a, int | float)]
            return (max if name == "max" else min)(numbers)
        if name == "hparams.n_expert_used_max":
            return self._most("hparams.n_expert_used_arr")
        if name.endswith((".size", ".empty")):
            values = self.fields.get(name.rpartition(".")[0])
            size = len(values) if isinstance(values, list) else None
            return size if name.endswith(".size") or size is None else int(size == 0)
        known = _FUNCTIONS.get(name)
        return None if known is None else known(self, arguments)

    def _most(self, field: str) -> Value:
        """The largest of the values of all blocks."""
        values = self.fields.get(field)
        if not isinstance(values, list) or not values or None in values:
            return None
        return int(max(values))

    # Replaying the loader.

    def _step(self, step: dict[str, Any]) -> None:
        wanted = self.value(step["if"]) if "if" in step else 1
        if wanted is None:
            self.fields[step["field"]] = None
        elif wanted:
            _ACTIONS[step["do"]](self, step)

    def _set(self, step: dict[str, Any]) -> None:
        found = self.value(step["value"])
        self.fields[step["field"]] = list(found) if isinstance(found, list) else found

    def _each(self, step: dict[str, Any]) -> None:
        start, stop = (self.value(text) for text in step["of"])
        if not isinstance(start, int) or not isinstance(stop, int) or not 0 <= start <= stop:
            self.fields[step["field"]] = None
            return
        values = self._layers(step["field"], min(stop, MOST_BLOCKS))
        for layer in range(start, min(stop, MOST_BLOCKS)):
            values[layer] = self.value(step["value"], layer)

    def _layers(self, name: str, count: int) -> list[Any]:
        """The list behind a field of one value for each layer, long enough for ``count``."""
        values = self.fields.get(name)
        if not isinstance(values, list):
            values = self.fields[name] = []
        values += [0] * (count - len(values))
        return values

    def _forget(self, step: dict[str, Any]) -> None:
        self.fields[step["field"]] = None

    def _get(self, step: dict[str, Any]) -> None:
        key = self._find(step)
        if key is None or (key.array is not None and "lenient" in step):
            return
        self.fields[step["field"]] = self._scalar(key, step)

    def _either(self, step: dict[str, Any]) -> None:
        key, length = self._find(step), self.value(step["length"])
        if key is None or not isinstance(length, int) or not 0 < length <= MOST_BLOCKS:
            return
        if key.array is None:
            self.fields[step["field"]] = [self._scalar(key, step)] * length
        elif key.array.count != length:
            facts = (key, f"{length:,} elements", f"{key.array.count:,} elements")
            self.problems.append(Problem(Fault.LENGTH, key.name, *facts))
            self.fields[step["field"]] = None
        else:
            self._fill(key, step)

    def _list(self, step: dict[str, Any]) -> None:
        key = self._find(step)
        if key is not None and key.array is not None:
            self._fill(key, step)
        elif key is not None and "required" in step:
            self._wrong_type(key, "an array")

    def _count(self, step: dict[str, Any]) -> None:
        key = self._find(step)
        if key is not None:
            self.fields[step["field"]] = None if key.array is None else key.array.count

    def _find(self, step: dict[str, Any]) -> Key | None:
        name = self.key_name(step["key"])
        key = self.header.find(name)
        if key is None and "required" in step:
            wanted = step.get("type", "a value")
            self.problems.append(Problem(Fault.MISSING, name, None, wanted, "key absent"))
            self.fields[step["field"]] = None
        return key

    def _scalar(self, key: Key, step: dict[str, Any]) -> Value:
        if "type" in step and key.type_label != step["type"]:
            self._wrong_type(key, step["type"])
            return None
        value = key.value
        if isinstance(value, bytes):
            return value.decode("utf-8", "surrogateescape")
        return value if isinstance(value, int | float) else None

    def _fill(self, key: Key, step: dict[str, Any]) -> None:
        array = key.array
        assert array is not None
        kinds = _ELEMENTS.get(step.get("type", ""))
        if kinds is not None and array.element_type not in kinds:
            self._wrong_type(key, f"{step['type']}[]")
            self.fields[step["field"]] = None
        elif array.count > MOST_ELEMENTS:
            self.fields[step["field"]] = None
        else:
            values = self._layers(step["field"], array.count)
            values[: array.count] = array.part(0, array.count)

    def _wrong_type(self, key: Key, expected: str) -> None:
        self.problems.append(Problem(Fault.TYPE, key.name, key, expected, key.type_label))


def _has(hyper: LoadedHyperparameters, arguments: list[Value]) -> Value:
    name = arguments[0]
    if not isinstance(name, str):
        return None
    return int(hyper.has(name.replace("blk.N.", f"blk.{hyper.layer}.")))


def _given(hyper: LoadedHyperparameters, arguments: list[Value]) -> Value:
    return int(hyper.header.find(hyper.key_name(str(arguments[0]))) is not None)


def _text(hyper: LoadedHyperparameters, arguments: list[Value]) -> Value:
    return None if arguments[0] is None else str(arguments[0])


def _tokens(hyper: LoadedHyperparameters, arguments: list[Value]) -> Value:
    array = hyper.header.array("tokenizer.ggml.tokens")
    return hyper.header.number(hyper.key_name("vocab_size")) if array is None else array.count


def _token_types(hyper: LoadedHyperparameters, arguments: list[Value]) -> Value:
    return hyper.header.number("tokenizer.ggml.token_type_count") or 0


def _recurrent(hyper: LoadedHyperparameters, arguments: list[Value]) -> Value:
    return int(hyper.architecture in table("architectures")["recurrent"])


_FUNCTIONS: dict[str, Callable[[LoadedHyperparameters, list[Value]], Value]] = {
    "has": _has,
    "given": _given,
    "text": _text,
    "vocab.n_tokens": _tokens,
    "vocab.n_token_types": _token_types,
    "llm_arch_is_recurrent": _recurrent,
}

_ACTIONS: dict[str, Callable[[LoadedHyperparameters, dict[str, Any]], None]] = {
    "set": LoadedHyperparameters._set,
    "each": LoadedHyperparameters._each,
    "forget": LoadedHyperparameters._forget,
    "get": LoadedHyperparameters._get,
    "either": LoadedHyperparameters._either,
    "list": LoadedHyperparameters._list,
    "count": LoadedHyperparameters._count,
}
