"""What the form of the Memory tab asks for, by the names the API uses. Nonsense falls back."""

from dataclasses import dataclass
from uuid import UUID

from django.http import QueryDict

from ggufhub.errors import UsageError
from ggufhub.estimate.cache import KV_TYPES, Setting
from ggufhub.estimate.fit import amount
from ggufhub.estimate.placement import EVERYTHING, Placement
from ggufhub.hub.beside import KINDS
from viewer.paging import whole_number

MOST_CONTEXT = 1 << 30
MOST_SEQUENCES = 256
MOST_SHARE = 1_000_000
"""Of one device in a split, as in the API: shares only count against each other."""


@dataclass(frozen=True, slots=True)
class Asked:
    """How the model is to be run, where it is to lie, the reports of what is loaded beside it,
    and the memory there is, in GiB as written ('' where that was not asked) and in bytes.
    ``problem`` is what the form has to say."""

    setting: Setting
    placement: Placement
    beside: dict[str, UUID]
    gib: str
    limit: int | None
    problem: str | None

    @property
    def placed(self) -> bool:
        """Whether it is to lie anywhere else than wholly on one device."""
        return self.placement != Placement()

    @property
    def offloaded(self) -> int | None:
        layers = self.placement.offloaded
        return None if layers == EVERYTHING else layers

    @property
    def split(self) -> str:
        shares = self.placement.split
        return ",".join(f"{share:g}" for share in shares) if len(shares) > 1 else ""

    @property
    def rare(self) -> bool:
        """Whether anything below the fold of the form was asked for."""
        setting = self.setting
        same = setting.key_type == setting.value_type
        unusual = not same or not setting.unified or setting.full_window
        return self.placed or unusual or bool(self.beside)


def asked_of(query: QueryDict, trained: int) -> Asked:
    """Everything the form says of a model that was trained for so many tokens."""
    gib, limit = memory_of(query)
    context = whole_number(query.get("context"), None)
    split, problem = _split(query.get("split", ""))
    if context is not None and context > trained:
        problem = f"The model was trained for {trained:,} tokens; beyond that it gets worse."
    layers = whole_number(query.get("offload"), None)
    placement = Placement(EVERYTHING if layers is None else layers, split)
    setting = _setting(query, context or trained)
    return Asked(setting, placement, _beside(query), gib, limit, problem)


def memory_of(query: QueryDict) -> tuple[str, int | None]:
    """The memory there is: GiB as they were written, and bytes; ``('', None)`` for no amount."""
    written = query.get("gib", "").strip().replace(",", ".")
    try:
        return written, amount(f"{written}G")
    except UsageError:
        return "", None


def _setting(query: QueryDict, context: int) -> Setting:
    keys = _kind(query.get("kv"), "F16")
    sequences = whole_number(query.get("sequences"), 1) or 1
    return Setting(
        min(context, MOST_CONTEXT),
        keys,
        _kind(query.get("kv_values"), keys),
        min(sequences, MOST_SEQUENCES),
        unified=query.get("unified") != "off",
        flash_attention=query.get("flash") != "off",
        full_window=query.get("swa_full") == "on",
    )


def _beside(query: QueryDict) -> dict[str, UUID]:
    found = {}
    for what in KINDS:
        try:
            found[what] = UUID(query.get(what, ""))
        except ValueError:
            continue
    return found


def _kind(asked: str | None, fallback: str) -> str:
    return asked if asked in KV_TYPES else fallback


def _split(text: str) -> tuple[tuple[float, ...], str | None]:
    """Shares such as ``3,1``; one device, and what is wrong, where they make no sense."""
    numbers = [whole_number(share.strip(), None) for share in text.split(",")] if text else [1]
    shares = tuple(float(min(number, MOST_SHARE)) for number in numbers if number is not None)
    if len(shares) < len(numbers):
        return (1.0,), "Devices share the layers by whole numbers, for example 3,1."
    try:
        Placement(split=shares).check()
    except UsageError as error:
        return (1.0,), error.message
    return shares, None
