"""One module per kind of thing the API shows."""
