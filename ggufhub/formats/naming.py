"""What names say: the block and role of a tensor, the numbers in the name of a shard."""

import re
from typing import NamedTuple

_BLOCK = re.compile(r"^(?:[a-z]+\.)*?blk\.(\d{1,9})\.(.+)$")
_SUFFIX = re.compile(r"\.(?:weight|bias|scale)$")
_SHARD = re.compile(r"^(?P<prefix>.+)-(?P<number>\d{5})-of-(?P<count>\d{5})\.gguf$", re.DOTALL)


class ShardName(NamedTuple):
    """``<prefix>-00002-of-00003.gguf`` is ``(prefix, 2, 3)``: numbers count from 1 in names.

    Source: ``llama_split_path`` in ``src/llama.cpp``: five digits, lower-case extension.
    """

    prefix: str
    number: int
    shards: int

    def sibling(self, number: int) -> str:
        return f"{self.prefix}-{number:05d}-of-{self.shards:05d}.gguf"


def shard_name(name: str) -> ShardName | None:
    """The parts of a shard's file name, or None for any other name."""
    match = _SHARD.match(name)
    if match is None:
        return None
    return ShardName(match["prefix"], int(match["number"]), int(match["count"]))


def tensor_block(name: str) -> int | None:
    """The block number in ``blk.3.attn_q.weight``; None for tensors outside any block."""
    match = _BLOCK.match(name)
    return None if match is None else int(match[1])


def block_and_role(name: str) -> tuple[int | None, str]:
    """``(3, "attn_q")`` for ``blk.3.attn_q.weight``; outside any block the name less its suffix."""
    match = _BLOCK.match(name)
    if match is None:
        return None, _SUFFIX.sub("", name)
    return int(match[1]), _SUFFIX.sub("", match[2])
