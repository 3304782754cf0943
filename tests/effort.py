"""How much work something is, however busy the machine is."""

import time
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def cpu_seconds(most: float) -> Iterator[None]:
    """Fails if what runs inside takes this process more than ``most`` seconds of CPU time.

    Bounds are ten times what is needed and far below what a quadratic way would take.
    """
    began = time.process_time()
    yield
    took = time.process_time() - began
    assert took <= most, f"{took:.2f} s"
