"""Where to look, and how to open what was found: from the text a person gives to listings."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ggufhub.errors import SourceError
from ggufhub.limits import LIST_BYTES, Limits
from ggufhub.names import LINKS
from ggufhub.sources.base import ByteSource, Identity
from ggufhub.sources.bucket_names import ObjectName, parse_object_name
from ggufhub.sources.list_folder import list_folder
from ggufhub.sources.list_quota import Quota
from ggufhub.sources.listing import Entry, Interest, Listing
from ggufhub.sources.open import is_url, open_source

if TYPE_CHECKING:
    from ggufhub.sources.list_hub import Hub
    from ggufhub.sources.policy import AddressPolicy


class Places:
    """Lists what a text names: a folder, a list of links, a hub repository, organisation or
    collection, a bucket or folder of one, an index page or checksum file on a web server.

    ``environment`` gives HF_ENDPOINT, HF_TOKEN and GGUFHUB_EGRESS_PROXY.
    """

    def __init__(
        self,
        *,
        policy: "AddressPolicy",
        interest: Interest,
        limits: Limits | None = None,
        environment: Mapping[str, str] = os.environ,
    ) -> None:
        self._policy = policy
        self._interest = interest
        self._limits = limits or Limits()
        self._environment = environment
        self._quota = Quota()

    def repositories(self, text: str) -> list[str]:
        """The places that ``text`` stands for: an organisation has many, anything else is one.

        Raises ``SourceError``.
        """
        if not text.startswith(("hf://", "http://", "https://")):
            return [text]
        with self._hub() as hub:
            found = hub.repositories(text)
        return [text] if found is None else found

    def listing(self, text: str) -> Listing:
        """The files of one place. Raises ``SourceError``."""
        from ggufhub.sources.hub_names import HubSettings, parse_hub_name
        from ggufhub.sources.list_links import list_links

        if text.startswith(LINKS):
            return list_links(text.removeprefix(LINKS), "a list of links", self._interest)
        if not is_url(text) and os.path.lexists(text):
            path = Path(text)
            if path.is_dir():
                return list_folder(path, self._interest)
            return list_links(_read(path), text, self._interest, f"{path.parent}/")
        place = parse_object_name(text)
        if place is not None:
            return self._bucket(place)
        settings = HubSettings.from_environment(self._environment)
        name = parse_hub_name(text, settings.endpoint)
        if name is not None:
            with self._hub() as hub:
                return hub.files(name, self._interest)
        if text.startswith(("http://", "https://")):
            return self._index(text)
        raise SourceError("not_found", f"There is no folder, list or repository {text}.")

    def _bucket(self, place: ObjectName) -> Listing:
        from ggufhub.sources.list_bucket import list_bucket

        return list_bucket(
            place,
            self._interest,
            policy=self._policy,
            limits=self._limits,
            environment=self._environment,
        )

    def _hub(self) -> "Hub":
        from ggufhub.sources.hub_names import HubSettings
        from ggufhub.sources.list_hub import Hub
        from ggufhub.sources.proxy import make_dialer

        return Hub(
            HubSettings.from_environment(self._environment),
            policy=self._policy,
            dialer=make_dialer(self._policy, self._environment),
            limits=self._limits,
            quota=self._quota,
        )

    def _index(self, url: str) -> Listing:
        """The links of a page, or the lines of a list, whichever the server sends."""
        from ggufhub.sources.api import Api
        from ggufhub.sources.base import Reads
        from ggufhub.sources.list_links import list_index, list_links
        from ggufhub.sources.proxy import make_dialer

        api = Api(
            url,
            policy=self._policy,
            limits=self._limits,
            dialer=make_dialer(self._policy, self._environment),
            reads=Reads(),
            headers={},
        )
        try:
            answer = api.get(url, most=LIST_BYTES).good()
        finally:
            api.close()
        text = answer.body.decode("utf-8", "replace")
        if answer.headers.get_content_type() == "text/html":
            return list_index(text, url, self._interest)
        return list_links(text, url, self._interest, url)


def _read(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return file.read(LIST_BYTES).decode("utf-8", "replace")
    except OSError as error:
        raise SourceError("unreadable", f"{path} cannot be read: {error.strerror}.") from error


class ListedSource(ByteSource):
    """``inner``, beside which there is nothing but ``files``: what else lies there was listed
    once already, and must not be read again with every model of a repository."""

    def __init__(self, inner: ByteSource, files: Sequence[Entry]) -> None:
        super().__init__(inner.locator)
        self.reads = inner.reads
        self._inner = inner
        self._names = [
            file.name if is_url(file.locator) else os.path.basename(file.locator) for file in files
        ]

    @property
    def identity(self) -> Identity:
        return self._inner.identity

    def readinto(self, offset: int, buffer: memoryview) -> int:
        return self._inner.readinto(offset, buffer)

    def sibling(self, name: str) -> ByteSource:
        if name not in self._names:
            raise SourceError("not_found", f"There is no {name} beside the model.")
        return self._inner.sibling(name)

    def sibling_names(self) -> list[str]:
        return list(self._names)

    def check_unchanged(self) -> None:
        self._inner.check_unchanged()

    def reset(self) -> None:
        self._inner.reset()

    def close(self) -> None:
        self._inner.close()


def open_listed(
    files: Sequence[Entry],
    *,
    policy: "AddressPolicy | None" = None,
    limits: Limits | None = None,
    environment: Mapping[str, str] = os.environ,
) -> ByteSource:
    """The model that ``files`` make up, the first of them opened. Raises ``SourceError``."""
    first = files[0]
    if first.locator.startswith("hf://") and "@" in first.locator:
        source = _listed_on_hub(files, policy, limits or Limits(), environment)
    else:
        source = open_source(first.locator, policy=policy, limits=limits)
    return ListedSource(source, files)


def _listed_on_hub(
    files: Sequence[Entry],
    policy: "AddressPolicy | None",
    limits: Limits,
    environment: Mapping[str, str],
) -> ByteSource:
    from ggufhub.sources.hub_names import COMMIT, HubSettings, parse_hub_name
    from ggufhub.sources.list_hub import ListedHubSource
    from ggufhub.sources.policy import AddressPolicy
    from ggufhub.sources.proxy import make_dialer

    policy = policy or AddressPolicy()
    name = parse_hub_name(files[0].locator)
    if name is None or not COMMIT.fullmatch(name.revision):
        return open_source(files[0].locator, policy=policy, limits=limits)
    return ListedHubSource(
        name,
        files,
        policy=policy,
        limits=limits,
        settings=HubSettings.from_environment(environment),
        dialer=make_dialer(policy, environment),
    )
