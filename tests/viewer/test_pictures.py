"""The pictures: colours by bits, cells by block and role, maps to scale."""

import re
from typing import Any

from viewer import filemap, svg
from viewer.ramp import STEPS, ramp


def share(name: str, bits: float) -> dict[str, Any]:
    return {"type": name, "tensors": 1, "bytes": int(bits * 1000), "elements": 8000}


def tensor(block: int | None, role: str, kind: str, size: int = 10) -> dict[str, Any]:
    return {"name": f"{block}.{role}", "block": block, "role": role, "type": kind, "bytes": size}


def piece(what: str, name: str, offset: int, length: int) -> dict[str, Any]:
    return {"what": what, "name": name, "offset": offset, "length": length}


def test_more_bits_are_a_later_step_whatever_the_order() -> None:
    steps = ramp([share("F32", 32), share("Q4_K", 4.5), share("Q8_0", 8.5), share("Q5_0", 5.5)])
    ordered = sorted(steps, key=lambda name: int(steps[name][1:]))
    assert ordered == ["Q4_K", "Q5_0", "Q8_0", "F32"]


def test_a_type_has_the_same_step_in_different_files() -> None:
    assert (
        ramp([share("Q4_K", 4.5)])["Q4_K"] == ramp([share("Q4_K", 4.5), share("F32", 32)])["Q4_K"]
    )


def test_types_of_equal_bits_can_be_told_apart() -> None:
    steps = ramp([share("Q4_0", 4.5), share("Q4_K", 4.5), share("IQ4_NL", 4.5), share("F64", 64)])
    assert len(set(steps.values())) == 4


def test_more_types_than_steps_still_all_have_one() -> None:
    steps = ramp([share(f"T{n:02}", n) for n in range(30)])
    assert len(steps) == 30
    assert {int(step[1:]) for step in steps.values()} <= set(range(STEPS))


def test_neighbouring_blocks_of_one_type_are_one_rectangle() -> None:
    rows, shown, blocks = svg.heat_rows(
        [tensor(block, "attn_v", "Q6_K" if block == 2 else "Q4_K") for block in range(5)]
    )
    assert (shown, blocks) == (5, 5)
    assert [(run.first, run.last, run.type) for run in rows[0].runs] == [
        (0, 1, "Q4_K"), (2, 2, "Q6_K"), (3, 4, "Q4_K"),
    ]  # fmt: skip
    assert rows[0].words == [("Q4_K", "0–1, 3–4"), ("Q6_K", "2")]


def test_the_largest_tensor_of_a_role_decides() -> None:
    rows, _, _ = svg.heat_rows([tensor(0, "attn_q", "Q4_K", 900), tensor(0, "attn_q", "F32", 4)])
    assert rows[0].runs == [svg.Run(0, 0, "Q4_K")]


def test_roles_stand_in_the_order_a_block_computes() -> None:
    rows, _, _ = svg.heat_rows([tensor(0, role, "F32") for role in ("other", "ffn_up", "attn_q")])
    assert [row.role for row in rows] == ["attn_q", "ffn_up", "other"]


def test_a_file_that_claims_a_million_blocks_gets_a_small_picture() -> None:
    tensors = [tensor(block, f"role{block % 9}", "F32") for block in range(0, 999_999_999, 50_000)]
    rows, shown, blocks = svg.heat_rows(tensors)
    assert blocks > 999_000_000
    assert shown * len(rows) <= svg.MOST_CELLS
    assert len(svg.heat_map(rows, shown, {}, lambda role, kind: "#")) < 200_000


def test_a_hostile_role_stays_text() -> None:
    rows, shown, _ = svg.heat_rows([tensor(0, '"><script>\u202e', "<b>")])
    drawn = svg.heat_map(rows, shown, {}, lambda role, kind: f"?q={role}")
    assert "<script" not in drawn and "<b>" not in drawn and "\u202e" not in drawn.split("?q=")[0]


def test_a_bar_is_to_scale_but_shows_the_smallest_part() -> None:
    parts = [svg.Segment("big", 10**9, "m-d"), svg.Segment("tiny", 1, "m-x")]
    widths = [
        float(width)
        for width in re.findall(r' width="([\d.]+)"', svg.bar(parts, "x", height=9, least=6))
    ]
    assert widths[0] > 980
    assert 4 < widths[1] < 7


def test_the_map_sums_what_belongs_together() -> None:
    document = {
        "tensors": [tensor(None, "token_embd", "F32"), tensor(0, "attn_q", "F32")],
        "layout": [
            piece("header", "", 0, 24), piece("key", "a", 24, 6), piece("tensor table", "", 30, 70),
            piece("padding", "", 100, 28), piece("tensor", "None.token_embd", 128, 500),
            piece("tensor", "0.attn_q", 628, 300), piece("missing", "", 900, 28),
        ],
    }  # fmt: skip
    assert [(part.label, part.size) for part in filemap.overview(document)] == [
        ("header", 100), ("embeddings", 500), ("1 block", 300), ("padding", 28), ("missing", 28),
    ]  # fmt: skip


def test_a_byte_is_found_in_the_piece_that_holds_it() -> None:
    layout = [
        piece("header", "", 0, 24),
        piece("tensor", "a", 32, 100),
        piece("missing", "", 120, 12),
    ]
    assert [filemap.index_at(layout, at) for at in (0, 23, 40, 125, 5000)] == [0, 0, 1, 2, 2]
    assert filemap.index_at([], 5) is None


def test_the_detailed_map_stays_small() -> None:
    layout = [piece("tensor", f"t{n}", n * 10, 10) for n in range(100_000)]
    parts = filemap.detailed(layout, 0, 1_000_000, lambda offset: f"?at={offset}")
    assert len(parts) <= 2 * filemap.MOST_SEGMENTS
    assert sum(part.size for part in parts) == 1_000_000
