"""Reads the tables out of the source tree of llama.cpp."""
