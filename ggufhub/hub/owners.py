"""Whose rows a user may see: the one place that decides it."""

from typing import Any

from django.conf import settings


def owned(rows: Any, user: Any, *, superuser: bool = False, owner: str = "owner") -> Any:
    """Those of ``rows`` that belong to ``user``; all of them in open mode.

    A superuser sees everybody's where ``superuser`` is set. Nobody has no rows. ``owner`` is the
    field that says whose a row is.
    """
    if settings.AUTH_MODE == "open":
        return rows
    if superuser and user is not None and user.is_superuser:
        return rows
    return own(rows, user, owner)


def own(rows: Any, user: Any, owner: str = "owner") -> Any:
    """Those of ``rows`` that belong to ``user``, in open mode too. Nobody has no rows."""
    if owner_of(user) is None:
        return rows.none()
    return rows.filter(**{owner: user})


def owner_of(user: Any) -> Any:
    """Who owns what ``user`` makes: the user, or None where nobody is signed in."""
    return user if user is not None and user.is_authenticated else None
