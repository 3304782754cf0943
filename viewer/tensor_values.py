"""What was seen of the data of each tensor, where every byte was read: numbers of a sample,
counts over all blocks, tensors that are equal, and findings about one."""

from collections.abc import Callable
from typing import Any

SAMPLE = 16_384
"""Weights taken from one tensor at most, about (``ggufhub.integrity.sampling``)."""

DIGEST = "xxh64"

Tensor = dict[str, Any]

Content = tuple[str, str, int]
"""What the bytes of a tensor are: digest, type and length."""

SORTS = (
    ("name", "Name"),
    ("mean", "Mean"),
    ("deviation", "Deviation"),
    ("least", "Least"),
    ("most", "Greatest"),
    ("zeros", "Zeros"),
    ("sampled", "Sampled"),
    ("zero_blocks", "Zero blocks"),
    ("constant_rows", "Constant rows"),
    ("scale", "Largest scale"),
)
"""What the table may be sorted by, with the titles of the columns."""


def _sample(name: str) -> Callable[[Tensor], Any]:
    def value(tensor: Tensor) -> Any:
        sample = (tensor.get("data") or {}).get("sample")
        return None if sample is None else sample[name]

    return value


def _share(part: int | None, whole: int | None) -> float | None:
    return part / whole if part is not None and whole else None


def _zeros(tensor: Tensor) -> float | None:
    return _share(_sample("zeros")(tensor), _sample("elements")(tensor))


def _sampled(tensor: Tensor) -> float | None:
    return _share(_sample("elements")(tensor), tensor["elements"])


def _counted(part: str, whole: str) -> Callable[[Tensor], float | None]:
    def value(tensor: Tensor) -> float | None:
        data = tensor.get("data") or {}
        return _share(data.get(part), data.get(whole))

    return value


def _scale(tensor: Tensor) -> float | None:
    scales = (tensor.get("data") or {}).get("scales")
    largest: float | None = None if scales is None else scales[1]
    return largest


_VALUES: dict[str, Callable[[Tensor], Any]] = {
    "name": lambda tensor: tensor["name"],
    **{name: _sample(name) for name in ("mean", "deviation", "least", "most")},
    "zeros": _zeros,
    "sampled": _sampled,
    "zero_blocks": _counted("zero_blocks", "blocks"),
    "constant_rows": _counted("constant_rows", "rows"),
    "scale": _scale,
}


def ordered(tensors: list[Tensor], sort: str) -> list[Tensor]:
    """By the column ``sort`` (``-`` reverses), those without a value last; else as they came."""
    value = _VALUES.get(sort.removeprefix("-"))
    if value is None:
        return tensors
    known = [tensor for tensor in tensors if value(tensor) is not None]
    unknown = [tensor for tensor in tensors if value(tensor) is None]
    return [*sorted(known, key=value, reverse=sort.startswith("-")), *unknown]


def shown(tensor: Tensor, first: dict[Content, str]) -> dict[str, Any]:
    """One row: the name, the type, the value of every column, and the name of an earlier tensor
    with the same data (None where there is none)."""
    same = first.get(_content(tensor) or ("", "", 0))
    values = {name: value(tensor) for name, value in _VALUES.items()}
    return values | {
        "type": tensor["type"],
        "same": same if same != tensor["name"] else None,
    }


def first_of_equals(tensors: list[Tensor]) -> dict[Content, str]:
    """The name of the first tensor with each content."""
    found: dict[Content, str] = {}
    for tensor in tensors:
        content = _content(tensor)
        if content is not None:
            found.setdefault(content, tensor["name"])
    return found


def _content(tensor: Tensor) -> Content | None:
    digest = (tensor.get("data") or {}).get("digests", {}).get(DIGEST)
    known = digest is not None and tensor["bytes"]
    return (digest, tensor["type"], tensor["bytes"]) if known else None


def hits(findings: list[dict[str, Any]]) -> dict[str, list[tuple[str, str]]]:
    """Rule and severity of the findings that name a tensor, each once, by that tensor."""
    found: dict[str, dict[tuple[str, str], None]] = {}
    for finding in findings:
        name = finding["place"].get("tensor")
        if name is not None:
            found.setdefault(name, {})[finding["rule"], finding["severity"]] = None
    return {name: list(rules) for name, rules in found.items()}
