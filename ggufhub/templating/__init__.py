"""Chat templates: parsed, judged without running, and rendered only inside a jail."""
