"""Files that make careless readers slow or large; each must cost us seconds and little memory."""

from collections.abc import Callable

from tests.builders import Gguf, ValueType


def many_keys() -> bytes:
    sample = Gguf()
    for number in range(400_000):
        sample.key(f"k{number}", 1)
    return sample.build()


def keys_at_the_limit() -> bytes:
    sample = Gguf()
    for number in range(65_536):
        sample.key(f"k{number}", 1)
    return sample.build()


def many_tensors() -> bytes:
    sample = Gguf()
    for number in range(100_000):
        sample.tensor(f"t{number}", (1,), offset=32 * number, size=4)
    sample.data = b""
    return sample.build()


def byte_array() -> bytes:
    payload = (0).to_bytes(4, "little") + (5_000_000).to_bytes(8, "little") + bytes(5_000_000)
    return Gguf().raw_key("x", ValueType.ARRAY, payload).build()


def million_strings() -> bytes:
    payload = (8).to_bytes(4, "little") + (1_000_000).to_bytes(8, "little") + bytes(8_000_000)
    return Gguf().raw_key("x", ValueType.ARRAY, payload).build()


def mixed_strings() -> bytes:
    """Empty and short strings in turn: no run of candidates is longer than one."""
    pair = bytes(8) + (1).to_bytes(8, "little") + b"a"
    payload = (8).to_bytes(4, "little") + (1_000_000).to_bytes(8, "little") + pair * 500_000
    return Gguf().raw_key("x", ValueType.ARRAY, payload).build()


def nested_arrays() -> bytes:
    empty = (4).to_bytes(4, "little") + bytes(8)
    payload = (9).to_bytes(4, "little") + (600_000).to_bytes(8, "little") + empty * 600_000
    return Gguf().raw_key("x", ValueType.ARRAY, payload).build()


def nested_strings() -> bytes:
    """As many arrays inside an array as are read, each of strings too few for the quick way."""
    inner = (8).to_bytes(4, "little") + (200).to_bytes(8, "little") + bytes(1_600)
    payload = (9).to_bytes(4, "little") + (60_000).to_bytes(8, "little") + inner * 60_000
    return Gguf().raw_key("x", ValueType.ARRAY, payload).build()


def huge_counts() -> bytes:
    return Gguf(kv_count=1 << 40, tensor_count=1 << 40).key("a", 1).build()


ATTACKS: dict[str, Callable[[], bytes]] = {
    "400,000 keys": many_keys,
    "65,536 keys": keys_at_the_limit,
    "100,000 tensors": many_tensors,
    "5 MB byte array": byte_array,
    "1,000,000 empty strings": million_strings,
    "1,000,000 mixed strings": mixed_strings,
    "600,000 nested arrays": nested_arrays,
    "12,000,000 nested strings": nested_strings,
    "counts of 2^40": huge_counts,
}
