"""Memory over context, drawn on the server: weights, cache, compute, one above the other."""

from dataclasses import dataclass

from django.utils.safestring import SafeString, mark_safe

from viewer.numbers import human_bytes, human_context

WIDTH, HEIGHT = 560, 220
_LEFT, _RIGHT, _TOP, _BOTTOM = 66, 12, 12, 26

LAYERS = (
    ("weights", "Weights", "r4"),
    ("cache", "Cache and states", "r8"),
    ("compute", "Compute", "r1"),
)
"""Name, title and colour of each layer, from the bottom."""


@dataclass(frozen=True, slots=True)
class Point:
    """The parts of one estimate, in bytes."""

    context: int
    weights: int
    cache: int
    compute: int

    @property
    def total(self) -> int:
        return self.weights + self.cache + self.compute


def chart(points: list[Point], limit: int | None) -> SafeString:
    """Areas over the contexts of ``points`` (evenly spaced, as they double), and the limit."""
    top = max([point.total for point in points] + [limit or 0]) * 1.05 or 1
    parts = [
        f'<svg class="memory" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
        'aria-label="Memory over context; the table below has the numbers">'
    ]
    parts += _grid(top)
    floor = [0] * len(points)
    for name, title, colour in LAYERS:
        ceiling = [low + getattr(point, name) for low, point in zip(floor, points, strict=True)]
        parts.append(_area(floor, ceiling, top, colour, title))
        floor = ceiling
    parts += [
        f'<text class="ax mid" x="{_x(index, len(points)):.1f}" y="{HEIGHT - 8}">'
        f"{human_context(point.context)}</text>"
        for index, point in enumerate(points)
    ]
    if limit is not None:
        y = _y(limit, top)
        parts.append(f'<path class="limit" d="M{_LEFT} {y:.1f}H{WIDTH - _RIGHT}"/>')
    return mark_safe("".join([*parts, "</svg>"]))  # safe: numbers and words of ours only


def _grid(top: float) -> list[str]:
    lines = []
    for step in range(1, 5):
        value = top / 1.05 * step / 4
        y = _y(value, top)
        lines.append(f'<path class="grid" d="M{_LEFT} {y:.1f}H{WIDTH - _RIGHT}"/>')
        label = human_bytes(round(value))
        lines.append(f'<text class="ax end" x="{_LEFT - 8}" y="{y + 4:.1f}">{label}</text>')
    return lines


def _area(floor: list[int], ceiling: list[int], top: float, colour: str, title: str) -> str:
    count = len(floor)
    over = [f"{_x(i, count):.1f} {_y(value, top):.1f}" for i, value in enumerate(ceiling)]
    under = [f"{_x(i, count):.1f} {_y(value, top):.1f}" for i, value in enumerate(floor)]
    path = "M" + "L".join(over + under[::-1]) + "Z"
    return f'<path class="{colour}" d="{path}"><title>{title}</title></path>'


def _x(index: int, count: int) -> float:
    return _LEFT + (WIDTH - _LEFT - _RIGHT) * (index / max(count - 1, 1))


def _y(value: float, top: float) -> float:
    return _TOP + (HEIGHT - _TOP - _BOTTOM) * (1 - value / top)
