"""The closed set of ways to fail. Whatever bytes or servers do, the core raises nothing else.

A file that is merely *wrong* raises nothing: the reader notes what it saw in the Header and the
rules judge it. These classes are for work that could not be done at all.
"""


class GgufHubError(Exception):
    """Base of every failure the core raises. ``code`` is stable and safe to show to anyone."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


class SourceError(GgufHubError):
    """The bytes could not be had: no such file, refused address, dead server, broken answer.

    ``retry_after`` is the number of seconds a server asked us to wait, or None; ``limit`` the
    budget of ours that ended it, where one did: what was read until then may be looked at.
    """

    def __init__(
        self,
        code: str,
        message: str,
        retry_after: float | None = None,
        limit: "LimitExceeded | None" = None,
    ) -> None:
        super().__init__(code, message)
        self.retry_after = retry_after
        self.limit = limit


class SourceChanged(SourceError):
    """The file changed between two reads of one inspection."""

    def __init__(self, message: str = "The file changed while it was read.") -> None:
        super().__init__("changed", message)


class BytesMissing(SourceError):
    """A header-only upload does not hold bytes the reader needs: ``[offset, offset + length)``.

    ``name`` is the file they are missing from, which may be another shard than the one opened.
    """

    def __init__(self, offset: int, length: int, name: str | None = None) -> None:
        super().__init__("bytes_missing", f"Bytes {offset} to {offset + length - 1} are needed.")
        self.offset = offset
        self.length = length
        self.name = name


class FormatError(GgufHubError):
    """The bytes are there, but they are no model file; ``code`` names the form they have."""


class LimitExceeded(GgufHubError):
    """One of our own budgets was hit. The file is *not decided*, which is not the same as invalid.

    ``limit`` is the field name in ``ggufhub.limits.Limits``; ``asked`` what the file wanted.
    """

    def __init__(self, limit: str, allowed: float, asked: float | None = None) -> None:
        wanted = "" if asked is None else f" (asked for {asked:,})"
        super().__init__("limit", f"The limit {limit} of {allowed:,} was reached{wanted}.")
        self.limit = limit


class ServerError(GgufHubError):
    """The ggufhub server that was asked to do the work cannot be reached, or took too long."""

    def __init__(self, message: str) -> None:
        super().__init__("server", message)


class UsageError(GgufHubError):
    """The caller asked for something that makes no sense; the message says what would."""

    def __init__(self, message: str) -> None:
        super().__init__("usage", message)
