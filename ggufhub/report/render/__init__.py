"""Renders of report documents. Each reads documents only, never bytes."""

FORMAT_NAMES = ("text", "json", "sarif", "junit", "markdown", "github")
"""The keys of ``formats.FORMATS``, to be had without loading any of them."""
