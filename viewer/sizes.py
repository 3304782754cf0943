"""The sizes one model would have in every quant, and which of them fit."""

from dataclasses import dataclass
from functools import lru_cache

from django.utils.safestring import SafeString, mark_safe

from ggufhub.estimate.memory import Estimate
from ggufhub.estimate.quants import Size, real_and_predicted, sizes
from ggufhub.hub import selectors
from ggufhub.hub.models import Report

NOT_ADVISED = frozenset({"F32"})
"""Mixes that are never named as the best that fits: nothing is gained by running them."""

MOST_KEPT = 128
"""Models whose sizes are kept: 35 rows each. Of the most tensors they take three seconds."""

_BAR = 100


@dataclass(frozen=True, slots=True)
class Row:
    """One quant: its predicted size, what it takes in all (bytes; None where the cache is not
    known), whether that fits (None where nobody asked), and a bar to scale."""

    size: Size
    total: int | None
    fits: bool | None
    bar: SafeString


@dataclass(frozen=True, slots=True)
class Sizes:
    """Every quant, the least loss first; the best that fits; ``real`` bytes of the tensors of
    this file and those ``predicted`` for the quant it says it is in, where there is one."""

    rows: list[Row]
    best: Row | None
    real: int | None
    predicted: int | None

    @property
    def deviation(self) -> float | None:
        """By how many percent the real size is above the predicted one; 0 where it is that."""
        if self.real is None or not self.predicted:
            return None
        return 100 * (self.real - self.predicted) / self.predicted


@lru_cache(maxsize=MOST_KEPT)
def _predicted(report: Report) -> tuple[tuple[Size, ...], tuple[int, int] | None]:
    """Worked out once: a report never changes, and is told from others by its id."""
    document = selectors.document(report)
    return tuple(sizes(document)), real_and_predicted(document)


def sizes_of(report: Report, estimate: Estimate, limit: int | None) -> Sizes:
    """The model of ``report`` in every quant, run as in ``estimate``, with ``limit`` bytes of
    memory. No rows where its sizes cannot be predicted."""
    known, own = _predicted(report)
    total = estimate.total
    beside = None if total is None else total - (estimate.weights.bytes or 0)
    largest = max([one.bytes for one in known], default=1)
    rows = [_row(one, beside, limit, largest) for one in known]
    fitting = (row for row in rows if row.fits and row.size.mix not in NOT_ADVISED)
    return Sizes(rows, next(fitting, None), *(own or (None, None)))


def _row(size: Size, beside: int | None, limit: int | None, largest: int) -> Row:
    total = None if beside is None else size.tensor_bytes + beside
    fits = None if total is None or limit is None else total <= limit
    return Row(size, total, fits, _bar(size.bytes / largest, fits))


def _bar(share: float, fits: bool | None) -> SafeString:
    colour = "m-p" if fits is False else "r5"
    return mark_safe(  # safe: numbers and words of ours only
        f'<svg class="size" viewBox="0 0 {_BAR} 6" preserveAspectRatio="none" aria-hidden="true">'
        f'<rect width="{_BAR * share:.2f}" height="6" class="{colour}"/></svg>'
    )
