"""Numbers for people: sizes, counts and places."""

_UNITS = ("bytes", "kB", "MB", "GB", "TB", "PB", "EB", "ZB")


def human_bytes(count: int) -> str:
    """``6558720`` as ``6.6 MB``: powers of 1,000, as file managers and hubs count."""
    if abs(count) < 1000:
        return f"{count} {'byte' if count == 1 else 'bytes'}"
    size = float(count)
    for unit in _UNITS:
        if abs(size) < 999.95 or unit == _UNITS[-1]:
            return f"{size:,.1f} {unit}"
        size /= 1000
    raise AssertionError("unreachable")


def human_context(tokens: int) -> str:
    """``32768`` as ``32k``: contexts are counted in powers of two."""
    if tokens >= 1 << 20 and tokens % (1 << 20) == 0:
        return f"{tokens >> 20}M"
    return f"{tokens / 1024:.3g}k" if tokens >= 1024 else str(tokens)


def human_place(offset: int) -> str:
    """A byte offset as hexadecimal, eight digits or as many as it takes."""
    return f"0x{offset:08X}"


def human_share(part: float, whole: float) -> str:
    """``part`` of ``whole`` in percent; what is there but rounds to nothing is not called 0."""
    if not whole:
        return "0 %"
    share = 100 * part / whole
    return "< 0.1 %" if 0 < share < 0.05 else f"{share:.1f} %"


def human_seconds(seconds: float) -> str:
    """``0.413`` as ``0.41 s``, ``75`` as ``1 min 15 s``."""
    if seconds < 60:
        return f"{seconds:.2f} s"
    return f"{int(seconds // 60)} min {int(seconds % 60)} s"


def ranges(numbers: list[int]) -> str:
    """``[0, 1, 2, 5]`` as ``0–2, 5``. The numbers are sorted and distinct."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return ", ".join(str(a) if a == b else f"{a}\u2013{b}" for a, b in runs)
