"""Renders: a document in the form somebody wants to read. They never see bytes."""
