"""An S3-compatible store on loopback: objects by range, and paged listings of a bucket."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qs, urlsplit
from xml.sax.saxutils import escape

from ggufhub.limits import Limits
from ggufhub.sources.bucket import BucketSource
from ggufhub.sources.bucket_names import parse_object_name
from ggufhub.sources.policy import AddressPolicy
from tests.core.httpkit import SMALL
from tests.core.rangeserver import Behaviour, Handler, OnOneServer, RangeServer

KEY_ID, SECRET = "AKIDEXAMPLE", "not-so-secret"


class FakeBucket(OnOneServer):
    """Serves ``files`` by key in the bucket ``models``.

    ``signed`` makes it refuse requests that carry no signature of ``KEY_ID``; ``page`` is the
    number of keys in one page of a listing.
    """

    def __init__(
        self, files: Mapping[str, bytes], *, signed: bool = True, page: int = 1000
    ) -> None:
        self.files = dict(files)
        self.signed = signed
        self.page = page
        self.headers = {"x-amz-version-id": "v1"}
        self.server = RangeServer()
        for key, data in files.items():
            self.server.files[f"models/{key}"] = data
            self.server.behaviours[f"models/{key}"] = self._guarded(self._object)
        self.server.behaviours["models"] = self._guarded(self._listing)
        self.environment = {
            "GGUFHUB_BUCKETS": "s3://models, gs://models, az://models, s3://absent",
            "AWS_ENDPOINT_URL": self.endpoint,
            "GOOGLE_BASE_URL": self.endpoint,
            "AZURE_STORAGE_ENDPOINT": self.endpoint,
            "AZURE_STORAGE_ACCOUNT_NAME": "account",
        }
        if signed:
            self.environment |= {"AWS_ACCESS_KEY_ID": KEY_ID, "AWS_SECRET_ACCESS_KEY": SECRET}
        else:
            names = ("AWS_SKIP_SIGNATURE", "GOOGLE_SKIP_SIGNATURE", "AZURE_SKIP_SIGNATURE")
            self.environment |= dict.fromkeys(names, "true")

    def open(self, text: str, limits: Limits = SMALL, **environment: str) -> BucketSource:
        """The source of ``text``; the policy opens no network, as the endpoint needs none."""
        name = parse_object_name(text)
        assert name is not None
        settings = {key: value for key, value in environment.items() if value}
        kept = {k: v for k, v in self.environment.items() if k not in environment}
        return BucketSource(
            name, policy=AddressPolicy(), limits=limits, environment={**kept, **settings}
        )

    def _guarded(self, route: Behaviour) -> Behaviour:
        def serve(handler: Handler, data: bytes) -> None:
            query = parse_qs(urlsplit(handler.path).query)
            sent = handler.headers.get("Authorization", "") + query.get("X-Amz-Credential", [""])[0]
            if self.signed and f"{KEY_ID}/" not in sent:
                handler.answer(403, b"<Error><Code>AccessDenied</Code></Error>")
            else:
                route(handler, data)

        return serve

    def _object(self, handler: Handler, data: bytes) -> None:
        handler.serve(data, **self.headers)

    def _listing(self, handler: Handler, data: bytes) -> None:
        query: dict[str, Any] = parse_qs(urlsplit(handler.path).query)
        prefix = query.get("prefix", [""])[0]
        start = int(query.get("continuation-token", ["0"])[0])
        keys = [key for key in sorted(self.files) if key.startswith(prefix)]
        shown = keys[start : start + self.page]
        more = start + self.page < len(keys)
        items = "".join(
            f"<Contents><Key>{escape(key)}</Key><LastModified>2026-01-01T00:00:00.000Z</LastModified>"
            f'<ETag>"one"</ETag><Size>{len(self.files[key])}</Size></Contents>'
            for key in shown
        )
        token = (
            f"<NextContinuationToken>{start + self.page}</NextContinuationToken>" if more else ""
        )
        handler.answer(
            200,
            f'<?xml version="1.0"?><ListBucketResult><Name>models</Name>'
            f"<KeyCount>{len(shown)}</KeyCount><MaxKeys>{self.page}</MaxKeys>"
            f"<IsTruncated>{str(more).lower()}</IsTruncated>{token}{items}</ListBucketResult>".encode(),
        )
