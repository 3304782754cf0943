"""Command lines that lead from a report back to its model: check it again, or run it."""

import json
import shlex
from typing import Any

from ggufhub.errors import GgufHubError
from ggufhub.hub.models import Inspection
from ggufhub.limits import FULL, HEADER
from ggufhub.names import ENDPOINT, HubName, RegistryName, parse_name

RUNNABLE = "model"
"""The kind of file that the programs below load on its own."""

HUB = ENDPOINT.partition("://")[2]


def check(row: Inspection, document: dict[str, Any]) -> str:
    """The command line that makes the same report; an upload is taken from where it lies."""
    depth = "" if row.depth == HEADER else f" --depth {row.depth}"
    return f"ggufhub check {_source(row, document)} --profile {row.profile}{depth} --format json"


def every_byte(row: Inspection, document: dict[str, Any]) -> str:
    """The command line that reads every byte of the same model."""
    return f"ggufhub check {_source(row, document)} --profile {row.profile} --depth {FULL}"


def hashes(row: Inspection, document: dict[str, Any]) -> str:
    """The command line that prints every digest llama-gguf-hash knows."""
    return f"ggufhub show {_source(row, document)} --hashes"


def _source(row: Inspection, document: dict[str, Any]) -> str:
    return shlex.quote(row.locator if row.source_kind == "url" else f"./{document['name']}")


def submit(row: Inspection, endpoint: str) -> str:
    """The curl call that asks this server for the same report; '' for an upload, and where a part
    of the link was hidden."""
    if not _whole_link(row):
        return ""
    body = {"source": row.locator, "profile": row.profile, "depth": row.depth}
    return (
        f"curl -s -H 'Content-Type: application/json' -H 'Prefer: wait=30' "
        f"-d {shlex.quote(json.dumps(body))} {shlex.quote(endpoint)}"
    )


def _whole_link(row: Inspection) -> bool:
    return row.source_kind == "url" and "?…" not in row.locator


def run(row: Inspection, document: dict[str, Any]) -> list[tuple[str, str]]:
    """Programs that load the model and how they are told to, where there is such a way."""
    form = document["format"]
    if document["kind"] != RUNNABLE or form["name"] != "gguf" or form["byte_order"] == "big":
        return []
    if row.source_kind != "url":
        return _local(document["name"])
    if not _whole_link(row):
        return []
    try:
        name = parse_name(row.locator)
    except GgufHubError:
        return []
    if isinstance(name, HubName):
        return _hub(name)
    if isinstance(name, RegistryName):
        ours = f"{name.model}:{name.reference}"
        return [("Ollama", f"ollama run {shlex.quote(ours)}")] if name.scheme == "ollama" else []
    return [("llama.cpp", f"llama-server --model-url {shlex.quote(row.locator)}")]


def _hub(name: HubName) -> list[tuple[str, str]]:
    repo = shlex.quote(name.repo)
    link = shlex.quote(f"{ENDPOINT}/{name.repo}" + (f"@{name.tag}" if name.tag else ""))
    if name.path:
        whole = f"llama-server --hf-repo {repo} --hf-file {shlex.quote(name.path)}"
    else:
        whole = f"llama-server -hf {shlex.quote(_tagged(name.repo, name.tag))}"
    ollama = f"ollama run {shlex.quote(_tagged(f'{HUB}/{name.repo}', name.tag))}"
    return [("llama.cpp", whole), ("Ollama", ollama), ("LM Studio", f"lms get {link}")]


def _tagged(name: str, tag: str) -> str:
    return f"{name}:{tag}" if tag else name


def _local(name: str) -> list[tuple[str, str]]:
    path = shlex.quote(f"./{name}")
    made = shlex.quote(name.removesuffix(".gguf").lower())
    modelfile = shlex.quote(f"FROM ./{name}")
    return [
        ("llama.cpp", f"llama-server -m {path}"),
        ("Ollama", f"printf '%s\\n' {modelfile} > Modelfile && ollama create {made} -f Modelfile"),
        ("LM Studio", f"lms import {path}"),
    ]
