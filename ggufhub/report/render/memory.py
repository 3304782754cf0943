"""What one way to run a model takes, and what would fit, as text for a terminal."""

from collections.abc import Iterator, Sequence

from ggufhub.report.codec import Json
from ggufhub.report.render.words import counted, visible

_GIB = 1 << 30
_COLUMNS = ("layers", "weights", "cache", "states", "compute", "total")
_WIDTH = 16


def fit_text(fit: dict[str, Json] | None, beside: Sequence[dict[str, Json]] = ()) -> str:
    """A table of places, what is loaded beside the model, and what fits; of the quants that lie
    ``beside`` it too."""
    if fit is None:
        return "There is nothing to estimate.\n"
    lines = [_setting(fit), *_places(fit), *_parts(fit), *_limit(fit), *_beside(beside)]
    return "\n".join(lines) + "\n"


def _setting(fit: dict[str, Json]) -> str:
    words = [
        f"{fit['context']:,} tokens of context",
        f"keys {fit['key_type']}",
        f"values {fit['value_type']}",
        counted(fit["sequences"], "sequence"),
        f"flash attention {'on' if fit['flash_attention'] else 'off'}",
    ]
    return ", ".join(words)


def _places(fit: dict[str, Json]) -> Iterator[str]:
    yield ""
    if fit["places"] is None:
        yield f"The cache of this architecture has no formula; weights: {_bytes(fit['weights'])}."
        return
    yield f"{'':<12}" + "".join(name.rjust(_WIDTH) for name in _COLUMNS)
    for number, place in enumerate(fit["places"]):
        name = f"device {number}" if number else "processor"
        yield f"{name:<12}" + "".join(f"{place[column]:>{_WIDTH},}" for column in _COLUMNS)
    bases = [f"{part} {fit[part]['basis']}" for part in ("weights", "cache", "states", "compute")]
    yield f"Bytes; {', '.join(bases)}. Every place that computes needs its own buffer."


def _bytes(figure: dict[str, Json]) -> str:
    return "unknown" if figure["bytes"] is None else f"{figure['bytes']:,} bytes"


def _parts(fit: dict[str, Json]) -> Iterator[str]:
    for part in fit["parts"]:
        size = "unknown" if part["bytes"] is None else f"{part['bytes']:,} bytes"
        yield f"{part['what']} {visible(part['name'])}: {size}"
    if fit["total"] is None:
        yield "In all: unknown."
    else:
        yield f"In all, on one device: {fit['total']:,} bytes ({fit['total'] / _GIB:.2f} GiB)."


def _limit(fit: dict[str, Json]) -> Iterator[str]:
    if fit["limit"] is None:
        return
    limit = f"{fit['limit'] / _GIB:.2f} GiB"
    yield ""
    if fit["total"] is None:
        yield f"Whether it fits into {limit} is unknown."
        return
    yield f"It {'fits' if fit['total'] <= fit['limit'] else 'does not fit'} into {limit}."
    largest = fit["largest_context"]
    yield "No context fits." if largest is None else f"Largest context that fits: {largest:,}."
    quants = fit["quants"] or []
    best = [quant for quant in quants if quant["fits"] and quant["mix"] != "F32"][:3]
    if quants and not best:
        yield "No quant of this model fits with this context."
    for quant in best:
        yield f"  {quant['mix']:<10} {quant['total'] / _GIB:>8.2f} GiB  {quant['note']}"


def _beside(quants: Sequence[dict[str, Json]]) -> Iterator[str]:
    """The quants that are really there, if there is more than one."""
    if len(quants) < 2:
        return
    yield ""
    best = next((quant for quant in quants if quant["fits"]), None)
    here = f"Of the {len(quants)} quants that lie here"
    if best is None:
        yield f"{here} none is known to fit."
    else:
        yield f"{here} the largest that fits is {visible(best['path'])}."
    for quant in quants:
        fits = {True: "fits", False: "too large", None: "unknown"}[quant["fits"]]
        total = "" if quant["total"] is None else f"{quant['total'] / _GIB:.2f} GiB"
        why = f"  {counted(quant['missing'], 'shard')} missing" if quant["missing"] else ""
        mark = "*" if quant["own"] else " "
        label = visible(quant["quant"])
        yield f" {mark}{label:<12} {total:>12}  {fits:<9}  {visible(quant['path'])}{why}"
    yield "By the sizes of their files, with the cache and buffers of the one marked *."


def sizes_text(rows: list[dict[str, Json]], real: tuple[int, int] | None) -> str:
    """The size of a model in every quant, and how its own compares with what was predicted."""
    if not rows:
        return "The sizes of this model cannot be predicted.\n"
    lines = [f"{'quant':<10} {'bytes of file':>18} {'bits/weight':>12}  what it is good for"]
    for row in rows:
        mark = "*" if row["own"] else " "
        need = "; needs an importance matrix" if row["imatrix"] else ""
        size, bits = f"{row['bytes']:,}", f"{row['bits_per_weight']:.2f}"
        lines.append(f"{row['mix']:<9}{mark} {size:>18} {bits:>12}  {row['note']}{need}")
    lines.append("")
    if real is not None:
        lines.append(_comparison(*real))
    return "\n".join(lines) + "\n"


def _comparison(real: int, predicted: int) -> str:
    if real == predicted:
        return "* The tensors of this file have exactly the size of this quant."
    share = 100 * (real - predicted) / max(predicted, 1)
    return (
        f"* The tensors of this file take {real:,} bytes; the quantiser's own mix would take "
        f"{predicted:,} ({share:+.1f} %): some were given other types by hand, or by another "
        "program."
    )
