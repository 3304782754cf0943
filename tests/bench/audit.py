"""`make bench-audit`: 10,000 models in one audit, from disk and over loopback HTTP.

Twenty distinct headers, one of them of a megabyte, all but that with a chat template as most models
have, one model in twenty broken. Measured: files a second, CPU of a file, peak memory of each
process, requests and the size of the database; then all of it again unchanged; then anew while two
worker processes are killed on the way. Counts are checked against what was made: a model that is
lost or inspected twice ends the bench.

`--organisation 300` audits an organisation of so many repositories on a hub that pages its lists
and allows a number of requests in each window: by the command and by the service. Whoever asks for
more than is left of the listing's quota ends the bench.
"""

import argparse
import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ggufhub.rules.model_samples import llama
from ggufhub.rules.template_samples import CHATML
from tests.audit.fakeorg import FakeOrganisation, Window
from tests.builders import vocabulary
from tests.core.rangeserver import RangeServer

HEADERS = 20
BROKEN_EVERY = 20
PORT = 8123

API, RESOLVERS = (170, 20.0), (70, 20.0)
"""Requests of a window and its seconds. The real hub allows 500 and 3,000 in five minutes to who
has no account; here both run out, and every wait is shorter."""


def make(number: int) -> bytes:
    """Model ``number``: header ``number % 20``, with a name of its own."""
    kind = number % HEADERS
    name = f"Model {number}"
    if number % BROKEN_EVERY == 7:
        return llama({"general.name": name})[: 200 + number % 400]
    if kind == 0:
        return vocabulary(45_000).key("general.basename", name).build()
    keys = {"general.name": name, "general.size_label": "21K", "llama.context_length": 64 + kind}
    return llama({**keys, "tokenizer.chat_template": f"{{# Header {kind} #}}{CHATML}"})


def broken(count: int) -> int:
    return sum(1 for number in range(count) if number % BROKEN_EVERY == 7)


def path_of(number: int) -> str:
    return f"r{number // 100:03}/m{number:05}.gguf"


def write(folder: Path, count: int) -> None:
    for number in range(count):
        path = folder / path_of(number)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(make(number))


class Memory:
    """The most memory (MiB) that a process below one of ours took: ``peaks`` by what it is."""

    def __init__(self, pid: int) -> None:
        self.peaks: dict[str, float] = {}
        self._pid = pid
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def stop(self) -> float:
        self._over.set()
        self._thread.join()
        return max(self.peaks.values(), default=0.0)

    def _watch(self) -> None:
        while not self._over.wait(0.5):
            for pid in [self._pid, *children(self._pid)]:
                kind = kind_of(pid)
                self.peaks[kind] = max(self.peaks.get(kind, 0.0), peak_of(pid))


def children(pid: int) -> list[int]:
    """All descendants."""
    found: list[int] = []
    try:
        direct = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except OSError:
        return found
    for child in map(int, direct):
        found += [child, *children(child)]
    return found


def peak_of(pid: int) -> float:
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return 0.0
    line = next((line for line in status.splitlines() if line.startswith("VmHWM")), "0 0")
    return int(line.split()[1]) / 1024


def from_disk(folder: Path, count: int, state: Path) -> None:
    """`ggufhub audit` on a folder, twice."""
    for words in ("from disk", "from disk, unchanged"):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        began = time.monotonic()
        command = [sys.executable, "-m", "ggufhub.cli", "audit", str(folder), "--format", "json"]
        command += ["--state", str(state), "--fail-on", "never"]
        process = subprocess.Popen(command, stdout=subprocess.PIPE)
        memory = Memory(process.pid)
        assert process.stdout is not None
        document = json.loads(process.stdout.read())
        process.wait()
        seconds = time.monotonic() - began
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        check(document["totals"], count)
        report(words, count, seconds, cpu=cpu, memory=memory.stop())


def check(totals: dict[str, int], count: int) -> None:
    unsound = totals["fail"] + totals["unreadable"]
    assert totals["models"] == count, totals
    assert unsound == broken(count), totals


def report(words: str, count: int, seconds: float, **figures: float) -> None:
    told = ", ".join(f"{name} {value:,.1f}" for name, value in figures.items())
    each = 1000 * figures["cpu"] / count if "cpu" in figures else 0.0
    per_file = f", {each:.1f} ms of CPU a file" if each else ""
    print(f"{words}: {seconds:.1f} s, {count / seconds:,.0f} files/s{per_file}; {told}", flush=True)


class Service:
    """The whole product on a port of its own, with data of its own."""

    def __init__(self, data: Path, **more: str) -> None:
        self.data = data
        environment = {
            **os.environ,
            **more,
            "GGUFHUB_DATA": str(data),
            "GGUFHUB_BIND": f"127.0.0.1:{PORT}",
            "GGUFHUB_ALLOWED_NETWORKS": "127.0.0.0/8",
            "GGUFHUB_LOG_LEVEL": "ERROR",
        }
        self.process = subprocess.Popen(
            [sys.executable, "-m", "ggufhub.cli", "serve"], env=environment
        )
        self._wait()

    def _wait(self) -> None:
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{PORT}/readyz", timeout=1).read()
                return
            except OSError:
                time.sleep(0.2)
        raise SystemExit("the service did not start")

    def call(self, place: str, body: Any = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"http://127.0.0.1:{PORT}/api/v1{place}", data)
        request.add_header("Content-Type", "application/json")
        with urllib.request.urlopen(request, timeout=60) as answer:
            return json.loads(answer.read())

    def audit(self, **order: Any) -> Iterator[dict[str, Any]]:
        """Begin an audit; its state about every second until it has ended."""
        made = self.call("/audits", order)
        while True:
            state = self.call(f"/audits/{made['id']}")
            yield state
            if state["state"] not in ("queued", "running"):
                return
            time.sleep(1)

    def cpu(self) -> float:
        """Seconds of CPU of all processes alive."""
        ticks = 0
        for pid in [self.process.pid, *children(self.process.pid)]:
            try:
                fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            ticks += sum(map(int, fields[11:15]))
        return ticks / os.sysconf("SC_CLK_TCK")

    def workers(self) -> list[int]:
        """Processes that inspect."""
        return [pid for pid in children(self.process.pid) if "celery" in command_of(pid)]

    def database_mib(self) -> float:
        return sum(file.stat().st_size for file in self.data.glob("*.sqlite3*")) / 2**20

    def stop(self) -> None:
        self.process.send_signal(signal.SIGTERM)
        self.process.wait()


def kind_of(pid: int) -> str:
    """What a process of the service is for: web, broker, or the name of a worker."""
    words = command_of(pid).split("\0")
    if "celery" in words:
        return words[words.index("-n") + 1].partition("@")[0] if "-n" in words else "inspect"
    names = {"web.server": "web", "valkey": "broker", "redis": "broker"}
    return next((kind for name, kind in names.items() if name in " ".join(words)), "other")


def command_of(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text()
    except OSError:
        return ""


def over_http(folder: Path, count: int, data: Path) -> None:
    """The service: a list of links, the same again, and a third with workers killed."""
    files = {path_of(number): (folder / path_of(number)).read_bytes() for number in range(count)}
    with RangeServer(files) as server:
        service = Service(data)
        memory = Memory(service.process.pid)
        urls = [server.url(path_of(number)) for number in range(count)]
        try:
            for words in ("over HTTP", "over HTTP, unchanged"):
                _measured(service, server, words, urls)
            other = [f"{url}?again" for url in urls]
            _measured(service, server, "over HTTP, two workers killed", other, kill=2)
        finally:
            memory.stop()
            peaks = ", ".join(f"{kind} {peak:.0f}" for kind, peak in sorted(memory.peaks.items()))
            print(f"most memory of a process, MiB: {peaks}", flush=True)
            service.stop()


def _measured(
    service: Service, server: RangeServer, words: str, urls: list[str], kill: int = 0
) -> None:
    server.requests.clear()
    sent, cpu, began = server.bytes_sent, service.cpu(), time.monotonic()
    state: dict[str, Any] = {}
    for state in service.audit(urls=urls):
        done = state["models"]["settled"]
        if kill and done > len(urls) * (3 - kill) // 4:
            os.kill(service.workers()[-1], signal.SIGKILL)
            kill -= 1
    seconds = time.monotonic() - began
    models = state["models"]
    assert state["state"] == "done", state
    assert models["settled"] == models["total"] == len(urls), models
    check({"models": models["total"], **models["verdicts"]}, len(urls))
    report(
        words,
        len(urls),
        seconds,
        cpu=service.cpu() - cpu,
        requests=len(server.requests),
        MiB_sent=(server.bytes_sent - sent) / 2**20,
        database_MiB=service.database_mib(),
        reused=models["reused"],
    )


def organisation(count: int, data: Path) -> None:
    """An organisation of ``count`` repositories, by the command and then by the service."""
    for words, ask in (("command", _by_command), ("service", _by_service)):
        windows = [Window("api", *API), Window("resolvers", *RESOLVERS)]
        with FakeOrganisation(count, make(1), windows=windows) as hub:
            began = time.monotonic()
            totals = ask(hub.endpoint, data)
            seconds = time.monotonic() - began
        assert totals["models"] == totals["pass"] == count, totals
        for window in windows:
            assert window.most >= max(window.asked) - window.refused, window.asked
            print(
                f"{words}, {window.name}: {sum(window.asked):,} requests, at most {window.most} in "
                f"{window.seconds:.0f} s: {window.asked}, {window.refused} refused",
                flush=True,
            )
        assert windows[0].refused == 0, "the listing asked for more than was left"
        print(f"{words}: {count} repositories in {seconds:.1f} s", flush=True)


def _by_command(endpoint: str, data: Path) -> dict[str, int]:
    command = [sys.executable, "-m", "ggufhub.cli", "audit", "hf://org", "--format", "json"]
    command += ["--allow-network", "127.0.0.0/8"]
    environment = {**os.environ, "HF_ENDPOINT": endpoint}
    process = subprocess.run(command, env=environment, stdout=subprocess.PIPE, check=True)
    totals: dict[str, int] = json.loads(process.stdout)["totals"]
    return totals


def _by_service(endpoint: str, data: Path) -> dict[str, int]:
    service = Service(data, HF_ENDPOINT=endpoint)
    try:
        *_, state = service.audit(repository="hf://org")
    finally:
        service.stop()
    models = state["models"]
    return {"models": models["total"], **models["verdicts"]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("count", type=int, nargs="?", default=10_000)
    parser.add_argument("--organisation", type=int, metavar="N", help="repositories")
    options = parser.parse_args()
    if options.organisation is not None:
        with tempfile.TemporaryDirectory() as place:
            organisation(options.organisation, Path(place) / "data")
        return
    count = options.count
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "models"
        write(folder, count)
        distinct = {make(n)[:1000] for n in range(HEADERS)}
        print(f"{count:,} models, {len(distinct)} headers, {broken(count):,} broken", flush=True)
        from_disk(folder, count, Path(place) / "audit.state")
        over_http(folder, count, Path(place) / "data")


if __name__ == "__main__":
    main()
