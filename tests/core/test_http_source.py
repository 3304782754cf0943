"""HttpSource against a server on loopback: ranges, changes and redirects."""

import ssl
from dataclasses import replace
from email.utils import formatdate
from pathlib import Path

import pytest

from ggufhub.errors import SourceChanged, SourceError
from ggufhub.sources import dial
from ggufhub.sources.base import Digest, Hop
from ggufhub.sources.dial import Dialer, guard_tls
from ggufhub.sources.http import MOST_EARLY, HttpSource
from tests.core import certificate, rangeserver
from tests.core.httpkit import DATA, IMPATIENT, SMALL, failure, open_url, serve
from tests.core.rangeserver import LOOPBACK, Behaviour, Handler, RangeServer

# A good server


def test_the_first_request_brings_everything_at_once() -> None:
    with serve() as server, open_url(server.url("a.gguf")) as source:
        identity = source.identity
        assert (identity.name, identity.size, identity.etag) == ("a.gguf", len(DATA), '"one"')
        assert identity.locator == server.url("a.gguf")
        assert identity.hops == (Hop("127.0.0.1", 206),)
        assert source.read(0, 4096) == DATA[:4096]
        assert server.ranges() == ["0-4095"]
        assert (source.reads.requests, source.reads.bytes) == (1, 4096)
        assert server.bytes_sent == 4096


def test_nothing_is_asked_twice() -> None:
    with serve() as server, open_url(server.url("a.gguf")) as source:
        assert source.read(4000, 20_000) == DATA[4000:24_000]
        assert server.ranges() == ["0-4095", "4096-23999"]
        assert server.connections == 1


def test_large_reads_take_several_requests_and_end_with_the_file() -> None:
    heard: list[int] = []
    with serve() as server, open_url(server.url("a.gguf")) as source:
        source.reads.listener = lambda reads: heard.append(reads.bytes)
        assert source.read(0, 200_000) == DATA
        assert source.read(len(DATA), 10) == b""
        assert source.read(len(DATA) - 5, 10) == DATA[-5:]
        assert server.ranges()[:3] == ["0-4095", "4096-36863", "36864-69631"]
        assert heard == sorted(heard)
        assert heard[-1] == source.reads.bytes == len(DATA) + 5


def test_request_headers() -> None:
    with serve() as server, open_url(server.url("a.gguf"), Authorization="Bearer s") as source:
        source.read(0, 10)
        headers = server.requests[0].headers
        assert headers["accept-encoding"] == "identity"
        assert headers["authorization"] == "Bearer s"
        assert headers["host"] == f"127.0.0.1:{server.port}"
        assert headers["user-agent"].startswith("ggufhub/")
        assert not {"referer", "cookie", "if-range", "connection"} & set(headers)


def test_proxies_of_the_environment_are_ignored(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    with serve() as server, open_url(server.url("a.gguf")) as source:
        assert source.read(0, 10) == DATA[:10]


def test_https(tmp_path: Path) -> None:
    pem = tmp_path / "server.pem"
    pem.write_text(certificate.PEM)
    serving = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    serving.load_cert_chain(pem)
    trusting = guard_tls(ssl.create_default_context(cafile=str(pem)))
    dialer = Dialer(
        LOOPBACK, lookup=lambda host, port: [("127.0.0.1", port)], tls_context=lambda: trusting
    )
    with RangeServer({"a.gguf": DATA}, {"slow": rangeserver.slow_body}, tls=serving) as server:
        base = f"https://{certificate.NAME}:{server.port}"
        with HttpSource(f"{base}/a.gguf", policy=LOOPBACK, limits=SMALL, dialer=dialer) as source:
            assert source.read(0, 60_000) == DATA[:60_000]
            assert server.connections == 1
        server.files["slow"] = DATA
        hasty = replace(SMALL, **IMPATIENT)
        with HttpSource(f"{base}/slow", policy=LOOPBACK, limits=hasty, dialer=dialer) as source:
            with pytest.raises(SourceError) as caught:
                source.read(0, 10)
            assert caught.value.code == "timeout"


@pytest.mark.parametrize(
    "behaviour",
    [
        rangeserver.good_then_closes,
        lambda handler, data: handler.serve(data, Connection="close"),
    ],
)
def test_a_connection_the_server_closed_is_opened_again(behaviour: Behaviour) -> None:
    with serve(behaviour) as server, open_url(server.url("a.gguf")) as source:
        assert source.read(0, 20_000) == DATA[:20_000]
        assert server.connections == 2


def test_an_empty_file() -> None:
    with serve(data=b"") as server, open_url(server.url("a.gguf")) as source:
        assert source.identity.size == 0
        assert source.read(0, 10) == b""
        assert source.reads.requests == 1


# Ranges that are not served plainly


def test_a_server_that_ignores_ranges_is_streamed_once() -> None:
    with serve(rangeserver.ignore_range) as server, open_url(server.url("a.gguf")) as source:
        assert source.identity.size == len(DATA)
        assert source.read(0, 4096) == DATA[:4096]
        assert source.reads.bytes == 4096
        assert source.read(0, 50_000) == DATA[:50_000]
        assert source.read(1000, 40_000) == DATA[1000:41_000]
        assert source.read(40_000, 20_000) == DATA[40_000:60_000]
        assert (source.reads.requests, source.reads.bytes) == (1, 60_000)
        assert source.read(99_000, 5000) == DATA[99_000:]


def test_a_stream_goes_no_further_than_the_header_budget() -> None:
    limits = replace(SMALL, header_bytes=20_000)
    ignoring = serve(rangeserver.ignore_range)
    with ignoring as server, open_url(server.url("a.gguf"), limits) as source:
        assert source.read(10_000, 10_000) == DATA[10_000:20_000]
        with pytest.raises(SourceError) as caught:
            source.read(90_000, 10)
        assert caught.value.code == "no_ranges"
        assert source.reads.bytes == 20_000


def test_a_server_that_stops_answering_ranges_is_streamed() -> None:
    behaviours = (rangeserver.good, rangeserver.ignore_range)
    with serve(*behaviours) as server, open_url(server.url("a.gguf")) as source:
        assert source.read(0, 10) == DATA[:10]
        assert source.read(30_000, 1000) == DATA[30_000:31_000]
        assert source.read(10, 40_000) == DATA[10:40_010]
        assert [request.headers.get("range") for request in server.requests][2:] == [None]


@pytest.mark.parametrize("status", [403, 405, 501])
def test_a_proxy_that_refuses_the_range_header(status: int) -> None:
    def picky(handler: rangeserver.Handler, data: bytes) -> None:
        if "Range" in handler.headers:
            handler.answer(status)
        else:
            rangeserver.ignore_range(handler, data)

    with serve(picky) as server, open_url(server.url("a.gguf")) as source:
        assert source.read(0, 20_000) == DATA[:20_000]
        assert len(server.requests) == 2


def test_a_sound_range_that_is_refused_once_is_asked_again() -> None:
    past_end = rangeserver.fixed(416, Content_Range=f"bytes */{len(DATA)}")
    with (
        serve(rangeserver.good, past_end, rangeserver.good) as server,
        open_url(server.url("a.gguf")) as source,
    ):
        assert source.read(0, 20_000) == DATA[:20_000]


def test_a_slow_answer_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """A few bytes at a time keep every single operation short; only the average tells."""
    monkeypatch.setattr(dial, "RATE_SECONDS", 0.2)
    with serve(rangeserver.slow_body) as server:
        error = failure(server)
    assert error.code == "timeout"


def test_sizes_that_contradict_each_other() -> None:
    with serve() as files:
        hop = rangeserver.redirect(files.url("a.gguf"), X_Linked_Size="77")
        with serve(hop) as hub:
            assert failure(hub).code == "bad_range"


def test_a_whole_file_within_the_first_read() -> None:
    with (
        serve(rangeserver.ignore_range, data=DATA[:300]) as server,
        open_url(server.url("a.gguf")) as source,
    ):
        assert source.read(0, 5000) == DATA[:300]
        assert source.read(200, 5000) == DATA[200:300]
        assert source.reads.requests == 1


def test_the_end_of_a_chunked_answer_is_the_size() -> None:
    with (
        serve(rangeserver.ignore_range_chunked, data=DATA[:3000]) as server,
        open_url(server.url("a.gguf")) as source,
    ):
        assert source.identity.size == 3000
        assert source.read(0, 5000) == DATA[:3000]


@pytest.mark.parametrize(
    "behaviour",
    [
        rangeserver.chunked_range,
        rangeserver.status_200_with_content_range,
        rangeserver.unknown_total,
        rangeserver.short_ranges,
        rangeserver.sequence(rangeserver.truncated, rangeserver.good),
        rangeserver.sequence(rangeserver.good, rangeserver.reset, rangeserver.good),
        rangeserver.in_blocks(1000),
        rangeserver.in_blocks(60_000),
    ],
)
def test_odd_but_sound_answers(behaviour: Behaviour) -> None:
    with serve(behaviour) as server, open_url(server.url("a.gguf")) as source:
        assert source.read(10, 50_000) == DATA[10:50_010]
        assert source.read(99_990, 100) == DATA[99_990:]


def test_a_chunked_answer_that_breaks_off_is_not_the_end() -> None:
    broken = serve(rangeserver.broken_chunks, data=DATA[:3000])
    with broken as server, open_url(server.url("a.gguf")) as source:
        assert source.identity.size is None
        assert source.read(0, 500) == DATA[:500]
        with pytest.raises(SourceError):
            source.read(0, 3000)


def test_unknown_size_is_a_state() -> None:
    with serve(rangeserver.unknown_total) as server, open_url(server.url("a.gguf")) as source:
        assert source.identity.size is None
        assert source.read(len(DATA), 10) == b""
        assert source.identity.size == len(DATA)


@pytest.mark.parametrize(
    ("span", "length"),
    [
        ("bytes 1-4095/100000", 4096),
        ("bytes 1-4096/100000", 4096),
        ("bytes 0-99/100000", 4096),
        ("bytes 50-10/100000", 4096),
        ("bytes 0-4095/100", 4096),
        ("items 0-4095/100000", 4096),
        ("0-4095/100000", 4096),
        (f"bytes 0-{'9' * 5000}/*", 4096),
        ("", 4096),
    ],
)
def test_wrong_content_range(span: str, length: int) -> None:
    with serve(rangeserver.fixed(206, DATA[:length], Content_Range=span)) as server:
        assert failure(server).code == "bad_range"


def test_a_range_that_starts_much_too_early() -> None:
    """The bytes are in it, but reading past this many is no longer the least possible."""
    data = bytes(MOST_EARLY + 100_000)
    limits = replace(SMALL, largest_read=4096)
    with (
        serve(rangeserver.in_blocks(len(data)), data=data) as server,
        open_url(server.url("a.gguf"), limits) as source,
    ):
        source.read(0, 10)
        with pytest.raises(SourceError) as caught:
            source.read(MOST_EARLY + 1, 10)
        assert caught.value.code == "bad_range"
        assert source.reads.bytes == SMALL.first_read


def test_several_ranges_in_one_answer() -> None:
    answer = rangeserver.fixed(206, b"--x", Content_Type="multipart/byteranges; boundary=x")
    with serve(answer) as server:
        assert failure(server).code == "bad_range"


def test_compressed_answer() -> None:
    with serve(rangeserver.gzipped) as server:
        assert failure(server).code == "encoded"


def test_a_range_refused_inside_the_file() -> None:
    past_end = rangeserver.fixed(416, Content_Range=f"bytes */{len(DATA)}")
    with serve(rangeserver.good, past_end) as server:
        assert failure(server, 5000).code == "bad_range"


# Change


@pytest.mark.parametrize(
    "later",
    [
        lambda handler, data: handler.serve(data, ETag='"two"'),
        lambda handler, data: handler.serve(data, **{"x-amz-version-id": "v2"}),
        lambda handler, data: handler.serve(data, ETag='W/"two"'),
        lambda handler, data: handler.serve(data + b"more"),
        rangeserver.fixed(200, DATA, ETag='"two"'),
        rangeserver.fixed(416, Content_Range="bytes */77"),
    ],
)
def test_a_changed_file(later: Behaviour) -> None:
    def before(handler: Handler, data: bytes) -> None:
        handler.serve(data, **{"x-amz-version-id": "v1"})

    with serve(before, later) as server, open_url(server.url("a.gguf")) as source:
        assert source.identity.notes == ("The store calls this version v1.",)
        with pytest.raises(SourceChanged):
            source.read(50_000, 10)


def test_a_weak_etag_of_the_same_content_is_no_change() -> None:
    weak = [lambda handler, data: handler.serve(data, ETag='W/"one"')]
    with serve(rangeserver.good, *weak) as server, open_url(server.url("a.gguf")) as source:
        assert source.read(0, 50_000) == DATA[:50_000]


@pytest.mark.parametrize("name", ["x-goog-generation", "x-ms-version-id"])
def test_versions_of_object_stores(name: str) -> None:
    def versioned(handler: Handler, data: bytes) -> None:
        handler.serve(data, **{name: "17"})

    with serve(versioned) as server, open_url(server.url("a.gguf")) as source:
        assert source.identity.notes == ("The store calls this version 17.",)


def test_an_unversioned_bucket_tells_no_version() -> None:
    def unversioned(handler: Handler, data: bytes) -> None:
        handler.serve(data, **{"x-amz-version-id": "null"})

    with serve(unversioned) as server, open_url(server.url("a.gguf")) as source:
        assert source.identity.notes == ()


def test_a_changed_date_without_etag() -> None:
    def dated(date: str) -> Behaviour:
        return lambda handler, data: handler.serve(data, **{"ETag": "", "Last-Modified": date})

    with serve(dated(formatdate(1)), dated(formatdate(2))) as server:
        assert isinstance(failure(server, 50_000), SourceChanged)


# Redirects


def test_redirect_is_followed_once_and_its_target_reused() -> None:
    with serve() as files:
        hub_digest = "ab" * 32
        hop = rangeserver.redirect(files.url("a.gguf"), X_Linked_Etag=f'"{hub_digest}"')
        secrets = {"Authorization": "s", "Cookie": "c=1", "X-Api-Key": "k"}
        with serve(hop, name="m") as hub, open_url(hub.url("m"), **secrets) as source:
            assert source.read(0, 40_000) == DATA[:40_000]
            assert len(hub.requests) == 1
            assert len(files.requests) == 3
            sent = hub.requests[0].headers
            assert [sent[name.lower()] for name in secrets] == ["s", "c=1", "k"]
            private = {"authorization", "cookie", "x-api-key", "referer"}
            assert not any(private & set(request.headers) for request in files.requests)
            assert source.identity.name == "m"
            assert source.identity.hops == (Hop("127.0.0.1", 302), Hop("127.0.0.1", 206))
            assert source.identity.digests == (Digest("sha256", hub_digest, "declared by hub"),)


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_every_kind_of_redirect(status: int) -> None:
    with serve() as files, serve(rangeserver.redirect(files.url("a.gguf"), status)) as server:
        with open_url(server.url("a.gguf")) as source:
            assert source.read(0, 10_000) == DATA[:10_000]
        assert {request.method for request in server.requests + files.requests} == {"GET"}


def test_redirect_on_the_same_origin_keeps_credentials_and_connection() -> None:
    with serve() as server:
        server.behaviours["m"] = rangeserver.redirect("/a.gguf", 307)
        with open_url(server.url("m"), Cookie="c=1") as source:
            assert source.read(0, 10) == DATA[:10]
        assert [request.headers["cookie"] for request in server.requests] == ["c=1", "c=1"]
        assert server.connections == 1


def test_an_expired_redirect_is_asked_for_again() -> None:
    expired = rangeserver.fixed(403, b"expired")
    with (
        serve(rangeserver.good, expired, rangeserver.good) as files,
        serve(rangeserver.redirect(files.url("a.gguf")), name="m") as hub,
    ):
        with open_url(hub.url("m")) as source:
            assert source.read(0, 20_000) == DATA[:20_000]
        assert len(hub.requests) == 2


@pytest.mark.parametrize(
    ("digest", "size", "changed"),
    [("ab", len(DATA), False), ("cd", len(DATA), True), ("ab", len(DATA) - 1, True)],
)
def test_another_delivery_host_of_the_same_file(digest: str, size: int, changed: bool) -> None:
    """Its ETag is another one, but the hub's digest tells that the file is the same."""
    expired = rangeserver.fixed(403, b"expired")

    def other(handler: Handler, data: bytes) -> None:
        handler.serve(data[:size], ETag='"other"')

    with serve(rangeserver.good, expired) as first, serve(other) as second:
        hops = (
            rangeserver.redirect(first.url("a.gguf"), X_Linked_Etag=f'"{"ab" * 32}"'),
            rangeserver.redirect(second.url("a.gguf"), X_Linked_Etag=f'"{digest * 32}"'),
        )
        with serve(*hops, name="m") as hub, open_url(hub.url("m")) as source:
            source.read(0, 10)
            if changed:
                with pytest.raises(SourceChanged):
                    source.read(0, 20_000)
            else:
                assert source.read(0, 60_000) == DATA[:60_000]


@pytest.mark.parametrize(
    ("location", "code"),
    [
        ("http://169.254.169.254/latest/meta-data", "address"),
        ("http://[::1]/", "address"),
        ("file:///etc/passwd", "scheme"),
        ("http:\\\\127.0.0.1\\", "url_bad_char"),
        ("http://user:pw@127.0.0.1/", "userinfo"),
        ("/" + "a" * 9000, "url_too_long"),
        ("/a.gguf", "redirects"),
        ("", "redirects"),
    ],
)
def test_redirect_refused(location: str, code: str) -> None:
    with serve(rangeserver.redirect(location)) as server:
        assert failure(server).code == code
        assert len(server.requests) == (1 if location != "/a.gguf" else SMALL.redirects + 1)


def test_redirect_to_another_port_of_a_public_host() -> None:
    with serve(rangeserver.redirect("http://1.1.1.1:6379/")) as server:
        assert failure(server).code == "port"


def test_a_chain_as_long_as_the_limit() -> None:
    with serve() as server:
        for number in range(SMALL.redirects):
            following = f"/{number + 1}" if number < SMALL.redirects - 1 else "/a.gguf"
            server.behaviours[str(number)] = rangeserver.redirect(following)
        with open_url(server.url("0")) as source:
            assert source.read(0, 5) == DATA[:5]
