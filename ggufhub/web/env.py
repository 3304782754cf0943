"""Environment variables, read strictly: a wrong value stops the start with a plain message."""

import os
from pathlib import Path

from django.core.exceptions import ImproperlyConfigured

TRUE = frozenset({"1", "true", "yes", "on"})
FALSE = frozenset({"0", "false", "no", "off", ""})


def text(name: str, default: str = "") -> str:
    """The variable without surrounding space, or ``default`` where it is unset or empty."""
    return os.environ.get(name, "").strip() or default


def flag(name: str, default: bool = False) -> bool:
    """A yes or no."""
    value = text(name, "yes" if default else "no").casefold()
    if value in TRUE:
        return True
    if value in FALSE:
        return False
    raise ImproperlyConfigured(f"{name} must be yes or no, not {value!r}.")


def number(name: str, default: int, *, least: int = 0, most: int = 2**63 - 1) -> int:
    """A whole number from ``least`` to ``most``."""
    value = text(name, str(default))
    try:
        result = int(value)
    except ValueError:
        raise ImproperlyConfigured(f"{name} must be a whole number, not {value!r}.") from None
    if not least <= result <= most:
        raise ImproperlyConfigured(f"{name} must be from {least} to {most}, not {result}.")
    return result


def choice(name: str, default: str, allowed: tuple[str, ...]) -> str:
    """One of a few words."""
    value = text(name, default)
    if value not in allowed:
        raise ImproperlyConfigured(f"{name} must be one of {', '.join(allowed)}, not {value!r}.")
    return value


def items(name: str) -> list[str]:
    """A list separated by commas; empty parts do not count."""
    return [part.strip() for part in text(name).split(",") if part.strip()]


def secret(name: str) -> str:
    """A secret from ``name`` or from the file that ``name_FILE`` points at; not from both."""
    direct, path = text(name), text(f"{name}_FILE")
    if direct and path:
        raise ImproperlyConfigured(f"Set {name} or {name}_FILE, not both.")
    if not path:
        return direct
    try:
        return Path(path).read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise ImproperlyConfigured(f"{name}_FILE cannot be read: {error}") from None
