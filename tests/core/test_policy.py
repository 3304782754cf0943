"""Which URLs may be read: every vector, the operator's openings, and the redirects."""

import csv
import ipaddress
import json
import time
from collections.abc import Iterable, Sequence

import pytest

from ggufhub.errors import SourceError, UsageError
from ggufhub.sources.addresses import is_public
from ggufhub.sources.dial import Dialer, Guard, GuardedSocket, SocketAddress
from ggufhub.sources.policy import NOT_REACHABLE, AddressPolicy
from tests.corpus import SHARED, needs_corpus
from tests.effort import cpu_seconds

PUBLIC = "93.184.215.14"


def read_vectors() -> list[dict[str, str]]:
    table = SHARED / "data" / "ssrf_vectors.tsv"
    if not table.exists():
        return []
    with table.open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream, delimiter="\t", quoting=csv.QUOTE_NONE))


VECTORS = read_vectors()


class Recorder:
    """A resolver that knows a few names and a connector that notes what it should dial."""

    def __init__(self, names: dict[str, Sequence[str]]) -> None:
        self.names = names
        self.dialled: list[str] = []

    def lookup(self, host: str, port: int) -> Sequence[SocketAddress]:
        if host not in self.names:
            raise OSError("no such name")
        return [
            (address, port, 0, 0) if ":" in address else (address, port)
            for address in self.names[host]
        ]

    def connect(self, address: SocketAddress, guard: Guard, seconds: float) -> GuardedSocket:
        self.dialled.append(address[0])
        raise ConnectionRefusedError


def visit(policy: AddressPolicy, url: str, names: dict[str, Sequence[str]]) -> tuple[str, Recorder]:
    """The code that ``url`` ends with; ``connect`` means that all checks were passed."""
    recorder = Recorder(names)
    dialer = Dialer(policy, lookup=recorder.lookup, connect=recorder.connect)
    with pytest.raises(SourceError) as caught:
        dialer.dial(policy.parse(url), Guard(time.monotonic() + 5, 5), 1)
    return caught.value.code, recorder


@needs_corpus
def test_the_vectors_are_all_there() -> None:
    assert len(VECTORS) >= 204
    assert {vector["expect"] for vector in VECTORS} == {"allow", "block"}


@pytest.mark.parametrize("vector", VECTORS, ids=[vector["id"] for vector in VECTORS])
def test_vector(vector: dict[str, str]) -> None:
    name, _, addresses = vector["dns"].partition("=")
    names = {name: addresses.split(",")} if name else {}
    code, recorder = visit(AddressPolicy(), json.loads(vector["url_json"]), names)
    if vector["expect"] == "allow":
        assert code == "connect"
        assert recorder.dialled
    else:
        assert code in vector["code"].split("|")
        assert recorder.dialled == []


def test_parsed_target() -> None:
    target = AddressPolicy().parse("HTTPS://Bücher.Example.NET/模型/a%20b.gguf?x=ü#part")
    assert target.origin == ("https", "xn--bcher-kva.example.net", 443)
    assert target.resource == "/%E6%A8%A1%E5%9E%8B/a%20b.gguf?x=%C3%BC"
    assert target.authority == "xn--bcher-kva.example.net"
    assert AddressPolicy().parse("https://[2606:4700::1]/").authority == "[2606:4700::1]"


def test_http_can_be_switched_off() -> None:
    with pytest.raises(SourceError, match="https://") as caught:
        AddressPolicy(allow_http=False).parse("http://example.net/")
    assert caught.value.code == "scheme"


def test_lone_surrogate_is_a_bad_character() -> None:
    with pytest.raises(SourceError) as caught:
        AddressPolicy().parse("https://example.net/\ud800")
    assert caught.value.code == "url_bad_char"


@pytest.mark.parametrize(
    ("networks", "ports", "url", "names", "code"),
    [
        (["127.0.0.0/8"], None, "http://127.0.0.1/", {}, "connect"),
        (["127.0.0.0/8"], None, "http://127.0.0.1:8123/", {}, "connect"),
        (["127.0.0.0/8"], [443], "http://127.0.0.1:8123/", {}, "port"),
        (["127.0.0.0/8"], [8123], "http://127.0.0.1:8123/", {}, "connect"),
        (["127.0.0.0/8"], None, "http://10.0.0.1/", {}, "address"),
        (["127.0.0.0/8"], None, "http://1.1.1.1:8123/", {}, "port"),
        (["127.0.0.0/8"], None, "http://127.0.0.1:0/", {}, "port"),
        (["127.0.0.0/8"], None, "http://[::ffff:127.0.0.1]/", {}, "address"),
        (["127.0.0.0/8"], None, "http://localhost:1/", {"localhost": ["127.0.0.1"]}, "connect"),
        (["127.0.0.0/8"], None, "http://localhost/", {"localhost": [PUBLIC]}, "host_name"),
        (
            ["127.0.0.0/8"],
            None,
            "http://localhost/",
            {"localhost": ["127.0.0.1", "::1"]},
            "host_name",
        ),
        (
            ["127.0.0.0/8", "::1"],
            None,
            "http://localhost/",
            {"localhost": ["127.0.0.1", "::1"]},
            "connect",
        ),
        (["10.1.0.0/16"], None, "http://db.internal/", {"db.internal": ["10.1.2.3"]}, "connect"),
        (
            ["10.1.0.0/16"],
            None,
            "http://a.example.net/",
            {"a.example.net": ["10.2.0.1"]},
            "address",
        ),
        (["10.1.0.0/16"], None, "http://a.example.net:99/", {"a.example.net": [PUBLIC]}, "port"),
        ([], [8000], "http://example.net:8000/", {"example.net": [PUBLIC]}, "connect"),
        ([], [8000], "http://example.net/", {"example.net": [PUBLIC]}, "port"),
        (["64:ff9b::/96"], None, "http://[64:ff9b::102:304]/", {}, "connect"),
    ],
)
def test_operator_openings(
    networks: Iterable[str],
    ports: Iterable[int] | None,
    url: str,
    names: dict[str, Sequence[str]],
    code: str,
) -> None:
    seen, recorder = visit(AddressPolicy(networks, ports), url, names)
    assert seen == code
    assert bool(recorder.dialled) == (code == "connect")


def test_from_environment() -> None:
    policy = AddressPolicy.from_environment(
        {"GGUFHUB_ALLOWED_NETWORKS": "127.0.0.0/8, fd00::/8,", "GGUFHUB_ALLOWED_PORTS": "443,8443"}
    )
    assert [str(network) for network in policy.allowed_networks] == ["127.0.0.0/8", "fd00::/8"]
    assert policy.allowed_ports == {443, 8443}
    plain = AddressPolicy.from_environment({})
    assert plain.allowed_networks == ()
    assert plain.allowed_ports == {80, 443}


@pytest.mark.parametrize(
    "environment",
    [
        {"GGUFHUB_ALLOWED_NETWORKS": "10.0.0.1/8"},
        {"GGUFHUB_ALLOWED_NETWORKS": "everything"},
        {"GGUFHUB_ALLOWED_PORTS": "0"},
        {"GGUFHUB_ALLOWED_PORTS": "65536"},
        {"GGUFHUB_ALLOWED_PORTS": "http"},
    ],
)
def test_bad_environment_is_named(environment: dict[str, str]) -> None:
    value = next(iter(environment.values()))
    with pytest.raises(UsageError, match=value):
        AddressPolicy.from_environment(environment)


@pytest.mark.parametrize(
    ("location", "url"),
    [
        ("other.gguf", "https://example.net/a/other.gguf"),
        ("/root.gguf?x=1", "https://example.net/root.gguf?x=1"),
        ("//cdn.example.org/x", "https://cdn.example.org/x"),
        ("https://cdn.example.org/x", "https://cdn.example.org/x"),
        ("../模", "https://example.net/%E6%A8%A1"),
        ("https://example.net/" + "a" * 8000, "https://example.net/" + "a" * 8000),
    ],
)
def test_redirect_target(location: str, url: str) -> None:
    policy = AddressPolicy()
    assert policy.redirect(policy.parse("https://example.net/a/b.gguf"), location).url == url


@pytest.mark.parametrize(
    ("location", "code"),
    [
        ("http://example.net/x", "downgrade"),
        ("https://169.254.169.254/latest", "address"),
        ("file:///etc/passwd", "scheme"),
        ("https:\\\\127.0.0.1", "url_bad_char"),
        ("https:x", "url_syntax"),
        ("//user@example.net/", "userinfo"),
        ("/" + "a" * 8192, "url_too_long"),
        ("", "url_empty"),
    ],
)
def test_redirect_refused(location: str, code: str) -> None:
    policy = AddressPolicy()
    with pytest.raises(SourceError) as caught:
        policy.redirect(policy.parse("https://example.net/a/b.gguf"), location)
    assert caught.value.code == code


def test_refusals_share_one_wording() -> None:
    """Whoever asks cannot tell a blocked address from an unknown, closed or silent one."""
    messages = set()
    names = {"in.example.net": ["10.0.0.1"], "out.example.net": [PUBLIC]}
    for url in ("http://in.example.net/", "http://out.example.net/", "http://no.example.net/"):
        recorder = Recorder(names)
        policy = AddressPolicy()
        dialer = Dialer(policy, lookup=recorder.lookup, connect=recorder.connect)
        with pytest.raises(SourceError) as caught:
            dialer.dial(policy.parse(url), Guard(time.monotonic() + 5, 5), 1)
        messages.add(caught.value.message)
    assert messages == {NOT_REACHABLE}


@pytest.mark.parametrize("text", ["192.0.0.192", "fec0::1", "3fff::1", "2002:7f00:1::", "ff0e::1"])
def test_addresses_that_interpreters_call_global(text: str) -> None:
    assert not is_public(ipaddress.ip_address(text))


def test_host_names_are_read_in_linear_time() -> None:
    policy = AddressPolicy()
    with cpu_seconds(0.5):
        for host in ("a." * 2000, "_" * 4000, "ß" * 4000, "1." * 2000, "xn--" * 1000):
            with pytest.raises(SourceError):
                policy.parse(f"https://{host}/")
