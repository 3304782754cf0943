"""The pages for operators: what they say to type works, and what they name exists."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from django.core.management import get_commands
from django.test import Client

from ggufhub.hub.queue import QUEUES
from tests.conftest import BROKER_SOCKET
from tests.faults.slow import web_server
from tests.faults.topology import COMPOSE, services
from tests.live import Broker
from tests.web.docs import DOCS, ROOT, commands, links, managed, mentioned, page
from tests.web.test_operations import figures

PAGES = ("deployment.md", "operators.md", "backup.md", "threat-model.md", "configuration.md")
PASSWORD = "correct horse battery"

ENDLESS = {"web", "serve"}
"""Commands that run until they are stopped; others tests start them."""


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The data directory of a service in which the first pages have been followed."""
    place = tmp_path_factory.mktemp("operator")
    manage(place, "prepare")
    manage(place, "createsuperuser", "--noinput", "--username", "root", "--email", "")
    return place


def manage(place: Path, *words: str, typed: str = "") -> str:
    """What a command of ``manage.py`` printed; ``typed`` is what a person would type."""
    done = subprocess.run(
        [sys.executable, "manage.py", *words],
        cwd=ROOT,
        env={
            "PATH": os.environ["PATH"],
            "GGUFHUB_DATA": str(place),
            "GGUFHUB_BROKER_URL": f"redis+socket://{BROKER_SOCKET}",
            "DJANGO_SUPERUSER_PASSWORD": PASSWORD,
        },
        input=typed,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def documented(name: str, command: str) -> list[str]:
    """The words of a command of ``manage.py`` on a page; there must be exactly one."""
    (found,) = [words for words in managed(name) if words[0] == command]
    return found


# Commands that run


def test_an_account_and_its_token_are_made_as_the_page_says(place: Path) -> None:
    manage(place, *documented("operators.md", "shell"), typed=PASSWORD)
    token = manage(place, *documented("operators.md", "create-token"))
    assert re.fullmatch(r"ggh_[\w-]+", token.strip().splitlines()[-1])


@pytest.mark.parametrize("command", ["prune", "reconcile", "rejudge"])
def test_the_commands_of_the_table_run(place: Path, command: str, broker: Broker) -> None:
    assert f"`manage.py {command}`" in page("operators.md")
    manage(place, command)


def test_every_command_of_the_pages_is_run_by_a_test() -> None:
    """The rest asks questions of a terminal, or is tried with the whole service."""
    named = set().union(*(mentioned(name) for name in PAGES))
    assert named <= set(get_commands())
    run = {"prepare", "createsuperuser", "shell", "create-token", "prune", "reconcile", "rejudge"}
    assert named - run - ENDLESS == {"changepassword"}


def test_the_health_check_of_the_containers(tmp_path: Path) -> None:
    words = [sys.executable, "-m", "ggufhub.web.alive"]
    assert "`python -m ggufhub.web.alive [WORKER]`" in page("deployment.md")
    environment = {"PATH": os.environ["PATH"], "GGUFHUB_BROKER_URL": "redis+socket:///nowhere.sock"}
    with web_server(tmp_path) as client:
        bound = {**environment, "GGUFHUB_BIND": f"127.0.0.1:{client.port}"}
        assert subprocess.run(words, env=bound).returncode == 0
        assert client.ask("GET", "/healthz").status == 200
        missing = client.ask("GET", "/readyz")
        assert missing.status == 503 and b"broker" in missing.body
        assert client.ask("GET", "/metrics").status == 200
    assert subprocess.run(words, env=bound).returncode == 1
    assert subprocess.run([*words, "inspect@%h"], env=environment).returncode == 1


# What cannot run here is what the rest of the product says


def test_workers_are_started_as_in_the_compose_file() -> None:
    """The commands without containers are those with them; topology tests start these."""
    written = [words for words in commands("deployment.md") if words[0] == "celery"]
    composed = [one.get("command", []) for one in services().values()]
    assert [words for words in written if "worker" in words] == [
        words for words in composed if "worker" in words
    ]
    for words in (*written, *commands("operators.md")):
        if "-Q" in words:
            assert set(words[words.index("-Q") + 1].split(",")) <= set(QUEUES)


def test_compose_commands_name_services_that_exist() -> None:
    verbs = {"up", "exec", "stop"}
    inline = re.findall(r"`(docker compose [^`]+)`", page("deployment.md") + page("backup.md"))
    lines = [*(line.split() for line in inline), *commands("deployment.md")]
    used = [words for words in lines if words[:2] == ["docker", "compose"]]
    assert len(used) > 5
    for words in used:
        assert words[2] in verbs
        named = re.findall(r"(?<![\w.-])(\w+)=\d", " ".join(words))
        if words[2] == "stop":
            named += words[3:]
        if words[2] == "exec":
            named.append(next(word for word in words[3:] if not word.startswith("-")))
        assert set(named) <= set(services()), words


def test_the_table_of_services_is_that_of_the_compose_file() -> None:
    rows = re.findall(r"^\| (`\w+`(?:, `\w+`)*) \|", page("deployment.md"), re.MULTILINE)
    assert {name for row in rows for name in re.findall(r"\w+", row)} == set(services())


@pytest.mark.parametrize("name", PAGES)
def test_variables_and_links_exist(name: str) -> None:
    known = set(re.findall(r"`(GGUFHUB_[A-Z_]+)`", page("configuration.md")))
    # What only the compose file reads.
    known |= set(re.findall(r"\$\{(GGUFHUB_[A-Z_]+)", COMPOSE.read_text()))
    found = re.findall(r"\bGGUFHUB_[A-Z]+(?:_[A-Z]+)*\b", page(name))
    assert {one.removesuffix("_FILE") for one in found} <= known
    for link in links(name):
        assert (DOCS / link).exists(), link
    for path in re.findall(r"`((?:tests|docs|ggufhub)/[\w/.-]+\.\w+)", page(name)):
        assert (ROOT / path).exists(), path


@pytest.mark.django_db
def test_the_table_of_figures_is_complete(client: Client, broker: Broker) -> None:
    client.get("/api/v1/rules")
    measured = {
        re.sub(r"_(bucket|sum|count)$", "", name.partition("{")[0])
        for name in figures(client.get("/metrics").content.decode())
    }
    rows = re.findall(r"^\| (`ggufhub_\w+`(?:, `\w+`)*) \|", page("operators.md"), re.MULTILINE)
    written = {name for row in rows for name in re.findall(r"\w+", row)}
    assert written == measured | {"ggufhub_workers", "ggufhub_queue_messages"}


def test_the_message_of_a_webhook_is_json() -> None:
    (text,) = re.findall(r"```json\n(.*?)```", page("operators.md"), re.DOTALL)
    assert set(json.loads(text)) == {"type", "timestamp", "data"}


# The compose file


def test_every_reference_of_the_compose_file_is_there() -> None:
    import yaml

    document = yaml.safe_load(COMPOSE.read_text())
    for name, service in services().items():
        assert set(service.get("depends_on", {})) <= set(services()), name
        assert set(service["networks"]) <= set(document["networks"]), name
        for volume in service.get("volumes", []):
            assert volume.partition(":")[0] in document["volumes"], name
        if "build" in service:
            assert (ROOT / service["build"]["dockerfile"]).exists()


SECRETS = ("GGUFHUB_DB_PASSWORD", "GGUFHUB_BROKER_PASSWORD", "GGUFHUB_HOSTS")


def test_compose_itself_reads_the_file() -> None:
    """Its own check where the tool is, which ``.ci/run`` installs."""
    demanded = re.findall(r"\$\{(\w+):\?[^}]*choose one", COMPOSE.read_text())
    assert set(demanded) <= set(SECRETS) and demanded
    tool = shutil.which("docker-compose")
    if tool is None:
        return
    done = subprocess.run(
        [tool, "-f", str(COMPOSE), "config"],
        env={"PATH": os.environ["PATH"], **dict.fromkeys(SECRETS, "models.example")},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert set(services()) <= set(re.findall(r"^  (\w+):$", done.stdout, re.MULTILINE))
    unset = subprocess.run(
        [tool, "-f", str(COMPOSE), "config"],
        env={"PATH": os.environ["PATH"]},
        capture_output=True,
        text=True,
    )
    assert unset.returncode != 0 and "choose one" in unset.stderr
