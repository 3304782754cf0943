"""What is free in the heap goes back to the system while the service runs.

Reports of all sizes come and go between what stays. By itself glibc gives back only what is free at
the very end of a heap: the holes before it would stay resident, more of them by the hour.
"""

import ctypes
import time
from collections.abc import Callable
from threading import Thread

EVERY_SECONDS = 30.0


def give_back() -> bool:
    """Give back every whole page that is free, a matter of milliseconds; whether the C library can
    (``malloc_trim``, glibc's alone)."""
    trim: Callable[[int], int] | None = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is None:
        return False
    trim(0)
    return True


def give_back_regularly() -> None:
    """Do so every half minute on a thread of its own, until this process ends."""
    Thread(target=_forever, name="memory", daemon=True).start()


def _forever() -> None:
    while give_back():
        time.sleep(EVERY_SECONDS)
