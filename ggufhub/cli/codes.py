"""Exit codes, and which findings make one."""

CLEAN, FINDINGS, USAGE, UNREADABLE, SERVER = 0, 1, 2, 3, 4
INTERRUPTED = 130
"""128 and the number of SIGINT, as shells have it."""

FAIL_ON: dict[str, tuple[str, ...]] = {
    "error": ("error",),
    "warning": ("error", "warning"),
    "info": ("error", "warning", "info"),
    "never": (),
}
"""Severities that fail a build, by the value of ``--fail-on``."""
