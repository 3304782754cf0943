"""A web server whose answers are long: the bridge and the real server, without the product."""

from collections.abc import Callable, Iterable
from typing import Any

from ggufhub.web.bridge import BLOCK, Bridge

THREADS = 2
BLOCKS = 320
"""20 MB: several times what the network holds for a client that does not read."""


def wsgi(environ: dict[str, Any], start: Callable[..., Any]) -> Iterable[bytes]:
    """``/long``, or something short."""
    start("200 OK", [("Content-Type", "application/octet-stream")])
    if environ["PATH_INFO"] == "/long":
        return (bytes(BLOCK) for _ in range(BLOCKS))
    return [b"short"]


application = Bridge(wsgi, THREADS)
