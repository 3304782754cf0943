"""The objects below a folder of a bucket that the operator opened."""

from collections.abc import Mapping
from dataclasses import replace

from ggufhub.errors import SourceError
from ggufhub.limits import Limits
from ggufhub.sources.bucket import BucketSource
from ggufhub.sources.bucket_names import ObjectName, check_opened
from ggufhub.sources.listing import TEXT_BYTES, Collector, Entry, Interest, Listing
from ggufhub.sources.policy import AddressPolicy
from ggufhub.sources.stores import Store


def list_bucket(
    place: ObjectName,
    interest: Interest,
    *,
    policy: AddressPolicy,
    limits: Limits,
    environment: Mapping[str, str],
) -> Listing:
    """Everything below ``place`` that matters, sorted by path; ETags are the versions.

    Raises ``SourceError``: ``bucket`` where it was not opened, ``not_found`` where nothing is.
    """
    check_opened(place, environment)
    listing = Listing(place.locator)
    collector = Collector(listing, interest)
    folder = f"{place.key}/" if place.key else ""
    found = False
    for page in Store(replace(place, key=""), limits, environment).objects(folder):
        found = found or bool(page)
        entries = [
            Entry(
                stored.key.removeprefix(folder),
                replace(place, key=stored.key).locator,
                stored.size,
                version=stored.etag,
            )
            for stored in page
        ]
        if not all(map(collector.add, entries)):
            break
    if not found:
        raise SourceError("not_found", f"There is nothing below {place.locator}.")
    listing.entries.sort(key=lambda entry: entry.path)
    for entry in filter(collector.wants_text, listing.entries):
        name = replace(place, key=folder + entry.path)
        with BucketSource(name, policy=policy, limits=limits, environment=environment) as source:
            _read_text(entry, source, listing)
    return listing


def _read_text(entry: Entry, source: BucketSource, listing: Listing) -> None:
    """Put the text of ``entry`` into the listing; one that cannot be had is left out."""
    try:
        data = source.read(0, min(entry.size or 0, TEXT_BYTES))
    except SourceError:
        return
    listing.texts[entry.path] = data.decode("utf-8", "replace")
