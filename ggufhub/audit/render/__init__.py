"""Audits in every format, as pieces of text: ten thousand models never lie in memory at once."""

AUDIT_FORMAT_NAMES = ("text", "json", "ndjson", "csv", "sarif", "junit", "markdown", "html")
"""The keys of ``formats.AUDIT_FORMATS``, to be had without loading any of them."""
