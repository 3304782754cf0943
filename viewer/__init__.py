"""The browser pages: what is stored, drawn on the server. They never read a model themselves."""
