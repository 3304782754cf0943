"""A split model for tests."""

from ggufhub.rules.split import sample_shard


def three_shards() -> dict[str, bytes]:
    """Three shards that belong together, by name."""
    return {
        f"m-{number + 1:05d}-of-00003.gguf": sample_shard(number, 3, 3).build()
        for number in range(3)
    }
