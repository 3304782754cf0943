"""Digests and the places they are published in."""
