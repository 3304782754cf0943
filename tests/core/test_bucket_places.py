"""Buckets as places to audit, and stores behind a proxy."""

from dataclasses import replace

import pytest

from ggufhub.audit.groups import INTEREST, group
from ggufhub.errors import SourceError
from ggufhub.report.build import inspect
from ggufhub.sources import stores
from ggufhub.sources.bucket import BucketSource
from ggufhub.sources.bucket_names import ObjectName
from ggufhub.sources.listed import Places, open_listed
from ggufhub.sources.policy import AddressPolicy
from ggufhub.sources.proxy import ProxyDialer
from ggufhub.sources.stores import Store
from tests.builders import small_model
from tests.core.fakebucket import FakeBucket
from tests.core.httpkit import SMALL
from tests.core.test_proxy import Proxy
from tests.shards import three_shards

MODEL = small_model().build()

# Listings


def places(bucket: FakeBucket) -> Places:
    return Places(
        policy=AddressPolicy(), interest=INTEREST, limits=SMALL, environment=bucket.environment
    )


def test_everything_below_a_folder_is_listed() -> None:
    files = {
        "q/a.gguf": MODEL,
        "q/deep/b 1.gguf": MODEL,
        "q/README.md": b"# card",
        "q/notes.bin": b"",
        "q2/c.gguf": MODEL,
    }
    with FakeBucket(files, page=2) as bucket:
        listing = places(bucket).listing("s3://models/q/")
        assert [(e.path, e.locator, e.size, e.version) for e in listing.entries] == [
            ("README.md", "s3://models/q/README.md", 6, '"one"'),
            ("a.gguf", "s3://models/q/a.gguf", len(MODEL), '"one"'),
            ("deep/b 1.gguf", "s3://models/q/deep/b%201.gguf", len(MODEL), '"one"'),
        ]
        assert listing.texts == {"README.md": "# card"}
        assert len(places(bucket).listing("s3://models").entries) == 4


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("s3://models/absent", "not_found"),
        ("s3://elsewhere", "bucket"),
        ("s3://a b", "object_name"),
    ],
)
def test_what_cannot_be_listed(text: str, code: str) -> None:
    with FakeBucket({"a.gguf": MODEL}) as bucket, pytest.raises(SourceError) as caught:
        places(bucket).listing(text)
    assert caught.value.code == code


def test_models_of_a_listing_are_opened(monkeypatch: pytest.MonkeyPatch) -> None:
    with FakeBucket({"q/a.gguf": MODEL, **three_shards()}) as bucket:
        listing = places(bucket).listing("s3://models")
        for name, value in bucket.environment.items():
            monkeypatch.setenv(name, value)
        items = group(listing.entries).items
        assert sorted(len(item.files) for item in items) == [1, 3]
        for item in items:
            with open_listed(item.files) as source:
                assert inspect(source).document["error"] is None


# The proxy that leads out


@pytest.mark.parametrize(
    ("endpoint", "inner"),
    [
        ("http://127.0.0.1:9000", True),
        ("http://minio:9000", True),
        ("https://store.internal", True),
        ("https://store.example.org:9000", False),
        ("http://1.1.1.1:9000", False),
        ("", False),
    ],
)
def test_an_inner_endpoint_is_reached_without_the_proxy(endpoint: str, inner: bool) -> None:
    environment = {"GGUFHUB_EGRESS_PROXY": "http://proxy.example:4750"}
    if endpoint:
        environment["AWS_ENDPOINT_URL"] = endpoint
    store = Store(ObjectName("s3", "models"), SMALL, environment)
    policy = store.policy or AddressPolicy()
    assert isinstance(store.dialer(policy), ProxyDialer) is not inner
    assert (store.policy is None) is (endpoint == "")


def test_an_endpoint_on_any_port_is_read_through_the_proxy() -> None:
    name = ObjectName("s3", "models", "a.gguf")
    with FakeBucket({"a.gguf": MODEL}, signed=False) as bucket:
        proxy = Proxy(bucket.server.port)
        environment = {
            **bucket.environment,
            "GGUFHUB_EGRESS_PROXY": proxy.url,
            "AWS_ENDPOINT_URL": "http://store.example.org:9000",
        }
        with BucketSource(
            name, policy=AddressPolicy(), limits=SMALL, environment=environment
        ) as source:
            assert source.read(0, 4) == b"GGUF"
        proxy.close()
    assert proxy.asked[0].startswith(b"CONNECT store.example.org:9000 ")


def test_a_listing_that_takes_too_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stores, "PAGE", 1)
    files = {f"{number:03d}": b"x" for number in range(9)}
    with (
        FakeBucket(files, page=1) as bucket,
        bucket.open("s3://models/000", replace(SMALL, seconds=0.0)) as source,
        pytest.raises(SourceError) as caught,
    ):
        source.sibling_names()
    assert caught.value.code == "limit"
