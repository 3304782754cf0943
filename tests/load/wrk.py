"""One run of wrk, and what it says."""

import re
import subprocess
from typing import NamedTuple

UNITS = {"us": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0}


class Figures(NamedTuple):
    """Requests a second, latencies in seconds, and how many requests failed or were refused."""

    rate: float
    p50: float
    p99: float
    errors: int

    def __str__(self) -> str:
        return (
            f"{self.rate:,.0f} | {self.p50 * 1000:.0f} ms | {self.p99 * 1000:.0f} ms "
            f"| {self.errors}"
        )


def wrk(port: int, path: str, connections: int, seconds: int) -> Figures:
    """Ask for ``path`` over and over with ``connections`` at once."""
    address = f"http://127.0.0.1:{port}{path}"
    words = ["wrk", "-t2", f"-c{connections}", f"-d{seconds}s", "--timeout", "10s", "--latency"]
    said = subprocess.run([*words, address], capture_output=True, text=True, check=True).stdout
    return parse(said)


def parse(said: str) -> Figures:
    """The figures in what wrk prints."""
    rate = re.search(r"Requests/sec:\s+([\d.]+)", said)
    assert rate is not None, said
    bad = re.search(r"Non-2xx or 3xx responses: (\d+)", said)
    broken = re.search(
        r"Socket errors: connect (\d+), read (\d+), write (\d+), timeout (\d+)", said
    )
    errors = int(bad[1]) if bad else 0
    errors += sum(map(int, broken.groups())) if broken else 0
    return Figures(float(rate[1]), _latency(said, "50%"), _latency(said, "99%"), errors)


def _latency(said: str, share: str) -> float:
    found = re.search(rf"^\s+{share}\s+([\d.]+)(us|ms|s|m)\s*$", said, re.MULTILINE)
    assert found is not None, said
    return float(found[1]) * UNITS[found[2]]
