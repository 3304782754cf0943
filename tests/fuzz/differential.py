"""Compare our verdict on the container with the reference C reader's, and explain differences."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from ggufhub.formats.tensor_types import TENSOR_TYPES
from ggufhub.rules.tensor_table import SIZE_MAX
from tests.core.reading import read, report
from tests.loader import load
from tests.reference import answers


def our_errors(data: bytes) -> set[str]:
    """Ids of structure rules that we report as errors, and ``limit`` where a budget was hit.

    STR032 is left out: the reference compares with the size of the file in its loader only.
    """
    document = report(data).document
    found = {f["rule"] for f in document["findings"] if f["severity"] == "error"}
    if document["error"] is not None and document["error"]["code"] == "limit":
        found.add("limit")
    return {rule for rule in found if rule == "limit" or rule.startswith("STR")} - {"STR032"}


def disagreements(
    samples: list[bytes], folder: Path
) -> Iterator[tuple[bytes, set[str], bool | None]]:
    """Samples on which we and the reference differ: (bytes, our errors, what it said)."""
    paths = []
    for number, data in enumerate(samples):
        path = folder / f"{number}.gguf"
        path.write_bytes(data)
        paths.append(path)
    for data, said in zip(samples, answers(paths), strict=True):
        ours = our_errors(data)
        if bool(ours) == (said is True):
            yield data, ours, said
    for path in paths:
        path.unlink()


def loading_disagreements(samples: list[bytes], folder: Path) -> list[tuple[set[str], str]]:
    """Samples that the full loader takes and we call broken, or the reverse.

    For each our errors and what the loader said. A load takes a quarter of a second.
    """
    found = []
    path = folder / "mutant.gguf"
    for data in samples:
        path.write_bytes(data)
        document = report(data).document
        ours = {f["rule"] for f in document["findings"] if f["severity"] == "error"}
        if document["verdict"] == "unreadable":
            ours.add("unreadable")
        loaded = load(path)
        if loaded.ok == bool(ours):
            found.append((ours, loaded.said))
    return found


def explain(ours: set[str], said: bool | None, data: bytes) -> str | None:
    """Why a difference is right, or None where nobody knows."""
    if said is None:
        return "the reference aborted or ran out of time"
    if not ours:
        return _why_refused(data)
    if _wraps(data):
        return "the reference computes elements x block size in 64 bits before it divides"
    return None


def _wraps(data: bytes) -> bool:
    """Whether a size wraps in ``ggml_nbytes`` (format notes, section 12)."""
    return any(
        tensor.elements * TENSOR_TYPES[tensor.type].size > SIZE_MAX
        for tensor in read(data).tensors
        if tensor.type in TENSOR_TYPES
    )


def _why_refused(data: bytes) -> str | None:
    found = {f["rule"] for f in report(data).document["findings"]}
    if "STR032" in found:
        return "the data section begins beyond the end of the file"
    return None


def tally(found: Iterator[tuple[bytes, set[str], bool | None]]) -> tuple[Counter, list[bytes]]:
    """Counts by explanation, and the samples that have none."""
    counts: Counter = Counter()
    unexplained = []
    for data, ours, said in found:
        why = explain(ours, said, data)
        counts[why or "UNEXPLAINED"] += 1
        if why is None:
            unexplained.append(data)
    return counts, unexplained
