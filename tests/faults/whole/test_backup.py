"""The commands of docs/backup.md: what is restored is what was there."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.faults.processes import ROOT, Database

PAGE = (ROOT / "docs" / "backup.md").read_text()

FILL = """
from pathlib import Path
from tests import rows
import tempfile
with tempfile.TemporaryDirectory() as folder:
    from tests.builders import vocabulary
    from ggufhub.rules.model_samples import llama
    for data in (llama(), vocabulary(5000).build()):
        rows.finished(*rows.kept(data, Path(folder)))
rows.queued(llama())
"""

TELL = """
from ggufhub.hub.models import ArrayChunk, HeaderBlock, Inspection, Report
import hashlib
print(sorted((r.pk.hex, r.digest, hashlib.sha256(bytes(r.document.data)).hexdigest())
             for r in Report.objects.all()))
print(sorted(Inspection.objects.values_list("name", "state")))
print(sorted(hashlib.sha256(bytes(c.data)).hexdigest() for c in ArrayChunk.objects.all()))
print(HeaderBlock.objects.count())
"""


def commands() -> list[str]:
    """The commands of the page, in its order."""
    found = re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL)
    return [block.replace("\\\n", "") for block in found]


class Place:
    """A data directory and its database."""

    def __init__(self, data: Path, url: str = "", path: str = "") -> None:
        self.data = data
        self.environment = {
            "PATH": f"{Path(sys.executable).parent}:{path}:{os.environ['PATH']}",
            "GGUFHUB_DATA": str(data),
            "GGUFHUB_BROKER_URL": "redis+socket:///nowhere.sock",
            **({"GGUFHUB_DATABASE_URL": url} if url else {}),
        }

    def run(self, *command: str) -> str:
        done = subprocess.run(
            command, cwd=ROOT, env=self.environment, capture_output=True, text=True, timeout=100
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def shell(self, text: str) -> str:
        return self.run("bash", "-euc", text)

    def python(self, code: str) -> str:
        return self.run(sys.executable, "manage.py", "shell", "--no-imports", "-c", code)

    def prepare(self) -> None:
        self.run(sys.executable, "manage.py", "prepare")


def test_sqlite(tmp_path: Path) -> None:
    place, other = Place(tmp_path / "one"), Place(tmp_path / "two")
    place.prepare()
    place.python(FILL)
    copy = tmp_path / "backup.sqlite3"
    place.shell(commands()[0].replace("backup.sqlite3", str(copy)))
    other.data.mkdir()
    copy.rename(other.data / "ggufhub.sqlite3")
    other.prepare()
    assert other.python(TELL) == place.python(TELL)
    assert "model.gguf" in place.python(TELL)


@pytest.mark.timeout(180)
def test_postgresql(tmp_path: Path) -> None:
    server = Database()
    try:
        place = Place(tmp_path / "one", server.url, server.programs)
        other = Place(tmp_path / "two", server.create("restored"), server.programs)
        place.prepare()
        place.python(FILL)
        dump = str(tmp_path / "backup.dump")
        place.shell(commands()[1].replace("backup.dump", dump))
        other.shell(commands()[2].replace("backup.dump", dump))
        assert other.python(TELL) == place.python(TELL)
    finally:
        server.stop()
