"""ggufhub: check a GGUF file before you trust it, and look inside it without downloading it."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ggufhub.python import inspect

__all__ = ["__version__", "inspect"]

__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    """``inspect`` is loaded when somebody asks for it: importing ggufhub stays free."""
    if name == "inspect":
        from ggufhub.python import inspect

        return inspect
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
