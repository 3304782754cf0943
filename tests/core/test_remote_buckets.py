"""Object stores: reading from one on loopback, with and without credentials."""

import base64
import hashlib
import json
import logging
import sys
from dataclasses import replace
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

from ggufhub.errors import SourceChanged, SourceError
from ggufhub.report.build import inspect
from ggufhub.sources import bucket as bucket_source
from ggufhub.sources import stores
from ggufhub.sources.base import Digest
from ggufhub.sources.bucket import BucketSource
from ggufhub.sources.bucket_names import ObjectName
from ggufhub.sources.open import open_remote, open_source
from ggufhub.sources.policy import AddressPolicy
from ggufhub.sources.stores import Store
from tests.builders import small_model
from tests.core import rangeserver, servicekey
from tests.core.fakebucket import KEY_ID, SECRET, FakeBucket
from tests.core.httpkit import DATA, SMALL
from tests.core.rangeserver import Handler, RangeServer
from tests.shards import three_shards

MODEL = small_model().build()

# Reading


@pytest.mark.parametrize("scheme", ["s3", "gs", "az"])
def test_an_object_is_read_by_range(scheme: str) -> None:
    with FakeBucket({"dir/a b.gguf": DATA}, signed=False) as bucket:
        with bucket.open(f"{scheme}://models/dir/a b.gguf") as source:
            identity = source.identity
            assert (identity.name, identity.size, identity.etag) == ("a b.gguf", len(DATA), '"one"')
            assert identity.locator == f"{scheme}://models/dir/a%20b.gguf"
            assert identity.notes == ("The store calls this version v1.",)
            assert source.read(0, 50_000) == DATA[:50_000]
            assert source.reads.requests == len(bucket.server.requests)
            assert source.reads.bytes == bucket.server.bytes_sent
        assert bucket.server.ranges()[:2] == ["0-4095", "4096-36863"]
        assert {request.path for request in bucket.server.requests} == {"/models/dir/a%20b.gguf"}


def test_links_are_signed_and_the_signature_is_told_to_nobody(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG)
    with FakeBucket({"a.gguf": MODEL}) as bucket, bucket.open("s3://models/a.gguf") as source:
        document = inspect(source).document
        query = parse_qs(urlsplit(bucket.server.requests[0].path).query)
        assert query["X-Amz-SignedHeaders"] == ["host"]
        signature = query["X-Amz-Signature"][0]
    assert document["error"] is None
    assert document["source"] == "s3://models/a.gguf"
    for text in (json.dumps(document), caplog.text):
        assert not any(secret in text for secret in (signature, KEY_ID, SECRET))


def test_a_wrong_key_is_refused_by_the_store() -> None:
    with (
        FakeBucket({"a.gguf": MODEL}) as bucket,
        bucket.open("s3://models/a.gguf", AWS_ACCESS_KEY_ID="OTHER") as source,
    ):
        document = inspect(source).document
    assert document["error"]["code"] == "forbidden"


def test_the_secret_of_a_file_signs(tmp_path: Path) -> None:
    file = tmp_path / "secret"
    file.write_text(SECRET)
    with FakeBucket({"a.gguf": MODEL}) as bucket:
        secrets = {"AWS_SECRET_ACCESS_KEY": "", "AWS_SECRET_ACCESS_KEY_FILE": str(file)}
        with bucket.open("s3://models/a.gguf", **secrets) as source:
            assert source.read(0, 4) == b"GGUF"


def test_azure_links_carry_the_shared_signature() -> None:
    with FakeBucket({"a.gguf": MODEL}, signed=False) as bucket:
        secrets = {"AZURE_SKIP_SIGNATURE": "", "AZURE_STORAGE_SAS_TOKEN": "?sv=1&sig=5ec7e7"}
        with bucket.open("az://models/a.gguf", **secrets) as source:
            assert source.read(0, 4) == b"GGUF"
            assert source.identity.locator == "az://models/a.gguf"
        assert bucket.server.requests[0].path == "/models/a.gguf?sv=1&sig=5ec7e7"


def test_azure_and_google_links_are_signed_with_the_account_key() -> None:
    place = {"AZURE_STORAGE_ACCOUNT_NAME": "account", "AZURE_STORAGE_ACCOUNT_KEY": "c2VjcmV0"}
    link = Store(ObjectName("az", "container"), SMALL, place).link("a b.gguf")
    assert link.startswith("https://account.blob.core.windows.net/container/a%20b.gguf?")
    assert "sp=r&" in link and "sig=" in link
    google = {"GOOGLE_SERVICE_ACCOUNT_KEY": json.dumps(servicekey.ACCOUNT)}
    link = Store(ObjectName("gs", "models"), SMALL, google).link("a b.gguf")
    assert link.startswith("https://storage.googleapis.com/models/a%20b.gguf?X-Goog-Algorithm=")


@pytest.mark.parametrize(
    ("name", "environment", "link"),
    [
        (ObjectName("s3", "m"), {}, "https://s3.us-east-1.amazonaws.com/m/a%20b"),
        (
            ObjectName("s3", "m"),
            {"AWS_DEFAULT_REGION": "eu-west-1"},
            "https://s3.eu-west-1.amazonaws.com/m/a%20b",
        ),
        (ObjectName("gs", "m"), {}, "https://storage.googleapis.com/m/a%20b"),
        (
            ObjectName("az", "m"),
            {"AZURE_STORAGE_ACCOUNT_NAME": "account"},
            "https://account.blob.core.windows.net/m/a%20b",
        ),
        (
            ObjectName("s3", "m"),
            {"AWS_ENDPOINT_URL": "https://minio.example:9000/"},
            "https://minio.example:9000/m/a%20b",
        ),
    ],
)
def test_links_to_public_buckets(name: ObjectName, environment: dict[str, str], link: str) -> None:
    skips = {f"{provider}_SKIP_SIGNATURE": "true" for provider in ("AWS", "GOOGLE", "AZURE")}
    assert Store(name, SMALL, {**skips, **environment}).link("a b") == link


def test_checksums_of_a_public_object_are_asked_for_and_compared() -> None:
    digest = hashlib.sha256(b"other bytes").digest()
    with FakeBucket({"a.gguf": MODEL}, signed=False) as bucket:
        bucket.headers = {"x-amz-checksum-sha256": base64.b64encode(digest).decode()}
        with bucket.open("s3://models/a.gguf") as source:
            assert source.identity.digests == (
                Digest("sha256", digest.hex(), "declared by server"),
            )
            findings = inspect(source).document["findings"]
        assert bucket.server.requests[0].headers["x-amz-checksum-mode"] == "ENABLED"
    assert "STR035" in {finding["rule"] for finding in findings}


# Siblings


def test_shards_and_the_checksum_file_beside_them() -> None:
    files = {f"m/{name}": data for name, data in three_shards().items()}
    sums = "".join(
        f"{hashlib.sha256(data).hexdigest()}  {key.removeprefix('m/')}\n"
        for key, data in files.items()
    )
    extra = {"m/SHA256SUMS": sums.encode(), "m/deep/b.gguf": b"", "other.gguf": b""}
    with FakeBucket({**files, **extra}) as bucket:
        with bucket.open(f"s3://models/{next(iter(files))}") as source:
            document = inspect(source).document
        assert document["reads"]["requests"] == len(bucket.server.requests)
    assert [file["name"] for file in document["files"]] == list(three_shards())
    assert all(file["digests"][0]["basis"] == "in a manifest" for file in document["files"])


def test_names_beside_an_object_are_those_of_its_folder_on_every_page() -> None:
    files = dict.fromkeys(("a.gguf", "m/a.gguf", "m/b 1.gguf", "m/c&d", "m/deep/e", "m2/f"), b"x")
    with FakeBucket(files, page=2) as bucket, bucket.open("s3://models/m/a.gguf") as source:
        assert source.sibling_names() == ["a.gguf", "b 1.gguf", "c&d"]
    with FakeBucket(files) as bucket, bucket.open("s3://models/a.gguf") as source:
        assert source.sibling_names() == ["a.gguf"]


def test_a_listing_is_not_read_to_its_end_at_any_price(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bucket_source, "MOST_LISTED", 4)
    monkeypatch.setattr(stores, "PAGE", 2)
    files = {f"{number:03d}": b"x" for number in range(100)}
    with FakeBucket(files, page=2) as bucket, bucket.open("s3://models/000") as source:
        assert source.sibling_names() == ["000", "001", "002", "003"]
        assert len(bucket.server.requests) < 6


@pytest.mark.parametrize("name", ["absent.gguf", "", "..", "../a.gguf", "deep/a.gguf"])
def test_a_sibling_that_is_not_there(name: str) -> None:
    with (
        FakeBucket(dict.fromkeys(("m/a.gguf", "a.gguf", "m/deep/a.gguf"), MODEL)) as bucket,
        bucket.open("s3://models/m/a.gguf") as source,
        pytest.raises(SourceError) as caught,
    ):
        source.sibling(name)
    assert caught.value.code == "not_found"


def test_a_bucket_that_may_not_be_listed_is_still_read() -> None:
    with FakeBucket({"a.gguf": MODEL}) as bucket:
        bucket.server.behaviours["models"] = rangeserver.fixed(403)
        with bucket.open("s3://models/a.gguf") as source:
            assert inspect(source).document["error"] is None
            with pytest.raises(SourceError) as caught:
                source.sibling_names()
    assert caught.value.code == "store"


# Trouble


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("s3://models/absent.gguf", "not_found"),
        ("s3://absent/a.gguf", "not_found"),
        ("s3://elsewhere/a.gguf", "bucket"),
        ("s3://models", "object_name"),
    ],
)
def test_what_is_not_there_or_may_not_be_read(text: str, code: str) -> None:
    with FakeBucket({"a.gguf": MODEL}) as bucket, bucket.open(text) as source:
        document = inspect(source).document
        assert (document["verdict"], document["error"]["code"]) == ("unreadable", code)
        if code in ("bucket", "object_name"):
            assert bucket.server.requests == []


@pytest.mark.parametrize("later", [{"ETag": '"two"'}, {"x-amz-version-id": "v2"}])
def test_an_object_that_changes_while_it_is_read(later: dict[str, str]) -> None:
    with FakeBucket({"a.gguf": DATA}) as bucket, bucket.open("s3://models/a.gguf") as source:
        source.read(0, 10)
        bucket.headers = {**bucket.headers, **later}
        with pytest.raises(SourceChanged):
            source.read(50_000, 10)


def test_a_busy_store_says_when_to_come_back() -> None:
    with FakeBucket({"a.gguf": MODEL}) as bucket, bucket.open("s3://models/a.gguf") as source:
        bucket.server.behaviours["models/a.gguf"] = rangeserver.fixed(503, Retry_After="9")
        assert inspect(source).retry_after == 9


def test_an_endpoint_leads_nowhere_else() -> None:
    with RangeServer({"a.gguf": MODEL}) as other, FakeBucket({"a.gguf": MODEL}) as bucket:
        away = rangeserver.redirect(other.url("a.gguf"), 307)
        bucket.server.behaviours["models/a.gguf"] = away
        with bucket.open("s3://models/a.gguf") as source:
            assert inspect(source).document["error"]["code"] == "port"
        bucket.server.behaviours["models/a.gguf"] = rangeserver.redirect("/models/b.gguf", 307)
        with bucket.open("s3://models/a.gguf") as source:
            assert inspect(source).document["error"]["code"] == "redirects"
        assert other.requests == []


def test_a_public_provider_is_reached_under_the_usual_policy() -> None:
    """A bucket's name cannot open what the policy closes: only an endpoint can."""
    environment = {"GGUFHUB_BUCKETS": "s3://models", "AWS_SKIP_SIGNATURE": "1"}
    policy = AddressPolicy(allowed_ports=(80,))
    name = ObjectName("s3", "models", "a.gguf")
    with (
        BucketSource(name, policy=policy, limits=SMALL, environment=environment) as source,
        pytest.raises(SourceError) as caught,
    ):
        source.read(0, 1)
    assert caught.value.code == "port"


@pytest.mark.parametrize(
    ("scheme", "broken"),
    [
        ("gs", {"GOOGLE_SERVICE_ACCOUNT_KEY": '{"private_key": "5ec7e7"}'}),
        ("gs", {"GOOGLE_APPLICATION_CREDENTIALS": "/absent/5ec7e7.json"}),
        ("az", {"AZURE_STORAGE_ACCOUNT_KEY": "5ec7e7!"}),
        ("az", {"AZURE_STORAGE_ACCOUNT_NAME": "", "AZURE_STORAGE_ACCOUNT_KEY": "5ec7e7"}),
    ],
)
def test_credentials_that_cannot_be_had(scheme: str, broken: dict[str, str]) -> None:
    with (
        FakeBucket({"a.gguf": MODEL}) as bucket,
        bucket.open(f"{scheme}://models/a.gguf", **broken) as source,
    ):
        document = inspect(source).document
    assert document["error"]["code"] == "store"
    assert "5ec7e7" not in json.dumps(document)


def test_without_the_extra_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "obstore", None)
    with FakeBucket({"a.gguf": MODEL}) as bucket, bucket.open("s3://models/a.gguf") as source:
        error = inspect(source).document["error"]
    assert error["code"] == "extra"
    assert "ggufhub[objects]" in error["message"]


def test_ranges_the_store_ignores_are_streamed() -> None:
    """As Cloud Storage does with objects it unpacks on the way."""

    def ignoring(handler: Handler, data: bytes) -> None:
        rangeserver.ignore_range(handler, data)

    with FakeBucket({"a.gguf": DATA}) as bucket:
        bucket.server.behaviours["models/a.gguf"] = ignoring
        with bucket.open("s3://models/a.gguf", replace(SMALL, header_bytes=30_000)) as source:
            assert source.read(0, 20_000) == DATA[:20_000]
            with pytest.raises(SourceError) as caught:
                source.read(90_000, 10)
    assert caught.value.code == "no_ranges"


def test_names_are_routed() -> None:
    with (
        FakeBucket({"a.gguf": MODEL}) as bucket,
        open_remote("s3://models/a.gguf", environment=bucket.environment) as source,
    ):
        assert source.read(0, 4) == b"GGUF"
    with open_source("s3://models/a.gguf") as source:
        assert inspect(source).document["error"]["code"] == "bucket"
