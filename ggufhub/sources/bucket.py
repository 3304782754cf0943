"""BucketSource: an object in a bucket that the operator opened."""

import functools
import os
from collections.abc import Mapping
from dataclasses import replace

from ggufhub.errors import SourceError
from ggufhub.limits import Limits
from ggufhub.sources.base import ByteSource
from ggufhub.sources.bucket_names import ObjectName, check_opened
from ggufhub.sources.http import Declared, HttpSource, sibling_limits
from ggufhub.sources.policy import AddressPolicy
from ggufhub.sources.resolved import ResolvedSource
from ggufhub.sources.stores import Store

MOST_LISTED = 10_000
"""Objects looked at to find those beside a model: ten requests."""


class BucketSource(ResolvedSource):
    """An object of S3, Google Cloud Storage or Azure Blob Storage.

    Credentials and endpoint come from ``environment``. An endpoint may lie in any network, but
    is not followed anywhere else; without one the policy holds as for every link.
    """

    def __init__(
        self,
        name: ObjectName,
        *,
        policy: AddressPolicy,
        limits: Limits | None = None,
        environment: Mapping[str, str] = os.environ,
    ) -> None:
        super().__init__(name.locator)
        self._name = name
        self._policy = policy
        self._limits = limits or Limits()
        self._environment = environment

    def sibling(self, name: str) -> ByteSource:
        """The object ``name`` in the same folder. Makes its first request."""
        self._opened()
        if not name or "/" in name or name in (".", ".."):
            raise SourceError("not_found", f"There is no {name} beside the model.")
        other = replace(self._name, key=self._name.folder + name)
        return self._http(other, sibling_limits(self._limits)).started()

    def sibling_names(self) -> list[str]:
        self._opened()
        folder = self._name.folder
        names: list[str] = []
        seen = 0
        for page in self._store.objects(folder):
            self.reads.add(0)
            keys = [stored.key for stored in page]
            names += [key.removeprefix(folder) for key in keys if key.startswith(folder)]
            seen += len(page)
            if seen >= MOST_LISTED:
                break
        return sorted(name for name in names if "/" not in name)

    @functools.cached_property
    def _store(self) -> Store:
        return Store(replace(self._name, key=""), self._limits, self._environment)

    def _resolve(self) -> HttpSource:
        check_opened(self._name, self._environment)
        if not self._name.key:
            raise SourceError("object_name", "The name of the object in the bucket is missing.")
        return self._http(self._name, self._limits)

    def _http(self, name: ObjectName, limits: Limits) -> HttpSource:
        policy = self._store.policy
        if policy is not None:
            limits = replace(limits, redirects=0)
        policy = policy or self._policy
        return HttpSource(
            self._store.link(name.key),
            policy=policy,
            limits=limits,
            headers=self._store.headers,
            dialer=self._store.dialer(policy),
            declared=Declared(name.locator, name.key.rpartition("/")[2]),
            reads=self.reads,
        )
