"""Store: the links and listings of one bucket, made with the operator's credentials.

Only signing and listing are left to obstore, which knows the credentials of every provider. The
bytes themselves are read like those of any other link, so that every rule about ranges, changes,
time and addresses holds for them too.
"""

import contextlib
import functools
import time
from collections.abc import Iterator, Mapping
from datetime import timedelta
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote

from ggufhub.errors import SourceError
from ggufhub.limits import Limits
from ggufhub.sources.addresses import is_public
from ggufhub.sources.bucket_names import ObjectName
from ggufhub.sources.dial import Dialer
from ggufhub.sources.policy import AddressPolicy
from ggufhub.sources.proxy import VARIABLE as PROXY
from ggufhub.sources.proxy import make_dialer
from ggufhub.sources.secrets import setting

if TYPE_CHECKING:
    from obstore.store import AzureStore, GCSStore, S3Store

_SETTINGS = {
    "s3": {
        "AWS_ACCESS_KEY_ID": "access_key_id",
        "AWS_SECRET_ACCESS_KEY": "secret_access_key",
        "AWS_SESSION_TOKEN": "session_token",
        "AWS_DEFAULT_REGION": "region",
        "AWS_REGION": "region",
        "AWS_ENDPOINT_URL": "endpoint",
        "AWS_SKIP_SIGNATURE": "skip_signature",
    },
    "gs": {
        "GOOGLE_APPLICATION_CREDENTIALS": "application_credentials",
        "GOOGLE_SERVICE_ACCOUNT_KEY": "service_account_key",
        "GOOGLE_BASE_URL": "base_url",
        "GOOGLE_SKIP_SIGNATURE": "skip_signature",
    },
    "az": {
        "AZURE_STORAGE_ACCOUNT_NAME": "account_name",
        "AZURE_STORAGE_ACCOUNT_KEY": "account_key",
        "AZURE_STORAGE_SAS_TOKEN": "sas_key",
        "AZURE_STORAGE_ENDPOINT": "endpoint",
        "AZURE_SKIP_SIGNATURE": "skip_signature",
    },
}
"""The providers' own variables, and what obstore calls them. A later one overrides."""

_REGION = "us-east-1"
"""What S3 clients assume where none is set."""

_YES = frozenset({"1", "true", "yes", "on"})

ANYWHERE = ("0.0.0.0/0", "::/0")
"""An endpoint is the operator's own word, and no user can choose one; most lie inside."""

PAGE = 1000
"""Objects in a page of a listing: the most S3 gives."""

SIGNED_EXTRA = 300.0
"""Seconds a link outlives the time budget of a file, for clocks that differ."""


class StoredObject(NamedTuple):
    """An object in a listing; ``size`` in bytes."""

    key: str
    size: int
    etag: str | None


class Store:
    """One bucket. ``endpoint`` is the operator's own, None for the provider's public one.

    Raises ``SourceError``: ``extra`` where obstore is not installed, ``store`` where the store
    or its credentials do not work. What went wrong in detail may hold secrets, so it is not told.
    """

    def __init__(self, bucket: ObjectName, limits: Limits, environment: Mapping[str, str]) -> None:
        self._bucket = bucket
        self._limits = limits
        self._environment = environment
        self._config = _config(bucket.scheme, environment)
        self.endpoint = self._config.get("base_url" if bucket.scheme == "gs" else "endpoint")

    @property
    def headers(self) -> dict[str, str]:
        """Headers to read with. S3 tells checksums if asked to, but a signed link must hold
        nothing that was not signed."""
        asks = self._bucket.scheme == "s3" and self._public
        return {"x-amz-checksum-mode": "ENABLED"} if asks else {}

    def link(self, key: str) -> str:
        """An http(s) link to the object ``key``, good for the time one file may take."""
        if self._public:
            return self._plain_link(key)
        if "sas_key" in self._config:
            return f"{self._plain_link(key)}?{self._config['sas_key'].lstrip('?')}"
        seconds = timedelta(seconds=self._limits.seconds + SIGNED_EXTRA)
        obstore, store = _obstore(), self._store
        with _plain_errors(obstore):
            signed: str = obstore.sign(store, "GET", key, seconds)
        return signed

    def objects(self, folder: str) -> Iterator[list[StoredObject]]:
        """What lies below ``folder`` ("" or with a slash at its end), by pages, each a request."""
        obstore, store = _obstore(), self._store
        end = time.monotonic() + self._limits.seconds
        with _plain_errors(obstore):
            for page in obstore.list(store, folder or None, chunk_size=PAGE):
                yield [StoredObject(one["path"], one["size"], one["e_tag"]) for one in page]
                if time.monotonic() > end:
                    message = f"The listing takes longer than {self._limits.seconds:g} seconds."
                    raise SourceError("limit", message)

    def dialer(self, policy: AddressPolicy) -> Dialer:
        """A dialer to the store, for which ``policy`` is good."""
        return Dialer(policy) if self._inner else make_dialer(policy, self._environment)

    @functools.cached_property
    def policy(self) -> AddressPolicy | None:
        """What opens the operator's own endpoint; None where the usual policy is to hold."""
        if self.endpoint is None:
            return None
        port = AddressPolicy(ANYWHERE).parse(self.endpoint).port
        return AddressPolicy(ANYWHERE, (port,))

    @functools.cached_property
    def _inner(self) -> bool:
        """Whether the endpoint's name or address means something inside only: then the proxy
        that leads out is no way to it."""
        if self.endpoint is None or self.policy is None:
            return False
        target = self.policy.parse(self.endpoint)
        return bool(target.inside_only) or (
            target.address is not None and not is_public(target.address)
        )

    @property
    def _public(self) -> bool:
        return self._config.get("skip_signature", "").lower() in _YES

    def _plain_link(self, key: str) -> str:
        base = self.endpoint or self._provider()
        return f"{base.rstrip('/')}/{self._bucket.bucket}/{quote(key)}"

    def _provider(self) -> str:
        if self._bucket.scheme == "s3":
            return f"https://s3.{self._config['region']}.amazonaws.com"
        if self._bucket.scheme == "gs":
            return "https://storage.googleapis.com"
        return f"https://{self._config.get('account_name', '')}.blob.core.windows.net"

    @functools.cached_property
    def _store(self) -> "S3Store | GCSStore | AzureStore":
        obstore = _obstore()
        stores = obstore.store
        kind = {"s3": stores.S3Store, "gs": stores.GCSStore, "az": stores.AzureStore}
        options: dict[str, Any] = {
            "allow_http": (self.endpoint or "").startswith("http://"),
            "connect_timeout": timedelta(seconds=self._limits.connect_seconds),
            "timeout": timedelta(seconds=self._limits.request_seconds),
        }
        proxy = self._environment.get(PROXY, "").strip()
        if proxy and not self._inner:
            options["proxy_url"] = proxy
        with _plain_errors(obstore):
            store: S3Store | GCSStore | AzureStore = kind[self._bucket.scheme](
                self._bucket.bucket,
                config=self._config,
                client_options=options,
                retry_config={"max_retries": 0},
            )
        return store


def _config(scheme: str, environment: Mapping[str, str]) -> dict[str, str]:
    config = {"region": _REGION} if scheme == "s3" else {}
    for variable, key in _SETTINGS[scheme].items():
        value = setting(environment, variable)
        if value:
            config[key] = value
    return config


def _obstore() -> Any:
    """The module, which the extra ``objects`` brings."""
    try:
        import obstore
        import obstore.exceptions
        import obstore.store
    except ImportError as error:
        message = "Object stores are read with the package obstore: pip install ggufhub[objects]"
        raise SourceError("extra", message) from error
    return obstore


@contextlib.contextmanager
def _plain_errors(obstore: Any) -> Iterator[None]:
    """Turn what obstore raises into ``SourceError``, without its text: that may quote secrets."""
    try:
        yield
    except (obstore.exceptions.BaseError, OSError, ValueError):
        raise SourceError(
            "store",
            "The object store does not answer, or its credentials do not work. A public bucket "
            "needs none, as AWS_SKIP_SIGNATURE, GOOGLE_SKIP_SIGNATURE or AZURE_SKIP_SIGNATURE say.",
        ) from None
