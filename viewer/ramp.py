"""Tensor types as steps of one colour ramp, from few to many bits a weight."""

from typing import Any

STEPS = 10
_BITS_OF_STEP = (1.7, 2.5, 3.5, 4.5, 5.5, 6.6, 8.6, 16.0, 32.0, 64.0)
"""Bits a weight that belong to each step at most: the steps people know by name."""


def bits_per_weight(row: dict[str, Any]) -> float:
    """Bits a weight of one row of the document's ``types``; 0 where it holds no elements."""
    elements = row["elements"] or 0
    return 8 * (row["bytes"] or 0) / elements if elements else 0.0


def ramp(types: list[dict[str, Any]]) -> dict[str, str]:
    """The CSS class of each type, in order of bits.

    Where there are enough steps, a type whose step is taken moves to the next one, so that Q4_0
    and Q4_K can be told apart. A file of more types than steps has types that share one.
    """
    ordered = by_bits(types)
    steps = [_step(bits_per_weight(row)) for row in ordered]
    if len(steps) <= STEPS:
        _spread(steps)
    return {row["type"]: f"r{step}" for row, step in zip(ordered, steps, strict=True)}


def _spread(steps: list[int]) -> None:
    """Make rising steps strictly rising: first upwards, then back from the last step."""
    for index in range(1, len(steps)):
        steps[index] = max(steps[index], steps[index - 1] + 1)
    for index, step in enumerate(steps):
        steps[index] = min(step, STEPS - len(steps) + index)


def by_bits(types: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows from few to many bits: the order of bar and legend."""
    return sorted(types, key=lambda row: (bits_per_weight(row), row["type"]))


def _step(bits: float) -> int:
    for step, most in enumerate(_BITS_OF_STEP):
        if bits <= most:
            return step
    return STEPS - 1
