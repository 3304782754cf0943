"""Every budget of one inspection, each with the real file or measurement that justifies it.

A budget is checked before anything is allocated. Hitting one is reported as "not decided",
never as "invalid": the file may be fine, we only refuse to spend more on it.
"""

from dataclasses import dataclass, replace

KIB = 1024
MIB = 1024 * KIB

LIST_BYTES = 16 * MIB
"""Of a list of links: 100,000 of them."""

HEADER, FULL = "header", "full"
DEPTHS = (HEADER, FULL)
"""How much of a file is read: what describes it, or every byte."""

FULL_SECONDS = 6 * 3600.0
"""Wall time for one file at depth ``full``: 100 GB at 5 MB/s take 5.6 hours."""

FULL_REQUESTS = 131_072
"""Per file at depth ``full``: 1 TiB in ranges of 8 MiB."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Budgets in bytes, counts and seconds. ``Limits()`` holds the defaults."""

    header_bytes: int = 128 * MIB
    """Largest real header known: 15.8 MB (gemma-4, 262,144 tokens and 514,906 merges)."""

    keys: int = 65_536
    """Largest real count known: 42. The hub's own viewer stops at 100,000."""

    tensors: int = 131_072
    """Large mixture-of-experts files hold about 2,000; one tensor an expert would reach 100,000.
    A million would take 16 s and 1.5 GB."""

    name_bytes: int = 16 * MIB
    """All names of keys and tensors in one file. Names of 63 bytes, the longest that load, come
    to 8 MiB for as many tensors as are read."""

    array_elements: int = 16_777_216
    """All arrays of one file together. Largest real array: 514,906 merges; the reference's own
    bound is 2^30 for one array."""

    string_bytes: int = 64 * MIB
    """A whole tokenizer.json may sit in one key; 2^30 is the reference's bound."""

    nesting: int = 4
    """Arrays inside arrays: the specification allows them, no known file uses them."""

    dimensions: int = 8
    """The reference refuses more than 4; reading up to 8 lets us say so and go on."""

    shard_header_bytes: int = 32 * MIB
    """Of a shard beside the one that was asked for. Later shards describe tensors only: 131,072
    of them take 10 MB; the first may hold the largest vocabulary known twice."""

    shards: int = 512
    """The largest published split sets have fewer than 100 parts."""

    findings_per_rule: int = 50
    """A file of 100,000 bad names gets fifty findings and a count, not 100,000 findings."""

    first_read: int = 1 * MIB
    """Small models fit their whole header in it; vocabularies of 32,000 tokens nearly do."""

    largest_read: int = 16 * MIB
    """One range request. Larger headers take several, so that a slow server shows progress."""

    requests: int = 24
    """Per file. The largest real header takes 3."""

    seconds: float = 60.0
    """Wall time for one file at depth ``header``, network included."""

    connect_seconds: float = 5.0
    operation_seconds: float = 10.0
    """One socket operation: a server that says nothing for this long is dead."""

    request_seconds: float = 30.0
    """One request from dial to last byte: 16 MiB in 30 s is 560 KB/s."""

    lowest_rate: int = 32 * KIB
    """Bytes a second, averaged once an answer has run for 10 s: slower servers are given up."""

    redirects: int = 5
    """Hubs need 2 (name to content-delivery host); the fetch specification stops at 20."""

    reply_header_bytes: int = 64 * KIB
    reply_header_lines: int = 100

    def for_depth(self, depth: str) -> "Limits":
        """These limits, with more time and requests where every byte is read."""
        if depth != FULL:
            return self
        return replace(self, seconds=FULL_SECONDS, requests=FULL_REQUESTS)
