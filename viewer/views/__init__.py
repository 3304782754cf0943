"""The views, by what they show."""

from viewer.views.account import sign_in, sign_out, token_list, token_revoke
from viewer.views.arrays import array
from viewer.views.compare import choose, compare
from viewer.views.home import home, submit
from viewer.views.inspections import cancel, inspection, status
from viewer.views.rules import rule, rules
from viewer.views.tabs import tab

__all__ = [
    "array",
    "cancel",
    "choose",
    "compare",
    "home",
    "inspection",
    "rule",
    "rules",
    "sign_in",
    "sign_out",
    "status",
    "submit",
    "tab",
    "token_list",
    "token_revoke",
]
