"""Audits: every model of a repository, compared with the others and with the last time."""
