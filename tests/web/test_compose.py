"""docker-compose.yml: every service is fenced in, and does what the workers know."""

import re
from typing import Any

import pytest
import yaml

from ggufhub.hub.queue import QUEUES
from tests.faults.processes import ROOT
from tests.faults.topology import COMPOSE, services

SERVICES = services()
DOCUMENT: dict[str, Any] = yaml.safe_load(COMPOSE.read_text())
WORKERS = {name for name, one in SERVICES.items() if "worker" in one.get("command", [])}


@pytest.mark.parametrize("name", SERVICES)
def test_a_service_has_no_rights_it_does_not_need(name: str) -> None:
    service = SERVICES[name]
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"] and "cap_add" not in service
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert "privileged" not in service and "network_mode" not in service
    assert service["user"] not in ("root", "0") and not service["user"].startswith("0:")
    assert service["mem_limit"] and service["pids_limit"]
    assert not any(str(volume).startswith(("/", ".")) for volume in service.get("volumes", []))


@pytest.mark.parametrize("name", sorted(set(SERVICES) - {"prepare"}))
def test_a_service_that_stays_is_watched(name: str) -> None:
    assert SERVICES[name]["healthcheck"]["test"]
    assert SERVICES[name]["restart"] == "unless-stopped"


def test_only_workers_reach_the_outside() -> None:
    networks = DOCUMENT["networks"]
    assert networks["inside"]["internal"] is True
    options = networks["front"]["driver_opts"]
    assert options["com.docker.network.bridge.enable_ip_masquerade"] == "false"
    outside = {name for name, one in SERVICES.items() if "outside" in one["networks"]}
    assert outside == WORKERS == {"inspect", "digest", "audit", "hooks"}
    assert {name for name, one in SERVICES.items() if "ports" in one} == {"web"}
    assert SERVICES["web"]["ports"] == ["${GGUFHUB_PUBLISH:-127.0.0.1:8000}:8000"]


def test_every_queue_has_a_worker_and_no_other_is_asked_for() -> None:
    taken = [SERVICES[name]["command"] for name in WORKERS]
    served = [queue for words in taken for queue in words[words.index("-Q") + 1].split(",")]
    assert sorted(served) == sorted(QUEUES)


def test_sign_in_is_required_and_no_password_is_written_down() -> None:
    for name in ("web", *WORKERS):
        assert SERVICES[name]["environment"]["GGUFHUB_AUTH"] == "required"
    for service in SERVICES.values():
        for name, value in service["environment"].items():
            if "PASSWORD" in name or "AUTH" in name.removeprefix("GGUFHUB_AUTH"):
                assert value.startswith("${GGUFHUB_"), name


def test_the_image_is_no_roots_and_fetches_packages_only() -> None:
    text = (ROOT / "docs" / "deploy" / "Dockerfile").read_text().replace("\\\n", "")
    assert re.search(r"^USER 10001:10001$", text, re.MULTILINE)
    locked, project = re.findall(r"pip install (.+?)(?: && |$)", text, re.MULTILINE)
    assert locked.split()[:3] == ["--require-hashes", "--only-binary", ":all:"]
    assert locked.split()[3:] == ["-r", "locks/build.txt", "-r", "locks/product.txt"]
    assert project.split() == ["--no-deps", "--no-build-isolation", "-e", "."]
    assert not re.search(r"curl|wget|git clone|ADD http|apt-get", text)
    sent = set((ROOT / "docs" / "deploy" / "Dockerfile.dockerignore").read_text().split())
    for path in re.findall(r"^COPY (.+) \S+$", text, re.MULTILINE):
        assert all((ROOT / one).exists() for one in path.split())
        assert {f"!{one.split('/')[0]}" for one in path.split()} <= sent
