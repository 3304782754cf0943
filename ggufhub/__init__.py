"""ggufhub: check a GGUF file before you trust it, and look inside it without downloading it."""

__version__ = "0.1.0"
