"""Audits in every format, as pieces of text: ten thousand models never lie in memory at once."""
