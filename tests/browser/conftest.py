"""A real server with a real worker, and Chromium in front of it.

``GGUFHUB_CHROMIUM`` names another Chromium than ``/usr/bin/chromium``.
"""

import os
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from tests.core.rangeserver import RangeServer
from tests.live import wait_for

ROOT = Path(__file__).parent.parent.parent
CHROMIUM = os.environ.get("GGUFHUB_CHROMIUM", "/usr/bin/chromium")

Opener = Callable[..., Page]


@pytest.fixture(scope="package")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a whole service, started the way users start it."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        bind = f"127.0.0.1:{probe.getsockname()[1]}"
    server = serve(bind, tmp_path_factory.mktemp("data"))
    try:
        yield f"http://{bind}"
    finally:
        server.terminate()
        server.wait(60)


def serve(bind: str, data: Path) -> "subprocess.Popen[bytes]":
    """The running service, ready to answer at ``bind``."""
    ours = {name: value for name, value in os.environ.items() if not name.startswith("GGUFHUB_")}
    environment = ours | {
        "GGUFHUB_DATA": str(data),
        "GGUFHUB_BIND": bind,
        "GGUFHUB_ALLOWED_NETWORKS": "127.0.0.0/8",
    }
    command = [sys.executable, str(ROOT / "manage.py"), "serve"]
    server = subprocess.Popen(command, cwd=ROOT, env=environment, stderr=subprocess.DEVNULL)
    wait_for(lambda: _answers(server, f"http://{bind}/healthz"), 60)
    return server


def _answers(server: "subprocess.Popen[bytes]", url: str) -> bool:
    assert server.poll() is None, "the server ended"
    try:
        urllib.request.urlopen(url, timeout=2).close()
    except OSError:
        return False
    return True


# The package's scope: a running Playwright keeps an event loop, which Django's tests refuse.
@pytest.fixture(scope="package")
def chromium() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def complaints() -> list[str]:
    """What the pages of this test wrote to their consoles as errors."""
    return []


@pytest.fixture
def opened(site: str, chromium: Browser, complaints: list[str]) -> Iterator[Opener]:
    """Opens a path in a fresh profile; at the end no page may have complained in its console."""
    contexts = []

    def open_page(path: str = "/", **options: object) -> Page:
        context = chromium.new_context(base_url=site, **options)
        context.set_default_timeout(15_000)
        contexts.append(context)
        page = context.new_page()
        page.on(
            "console", lambda said: complaints.append(said.text) if said.type == "error" else None
        )
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.goto(path)
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert complaints == []


@pytest.fixture
def models() -> Iterator[RangeServer]:
    """A file server on loopback, empty at first."""
    with RangeServer() as server:
        yield server
