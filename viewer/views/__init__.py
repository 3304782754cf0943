"""The views, by what they show."""

from viewer.views.account import sign_in, sign_out, token_list, token_revoke
from viewer.views.arrays import array
from viewer.views.audits import (
    audit,
    audit_begin,
    audit_cancel,
    audit_list,
    audit_status,
    schedule_delete,
)
from viewer.views.compare import choose, compare
from viewer.views.conversation import conversation, conversation_status
from viewer.views.home import home, submit
from viewer.views.inspections import cancel, inspection, status
from viewer.views.integrity import manifest
from viewer.views.rules import rule, rules
from viewer.views.tabs import tab
from viewer.views.webhooks import webhook, webhook_act, webhook_list

__all__ = [
    "array",
    "audit",
    "audit_begin",
    "audit_cancel",
    "audit_list",
    "audit_status",
    "cancel",
    "choose",
    "compare",
    "conversation",
    "conversation_status",
    "home",
    "inspection",
    "manifest",
    "rule",
    "rules",
    "schedule_delete",
    "sign_in",
    "sign_out",
    "status",
    "submit",
    "tab",
    "token_list",
    "token_revoke",
    "webhook",
    "webhook_act",
    "webhook_list",
]
