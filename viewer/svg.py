"""The pictures of a report, drawn on the server as SVG.

The policy of the pages forbids style attributes, so lengths are SVG attributes and colours are
classes. Every picture has the same facts in a table or list beside it.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe

from viewer.numbers import human_bytes, ranges
from viewer.text import visible

MOST_CELLS = 6_000
"""Cells of one heat map. 126 blocks of 30 roles (the largest real models) are 3,780; a hostile
file may claim a million, and a picture of them would be megabytes of markup."""

_BAR = 1_000
_LABEL, _CELL_TOP, _ROW = 152, 27, 17
_WIDTH = 772
_WIDEST_CELL = 96

ROLE_ORDER = (
    "attn_norm", "attn_q", "attn_q_norm", "attn_k", "attn_k_norm", "attn_v", "attn_qkv",
    "attn_output", "attn_post_norm", "post_attention_norm", "ssm_norm", "ffn_norm", "ffn_gate_inp",
    "ffn_gate", "ffn_gate_exps", "ffn_up", "ffn_up_exps", "ffn_down", "ffn_down_exps",
    "post_ffw_norm",
)  # fmt: skip
"""The order in which a block computes; other roles follow in file order."""


@dataclass(frozen=True, slots=True)
class Run:
    """Neighbouring blocks whose tensors of one role have one type."""

    first: int
    last: int
    type: str


@dataclass(frozen=True, slots=True)
class HeatRow:
    """One role: its runs, and the blocks of each type in words for the table."""

    role: str
    runs: list[Run]
    words: list[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Segment:
    """A part of a bar: ``size`` in any unit, ``css`` its colour, ``href`` where it leads or ''."""

    label: str
    size: int
    css: str
    href: str = ""


def heat_rows(tensors: list[dict[str, Any]]) -> tuple[list[HeatRow], int, int]:
    """The rows of the heat map, how many blocks they show and how many there are.

    Where a block has several tensors of one role (weight and bias) the largest decides.
    """
    cells: dict[str, dict[int, tuple[int, str]]] = {}
    for tensor in tensors:
        block = tensor["block"]
        if block is None:
            continue
        held = cells.setdefault(tensor["role"], {})
        candidate = (tensor["bytes"] or 0, tensor["type"])
        if block not in held or candidate[0] > held[block][0]:
            held[block] = candidate
    blocks = 1 + max((block for held in cells.values() for block in held), default=-1)
    known = {role: index for index, role in enumerate(ROLE_ORDER)}
    roles = sorted(cells, key=lambda role: known.get(role, len(known)))[:MOST_CELLS]
    shown = min(blocks, MOST_CELLS // max(1, len(roles)))
    return [_row(role, cells[role], shown) for role in roles], shown, blocks


def _row(role: str, held: dict[int, tuple[int, str]], shown: int) -> HeatRow:
    runs: list[Run] = []
    by_type: dict[str, list[int]] = {}
    for block in sorted(block for block in held if block < shown):
        kind = held[block][1]
        by_type.setdefault(kind, []).append(block)
        if runs and runs[-1].type == kind and runs[-1].last == block - 1:
            runs[-1] = Run(runs[-1].first, block, kind)
        else:
            runs.append(Run(block, block, kind))
    return HeatRow(role, runs, [(kind, ranges(blocks)) for kind, blocks in by_type.items()])


def heat_map(
    rows: list[HeatRow], blocks: int, colours: dict[str, str], link: Callable[[str, str], str]
) -> SafeString:
    """Tensor types by block (columns) and role (rows). ``link(role, type)`` opens the tensors.

    A run is one rectangle; lines in the colour of the card cut it into cells, which keeps the
    markup of a large model small.
    """
    cell = min(_WIDEST_CELL, (_WIDTH - _LABEL - 4) / max(1, blocks))
    height = _CELL_TOP + _ROW * len(rows) + 4
    parts = [
        f'<svg class="heat" viewBox="0 0 {_WIDTH} {height}" role="group"'
        f' aria-label="Tensor types by block and role: {blocks} blocks, {len(rows)} roles">'
    ]
    parts += _axis(blocks, cell)
    for index, row in enumerate(rows):
        parts += _heat_row(row, _CELL_TOP + _ROW * index, cell, colours, link)
    if cell > 5:
        lines = "".join(f"M{_LABEL + cell * i:.1f} {_CELL_TOP}V{height}" for i in range(1, blocks))
        parts.append(f'<path class="cut" d="{lines}"/>')
    return _join([*parts, "</svg>"])


def _axis(blocks: int, cell: float) -> Iterable[str]:
    step = next(step for step in (1, 2, 5, 10, 20, 50, 100, 500, 1000) if step * cell >= 22)
    for block in range(0, blocks, step):
        yield f'<text x="{_LABEL + cell * (block + 0.5):.1f}" y="16" class="ax mid">{block}</text>'


def _heat_row(
    row: HeatRow,
    top: int,
    cell: float,
    colours: dict[str, str],
    link: Callable[[str, str], str],
) -> Iterable[str]:
    name = visible(row.role)
    short = name if len(name) <= 22 else name[:21] + "…"
    yield f'<text x="{_LABEL - 9}" y="{top + 11}" class="ax end mono">{escape(short)}</text>'
    for run in row.runs:
        span = str(run.first) if run.first == run.last else f"{run.first}\u2013{run.last}"
        yield (
            f'<a href="{escape(link(row.role, run.type))}" tabindex="-1" aria-hidden="true">'
            f'<rect x="{_LABEL + cell * run.first:.1f}" y="{top}"'
            f' width="{cell * (run.last - run.first + 1):.1f}" height="15"'
            f' class="{colours.get(run.type, "rx")}">'
            f"<title>{escape(name)} {escape(visible(run.type))}, block {span}</title></rect></a>"
        )


def bar(
    segments: list[Segment],
    label: str,
    *,
    height: int,
    least: float = 0.0,
    mark: int | None = None,
) -> SafeString:
    """A bar of segments to scale; none is drawn narrower than ``least`` thousandths of it.

    ``mark`` draws a line across it, that far (in the segments' unit) from its left end.
    """
    drawn = [segment for segment in segments if segment.size > 0]
    role = "group" if any(segment.href for segment in drawn) else "img"  # no links in an image
    whole = sum(segment.size for segment in drawn) or 1
    widths = [max(least, _BAR * segment.size / whole) for segment in drawn]
    scale = _BAR / (sum(widths) or 1)
    parts = [
        f'<svg class="bar" viewBox="0 0 {_BAR} {height}" height="{height}"'
        f' preserveAspectRatio="none" role="{role}" aria-label="{escape(label)}">'
    ]
    at, line = 0.0, ""
    for segment, width in zip(drawn, widths, strict=True):
        shown = max(0.4, width * scale - 1.5)
        rect = (
            f'<rect x="{at:.2f}" width="{shown:.2f}" height="{height}" class="{segment.css}">'
            f"<title>{escape(visible(segment.label))}, {human_bytes(segment.size)}</title></rect>"
        )
        link = f'<a href="{escape(segment.href)}" tabindex="-1" aria-hidden="true">{rect}</a>'
        parts.append(link if segment.href else rect)
        if mark is not None and 0 <= mark < segment.size:
            x = at + width * scale * mark / segment.size
            line = f'<path class="mark" d="M{x:.2f} 0V{height}"/>'
        mark = None if mark is None else mark - segment.size
        at += width * scale
    return _join([*parts, line, "</svg>"])


def _join(parts: Iterable[str]) -> SafeString:
    return mark_safe("".join(parts))  # safe: every foreign string in it went through escape
