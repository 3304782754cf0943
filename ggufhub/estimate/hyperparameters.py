"""Hyper-parameters as the memory formulas need them: exact integers, one value a layer.

They are plain data, so a stored report can be estimated again with other settings.
"""

from dataclasses import dataclass

from ggufhub.formats.header import Header
from ggufhub.formats.values import ValueType

MOST_BLOCKS = 512
"""``LLAMA_MAX_LAYERS`` in ``src/llama-hparams.h``; the loader aborts beyond it, or at 0."""

MOST_NAMES = 256
"""Keys of one architecture taken; the most any has is about 60."""

Values = dict[str, int | list[int]]


@dataclass(slots=True)
class Hyperparameters:
    """The integer keys of one architecture, by their name after ``<architecture>.``."""

    architecture: str
    values: Values

    @classmethod
    def of(cls, header: Header) -> "Hyperparameters | None":
        """None where there is no architecture or no usable number of blocks."""
        architecture = header.text("general.architecture")
        if not architecture:
            return None
        found = cls(architecture, _values(header, f"{architecture}."))
        return found if 0 < found.number("block_count") <= MOST_BLOCKS else None

    def maybe(self, name: str) -> int | None:
        """An integer, or None where the key is absent or an array."""
        value = self.values.get(name)
        return value if isinstance(value, int) else None

    def number(self, name: str, default: int = 0) -> int:
        value = self.maybe(name)
        return default if value is None else value

    @property
    def layers(self) -> int:
        return self.number("block_count")

    def array(self, name: str) -> list[int] | None:
        value = self.values.get(name)
        return value if isinstance(value, list) else None

    def per_layer(self, name: str, default: int = 0) -> list[int]:
        """One value for each layer, from an array or a scalar."""
        array = self.array(name)
        if array is None:
            return [self.number(name, default)] * self.layers
        return (array + [default] * self.layers)[: self.layers]

    @property
    def heads(self) -> list[int]:
        return self.per_layer("attention.head_count")

    @property
    def kv_heads(self) -> list[int]:
        """Heads of the cache; as many as query heads where the key is absent."""
        name = "attention.head_count_kv"
        return self.per_layer(name) if name in self.values else self.heads

    @property
    def head_size(self) -> int:
        """Embedding over the heads of the first layer (0 where it has none)."""
        first = self.heads[0]
        return self.number("embedding_length") // first if first else 0

    def head_lengths(self, *, sliding: bool) -> tuple[int, int]:
        """Elements of one head's key and value."""
        key = self.number("attention.key_length", self.head_size)
        value = self.number("attention.value_length", self.head_size)
        if not sliding:
            return key, value
        swa_key = self.number("attention.key_length_swa", key)
        return swa_key, self.number("attention.value_length_swa", value)

    @property
    def latent(self) -> bool:
        """Multi-head latent attention: the cache holds one compressed row and no values."""
        names = ("attention.key_length_mla", "attention.value_length_mla")
        return all(self.maybe(name) is not None for name in names)


def _values(header: Header, prefix: str) -> Values:
    """Integers and short integer arrays that are not negative, by name without the prefix."""
    values: Values = {}
    for key in header.keys:
        if len(values) == MOST_NAMES:
            break
        if not key.name.startswith(prefix):
            continue
        name, array = key.name[len(prefix) :], key.array
        if array is None:
            number = key.value if key.type is not ValueType.FLOAT32 else None
            if isinstance(number, int) and number >= 0:
                values.setdefault(name, number)
        elif array.count <= MOST_BLOCKS:
            numbers = [item for item in array if isinstance(item, int) and item >= 0]
            if len(numbers) == array.count:
                values.setdefault(name, numbers)
    return values
