"""What a run of pip-audit means: nothing known, something found, or nobody there to ask."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

NOT_RUN = "dependency audit not run: the vulnerability data cannot be reached"

UNREACHABLE = ("ConnectionError", "Could not connect", "Max retries exceeded", "timed out")
"""What pip-audit, and the HTTP client below it, say where nobody answers."""


class Run(NamedTuple):
    """How one run of pip-audit ended: exit code, the JSON it printed, what it complained of."""

    code: int
    printed: str
    complaints: str = ""


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether the audit passes, and what to print."""

    passes: bool
    lines: tuple[str, ...]


def judge(strict: Run, lenient: Callable[[], Run]) -> Verdict:
    """The verdict on a strict run.

    A strict run ends at the first package that could not be audited, whether that is one of many or
    the data is out of reach; ``lenient``, which skips such packages, is run to tell the two apart.
    """
    if strict.code == 0:
        return Verdict(
            True, (f"dependency audit: {len(_packages(strict))} packages, no known fault",)
        )
    if found := _faults(strict):
        return Verdict(False, found)
    run = lenient()
    packages = _packages(run)
    skipped = tuple(one["skip_reason"] for one in packages if "skip_reason" in one)
    if len(skipped) < len(packages):
        return Verdict(False, (*_faults(run), *skipped))
    if packages or any(word in run.complaints for word in UNREACHABLE):
        return Verdict(True, (NOT_RUN,))
    return Verdict(False, ("dependency audit failed:", run.complaints or strict.complaints))


def _packages(run: Run) -> list[dict[str, Any]]:
    try:
        found: list[dict[str, Any]] = json.loads(run.printed)["dependencies"]
    except ValueError:
        return []
    return found


def _faults(run: Run) -> tuple[str, ...]:
    return tuple(
        f"{one['name']} {one['version']}: {fault['id']}, "
        f"fixed in {', '.join(fault['fix_versions']) or 'no version'}"
        for one in _packages(run)
        for fault in one.get("vulns", ())
    )
