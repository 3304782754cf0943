"""The quants of one model against each other: size and bits per weight, drawn to scale."""

from dataclasses import dataclass
from typing import Any

from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe

from viewer.fits import Fitting, Need, fitting, largest
from viewer.numbers import human_bytes
from viewer.text import visible

_WIDTH, _HEIGHT, _LEFT, _BOTTOM = 640, 220, 64, 34
_RADIUS = 5


@dataclass(frozen=True, slots=True)
class Family:
    """A family: its ``rows`` in the order of their size, the chart (empty without sizes), and
    the largest that fits where that was asked."""

    name: str
    rows: list[Fitting]
    chart: SafeString
    best: Fitting | None


def family(name: str, items: list[Any], known: dict[int, Need], limit: int | None) -> Family:
    """``known`` is what the models need, ``limit`` the memory there is, in bytes."""
    rows = fitting(items, known, limit)
    return Family(name, rows, chart(items), largest(rows))


def chart(items: list[Any]) -> SafeString:
    """A point for each quant: bits per weight to the right, bytes upwards; the class of a point
    is its verdict. The table beside it has the same facts."""
    known = [item for item in items if item.size and item.bits_per_weight]
    if len(known) < 2:
        return SafeString("")
    most_bits = max(item.bits_per_weight for item in known)
    most_bytes = max(item.size for item in known)
    points = "".join(
        _point(item, item.bits_per_weight / most_bits, item.size / most_bytes) for item in known
    )
    title = f"{len(known)} quants by bits per weight and size"
    axes = (
        f'<path class="axis" d="M{_LEFT} 8V{_HEIGHT - _BOTTOM}H{_WIDTH - 8}"/>'
        f'<text x="{_LEFT - 8}" y="20" class="end">{human_bytes(most_bytes)}</text>'
        f'<text x="{_LEFT}" y="{_HEIGHT - 12}">0</text>'
        f'<text x="{_WIDTH - 8}" y="{_HEIGHT - 12}" class="end">{most_bits:.1f} bits</text>'
    )
    return mark_safe(  # every text in it is escaped or a number
        f'<svg class="quants" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="{title}">'
        f"{axes}{points}</svg>"
    )


def _point(item: Any, across: float, upwards: float) -> str:
    x = _LEFT + across * (_WIDTH - _LEFT - 24)
    y = _HEIGHT - _BOTTOM - upwards * (_HEIGHT - _BOTTOM - 20)
    label = f"{item.quant or item.path}: {human_bytes(item.size)}, {item.bits_per_weight} bits"
    return (
        f'<circle class="{escape(item.verdict or "waiting")}" cx="{x:.1f}" cy="{y:.1f}" '
        f'r="{_RADIUS}"><title>{escape(visible(label))}</title></circle>'
    )
