"""Reading a policy: TOML from a file, or the same fields as JSON. Every field is checked."""

import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import asdict
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from ggufhub.errors import UsageError
from ggufhub.rules.policy import Policy
from ggufhub.rules.registry import AREAS, Severity, catalogue

MAX_ENTRIES = 1000
"""In one list or table; the longest sensible one names every rule."""

_LARGEST = 2**63 - 1
_UNITS = {"": 1, "B": 1}
_UNITS |= {f"{unit}B": 1000**power for power, unit in enumerate("KMGT", 1)}
_UNITS |= {f"{unit}iB": 1024**power for power, unit in enumerate("KMGT", 1)}
_SIZE = re.compile(r"(\d{1,12}(?:\.\d{1,6})?) ?([KMGT]?i?B?)")


class _Wrong(Exception):
    """What is wrong with one field; ``field`` is its dotted name."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(message)
        self.field = field if field.isprintable() else ascii(field)


def read_policy(path: Path) -> Policy:
    """The policy in a TOML file. ``UsageError`` names the file and the line that is wrong."""
    try:
        text = path.read_text(encoding="utf-8")
        values = tomllib.loads(text)
    except OSError as error:
        raise UsageError(f"the policy {path} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"the policy {path} is not UTF-8 text") from error
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"the policy {path} is not TOML: {error}") from error
    try:
        return _policy(values)
    except _Wrong as wrong:
        line = _line_of(text, wrong.field)
        raise UsageError(f"the policy {path}, line {line}: {wrong.field}: {wrong}") from wrong


def parse_policy(values: Mapping[str, Any]) -> Policy:
    """The policy in a mapping with the fields of the file. ``UsageError`` names the wrong field."""
    try:
        return _policy(values)
    except _Wrong as wrong:
        raise UsageError(f"policy.{wrong.field}: {wrong}") from wrong


def policy_values(policy: Policy) -> dict[str, Any]:
    """The fields that are set, as ``parse_policy`` and JSON take them."""
    values = {name: value for name, value in asdict(policy).items() if value}
    return {name: list(v) if isinstance(v, tuple) else v for name, v in values.items()}


def _policy(values: Mapping[str, Any]) -> Policy:
    for name in values:
        if name not in _FIELDS:
            raise _Wrong(name, f"there is no such field{_meant(name, list(_FIELDS))}")
    return Policy(**{name: _FIELDS[name](name, value) for name, value in values.items()})


def _line_of(text: str, field: str) -> int:
    """The first line on which the last part of the dotted name is set; 1 if it cannot be found."""
    name = re.escape(field.rpartition(".")[2])
    found = re.search(rf"^\s*\[*\s*(?:[\w-]+\.)*[\"']?{name}[\"']?\s*[=\]]", text, re.MULTILINE)
    return text.count("\n", 0, found.end()) + 1 if found else 1


def _meant(name: str, known: list[str]) -> str:
    close = get_close_matches(name, known, 1)
    return f"; did you mean {close[0]}?" if close else ""


def _texts(field: str, value: Any) -> tuple[str, ...]:
    good = isinstance(value, list) and all(_is_text(item) for item in value)
    if not good or len(value) > MAX_ENTRIES:
        raise _Wrong(field, "must be a list of texts")
    return tuple(value)


def _is_text(value: Any) -> bool:
    """Words on one line. NUL and lone surrogates, which databases refuse, are not printable."""
    return isinstance(value, str) and bool(value.strip()) and value.isprintable()


def _table(field: str, value: Any) -> dict[str, str]:
    if not isinstance(value, dict) or len(value) > MAX_ENTRIES:
        raise _Wrong(field, "must be a table of rules")
    return value


def _rule(field: str, name: str, *, areas: bool = True) -> str:
    known = [rule.id for rule in catalogue()] + (list(AREAS) if areas else [])
    if name.upper() in known:
        return name.upper()
    raise _Wrong(field, f"there is no rule {name!r}{_meant(name.upper(), known)}")


def _select(field: str, value: Any) -> tuple[str, ...]:
    return tuple(_rule(field, name) for name in _texts(field, value))


def _ignore(field: str, value: Any) -> dict[str, str]:
    reasons = {}
    for name, reason in _table(field, value).items():
        place = f"{field}.{name}"
        if not _is_text(reason):
            raise _Wrong(place, "an ignored rule needs a reason, as text on one line")
        reasons[_rule(place, name)] = reason.strip()
    return reasons


def _severity(field: str, value: Any) -> dict[str, str]:
    severities = {}
    words = [severity.value for severity in Severity]
    for name, word in _table(field, value).items():
        place = f"{field}.{name}"
        if word not in words:
            raise _Wrong(place, f"must be one of {', '.join(words)}, not {word!r}")
        severities[_rule(place, name, areas=False)] = word
    return severities


def _size(field: str, value: Any) -> int:
    """Bytes from a whole number or from a text such as ``"8 GiB"``."""
    if isinstance(value, str) and (match := _SIZE.fullmatch(value.strip())):
        factor = _UNITS.get(match[2])
        value = None if factor is None else int(float(match[1]) * factor)
    if isinstance(value, bool) or not isinstance(value, int) or not 0 < value <= _LARGEST:
        raise _Wrong(field, 'must be a size such as 4000000000 or "4 GiB"')
    return value


def _bits(field: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= 64:
        raise _Wrong(field, "must be a number of bits from 0 to 64")
    return float(value)


def _flag(field: str, value: Any) -> bool:
    if not isinstance(value, bool):
        raise _Wrong(field, "must be true or false")
    return value


_FIELDS: dict[str, Callable[[str, Any], Any]] = {
    "select": _select,
    "ignore": _ignore,
    "severity": _severity,
    "required_keys": _texts,
    "allowed_licenses": _texts,
    "max_size": _size,
    "min_bits_per_weight": _bits,
    "require_template": _flag,
}
