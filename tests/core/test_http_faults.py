"""HttpSource against refusals, attacks and faults; what it makes of names and digests."""

import base64
import hashlib
import json
import logging
import time
from dataclasses import replace
from email.utils import formatdate
from urllib.parse import urlsplit

import pytest

from ggufhub.errors import SourceError
from ggufhub.report.build import inspect
from ggufhub.sources.base import Digest
from ggufhub.sources.dial import Dialer
from ggufhub.sources.http import HttpSource
from ggufhub.sources.policy import AddressPolicy
from tests.builders import small_model
from tests.core import rangeserver
from tests.core.httpkit import DATA, IMPATIENT, SMALL, failure, open_url, serve
from tests.core.rangeserver import LOOPBACK, Behaviour

# Refusals


@pytest.mark.parametrize(
    ("status", "code"),
    [
        (400, "bad_request"),
        (401, "unauthorized"),
        (403, "forbidden"),
        (404, "not_found"),
        (410, "not_found"),
        (500, "http_status"),
        (204, "http_status"),
        (304, "http_status"),
    ],
)
def test_statuses(status: int, code: str) -> None:
    with serve(rangeserver.fixed(status, b"<h1>secret</h1>")) as server:
        error = failure(server)
    assert error.code == code
    assert "secret" not in error.message
    assert error.retry_after is None


@pytest.mark.parametrize(
    ("headers", "low", "high"),
    [
        ({"Retry_After": "7"}, 7, 7),
        ({"Retry_After": formatdate(time.time() + 5000, usegmt=True)}, 60, 5001),
        ({"Retry_After": formatdate(0, usegmt=True)}, 0, 0),
        ({"Retry_After": "999999999"}, 86_400, 86_400),
        ({"RateLimit": '"resolvers";r=0;t=42', "Retry_After": "7"}, 42, 42),
    ],
)
@pytest.mark.parametrize(("status", "code"), [(429, "rate_limited"), (503, "busy")])
def test_waits(status: int, code: str, headers: dict[str, str], low: float, high: float) -> None:
    with serve(rangeserver.fixed(status, **headers)) as server:
        error = failure(server)
    assert error.code == code
    assert error.retry_after is not None
    assert low <= error.retry_after <= high


@pytest.mark.parametrize("value", ["", "soon", "1" * 5000, "-1"])
def test_a_senseless_wait_is_none(value: str) -> None:
    with serve(rangeserver.fixed(429, Retry_After=value)) as server:
        assert failure(server).retry_after is None


# Attacks and faults


@pytest.mark.parametrize(
    "behaviour", [rangeserver.slow_headers, rangeserver.slow_body, rangeserver.silent]
)
def test_nobody_is_waited_for_without_end(behaviour: Behaviour) -> None:
    with serve(behaviour) as server:
        assert failure(server, length=8000, **IMPATIENT).code == "timeout"


@pytest.mark.parametrize(
    ("behaviour", "code"),
    [
        (rangeserver.interim_flood, "bad_answer"),
        (rangeserver.huge_header, "bad_answer"),
        (rangeserver.large_head, "bad_answer"),
        (rangeserver.many_headers, "bad_answer"),
        (rangeserver.not_http, "bad_answer"),
        (rangeserver.truncated, "short_body"),
        (rangeserver.reset, "short_body"),
        (rangeserver.fixed(206, b"", Content_Range="bytes 0-4095/100000"), "bad_range"),
        (rangeserver.fixed(103), "bad_answer"),
    ],
)
def test_misbehaviour(behaviour: Behaviour, code: str) -> None:
    with serve(behaviour) as server:
        error = failure(server, length=8000)
    assert error.code == code


@pytest.mark.parametrize(
    "head",
    [
        "HTTP/1.1 206 Pa",
        "HTTP/1.1 206 Partial Content\r\n",
        "HTTP/1.1 206 Partial Content\r\nContent-Ra",
        "HTTP/1.1 206 Partial Content\r\nContent-Range: bytes 0-99/10",
        "HTTP/1.1 206 Partial Content\r\nContent-Range: bytes 0-99/100000\r\n",
        "HTTP/1.1 404 Not Fou",
    ],
)
def test_half_a_head_says_nothing_of_the_file(head: str) -> None:
    with serve(rangeserver.cut_head(head)) as server:
        error = failure(server)
    assert error.code == "bad_answer"
    assert "broke off" in error.message


@pytest.mark.parametrize("behaviour", [rangeserver.endless_body, rangeserver.endless_chunk])
def test_endless_answers_are_cut(behaviour: Behaviour) -> None:
    with serve(behaviour) as server, open_url(server.url("a.gguf")) as source:
        assert source.read(0, 100) == b"a" * 100
        assert source.reads.bytes == SMALL.first_read
        assert source.identity.size is None


def test_number_of_header_lines() -> None:
    with serve() as server:
        assert failure(server, reply_header_lines=3).code == "bad_answer"


def test_request_budget() -> None:
    with serve() as server:
        error = failure(server, length=90_000, requests=2)
        assert len(server.requests) == 2
    assert error.code == "limit"
    assert "2 requests" in error.message


def test_time_budget_of_the_file() -> None:
    with serve() as server, open_url(server.url("a.gguf"), replace(SMALL, seconds=0.1)) as source:
        source.read(0, 10)
        time.sleep(0.12)
        assert source.read(10, 10) == DATA[10:20]  # held already
        with pytest.raises(SourceError) as caught:
            source.read(50_000, 10)
        assert caught.value.code == "limit"


def test_unreachable_and_blocked_read_the_same() -> None:
    with serve() as server:
        url = server.url("a.gguf")
    closed = HttpSource(url, policy=LOOPBACK, limits=SMALL)
    blocked = HttpSource(
        "http://in.example.net/",
        policy=AddressPolicy(),
        limits=SMALL,
        dialer=Dialer(AddressPolicy(), lookup=lambda host, port: [("10.0.0.1", port)]),
    )
    seen = set()
    for source in (closed, blocked):
        with pytest.raises(SourceError) as caught:
            source.read(0, 1)
        seen.add((caught.value.code, caught.value.message))
    assert len(seen) == 1
    assert seen.pop()[0] == "unreachable"


# What is no model


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:ab\nsize 7\n", "lfs_pointer"),
        (b"<!DOCTYPE html><title>Sign in</title>", "html"),
        (b"<?xml version='1.0'?><Error><Code>AccessDenied</Code></Error>", "html"),
        (b'{"error": "Invalid username or password."}', "json"),
        (b"PK\3\4" + bytes(40), "zip"),
        (b"", "empty"),
    ],
)
def test_what_servers_send_in_place_of_the_model(body: bytes, code: str) -> None:
    with serve(data=body) as server, open_url(server.url("a.gguf")) as source:
        document = inspect(source).document
    assert (document["verdict"], document["error"]["code"]) == ("unreadable", code)


# Digests, names and siblings


def test_digests_the_server_declares() -> None:
    md5 = hashlib.md5(DATA, usedforsecurity=False).digest()
    sha = hashlib.sha256(DATA).digest()
    headers = {
        "Content-MD5": base64.b64encode(md5).decode(),  # of the part: not used
        "x-goog-hash": f"crc32c=AAAAAA==,md5={base64.b64encode(md5).decode()}",
        "x-amz-checksum-sha256": base64.b64encode(sha).decode(),
        "x-amz-checksum-type": "FULL_OBJECT",
    }
    with (
        serve(lambda handler, data: handler.serve(data, **headers)) as server,
        open_url(server.url("a.gguf")) as source,
    ):
        assert source.identity.digests == (
            Digest("sha256", sha.hex(), "declared by server"),
            Digest("crc32c", "00000000", "declared by server"),
            Digest("md5", md5.hex(), "declared by server"),
        )


@pytest.mark.parametrize(
    "headers",
    [
        {"Content-MD5": "????"},
        {"Content-MD5": "AAAA"},
        {"x-amz-checksum-sha256": base64.b64encode(bytes(32)).decode() + "-3"},
        {"x-goog-hash": "md5"},
        {"ETag": f'"{"ab" * 32}"'},
        {"X-Linked-Etag": '"not a digest"'},
    ],
)
def test_no_digest_is_guessed(headers: dict[str, str]) -> None:
    with (
        serve(lambda handler, data: handler.serve(data, **headers), data=b"GGUF") as server,
        open_url(server.url("a.gguf")) as source,
    ):
        assert source.identity.digests == ()


@pytest.mark.parametrize(
    ("query", "kept"),
    [
        ("download=true", True),
        ("X-Amz-Signature=ab", False),
        ("a=1&sig=ab", False),
        ("access_token=ab", False),
        ("key=ab", False),
        ("monkey=1", True),
    ],
)
def test_locator_holds_no_secret(query: str, kept: bool) -> None:
    with serve(name="模型 1.gguf") as server:
        url = server.url("模型 1.gguf")
        with open_url(f"{url}?{query}#part") as source:
            assert source.identity.locator == (f"{url}?{query}" if kept else url)
            assert source.identity.name == "模型 1.gguf"
        assert urlsplit(server.requests[0].path).query == query


def test_a_presigned_link_is_read_and_its_signature_told_to_nobody(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG)
    query = "X-Amz-Credential=AKIDEXAMPLE%2F20260101&X-Amz-Expires=60&X-Amz-Signature=5ec7e7"
    with serve(data=small_model().build()) as server:
        with open_url(f"{server.url('a.gguf')}?{query}") as source:
            document = inspect(source).document
        assert urlsplit(server.requests[0].path).query == query
    assert document["error"] is None
    assert document["source"] == server.url("a.gguf")
    for text in (json.dumps(document), caplog.text):
        assert "5ec7e7" not in text and "AKIDEXAMPLE" not in text


def test_sibling() -> None:
    with serve() as server:
        server.files["dir/b 1.gguf"] = DATA
        server.files["dir/b 2.gguf"] = DATA[::-1]
        url = server.url("dir/b 1.gguf") + "?download=true"
        with open_url(url, Authorization="s") as source, source.sibling("b 2.gguf") as sibling:
            assert sibling.identity.name == "b 2.gguf"
            assert sibling.read(0, 10) == DATA[::-1][:10]
            assert sibling.reads.requests == 1
        assert server.requests[-1].path == "/dir/b%202.gguf?download=true"
        assert server.requests[-1].headers["authorization"] == "s"


def test_a_sibling_starts_with_a_small_read() -> None:
    limits = replace(SMALL, first_read=100_000)
    with serve() as server, open_url(server.url("a.gguf"), limits) as source:
        source.sibling("a.gguf").close()
        assert server.ranges() == ["0-65535"]


@pytest.mark.parametrize("name", ["missing.gguf", "", "..", "../a.gguf", "a\\b", "a\nb", "a?b"])
def test_sibling_that_is_not_there(name: str) -> None:
    with serve() as server, open_url(server.url("a.gguf")) as source:
        with pytest.raises(SourceError) as caught:
            source.sibling(name)
        assert caught.value.code == "not_found"


def test_sibling_of_a_signed_link() -> None:
    with serve() as server, open_url(server.url("a.gguf") + "?X-Amz-Signature=ab") as source:
        with pytest.raises(SourceError) as caught:
            source.sibling("b.gguf")
        assert caught.value.code == "signed_link"
        assert server.requests == []


def test_close_is_safe_to_repeat() -> None:
    with serve() as server:
        source = open_url(server.url("a.gguf"))
        source.read(0, 10)
        source.close()
        source.close()
