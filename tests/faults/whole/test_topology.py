"""The services of docker-compose.yml, end to end, as processes on loopback."""

from collections.abc import Iterator

import pytest

from ggufhub.rules.model_samples import llama
from tests.core.rangeserver import Handler, RangeServer
from tests.faults.client import Client
from tests.faults.topology import WEBS, Topology, fetching, running
from tests.live import wait_for
from tests.web.test_operations import figures

PASSWORD = "correct horse battery"
MODEL = llama()


def never(handler: Handler, data: bytes) -> None:
    """Answer, and then send nothing for as long as the server runs."""
    handler.start(206, **{"Content-Range": "bytes 0-99/100", "Content-Length": "100"})
    while handler.pause(0.1):
        pass


@pytest.fixture(scope="module")
def server() -> Iterator[RangeServer]:
    with RangeServer({"model.gguf": MODEL}, {"slow.gguf": never}) as server:
        yield server


@pytest.fixture(scope="module")
def topology(tmp_path_factory: pytest.TempPathFactory, server: RangeServer) -> Iterator[Topology]:
    with running(tmp_path_factory.mktemp("topology"), **fetching(server)) as topology:
        topology.user("root", PASSWORD)
        yield topology


@pytest.fixture(scope="module")
def program(topology: Topology) -> Client:
    """Signs in at one web server, makes a token at the other, and goes on with that."""
    browser = topology.client(0)
    assert browser.ask("GET", "/").status == 302
    assert browser.sign_in("root", PASSWORD).status == 302
    browser.port = topology.ports[1]
    made = browser.ask("POST", "/api/v1/tokens", {"name": "ci", "scopes": ["admin"]})
    assert made.status == 201, made
    return topology.client(0, made.json["token"])


def test_an_upload_becomes_a_report(topology: Topology, program: Client) -> None:
    upload = program.upload(MODEL)
    other = topology.client(1, program.token)
    row = other.ended(other.submit(upload=upload))
    assert (row["state"], row["report"]["verdict"]) == ("done", "pass")
    report = program.ask("GET", f"/api/v1/reports/{row['id']}")
    assert report.status == 200 and report.json["verdict"] == "pass"
    assert topology.client(1).status("GET", f"/api/v1/reports/{row['id']}") == 401


@pytest.mark.parametrize("depth", ["header", "full"])
def test_a_link_becomes_a_report(program: Client, server: RangeServer, depth: str) -> None:
    row = program.ended(program.submit(source=server.url("model.gguf"), depth=depth))
    assert (row["state"], row["report"]["verdict"]) == ("done", "pass")


def test_a_running_inspection_is_cancelled(program: Client, server: RangeServer) -> None:
    row = program.submit(source=server.url("slow.gguf"))
    wait_for(lambda: program.look(row)["state"] == "running")
    assert program.ask("DELETE", f"/api/v1/inspections/{row['id']}").status == 202
    assert program.ended(row, 5)["state"] == "cancelled"


def test_an_audit_runs(program: Client, server: RangeServer) -> None:
    made = program.ask("POST", "/api/v1/audits", {"urls": [server.url("model.gguf")]})
    assert made.status == 202, made
    place = f"/api/v1/audits/{made.json['id']}"
    wait_for(lambda: program.ask("GET", place).json["state"] == "done", 60)


def test_a_webhook_is_attempted(program: Client, server: RangeServer) -> None:
    made = program.ask("POST", "/api/v1/webhooks", {"url": server.url("hook")})
    place = f"/api/v1/webhooks/{made.json['id']}"
    assert program.ask("POST", f"{place}/ping").status < 300
    wait_for(lambda: program.ask("GET", f"{place}/deliveries").json["items"][0]["attempts"] == 1)


def test_every_part_is_seen_by_the_operator(topology: Topology, program: Client) -> None:
    for web in range(WEBS):
        text = topology.client(web, program.token).ask("GET", "/metrics").body.decode()
        found = figures(text)
        for queue in ("inspect", "digest", "audit", "hooks", "housekeeping"):
            assert found[f'ggufhub_workers{{queue="{queue}"}}'] == 1
    key = (topology.data / "secret.key").stat()
    assert key.st_mode & 0o777 == 0o600


def test_nobody_printed_a_traceback_or_a_secret(topology: Topology, program: Client) -> None:
    for part in topology.parts:
        words = part.words()
        assert "Traceback" not in words, part.name
        assert PASSWORD not in words and program.token not in words
