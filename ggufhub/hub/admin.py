"""What operators see and may do. Rows are only looked at: what changes them are actions, which go
through the same services as everything else and are noted in the audit log."""

from collections.abc import Sequence
from typing import Any

from django.contrib import admin
from django.contrib.auth.admin import UserAdmin
from django.contrib.auth.models import Group, User
from django.http import HttpRequest

from ggufhub.hub import audit_log, services, tokens
from ggufhub.hub.audit_log_models import SecurityEvent
from ggufhub.hub.models import ApiToken, Inspection, Upload, Webhook


class ReadOnly(admin.ModelAdmin):
    """Rows to look at."""

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def get_actions(self, request: HttpRequest) -> dict[str, Any]:
        """Django offers those without a permission of their own; here they change rows."""
        return super().get_actions(request) if self.has_view_permission(request) else {}


@admin.register(Inspection)
class Inspections(ReadOnly):
    """Every inspection; ``failed`` with its error code is the list of dead letters."""

    list_display = ("created", "name", "owner", "state", "depth", "error_code", "attempt", "losses")
    list_filter = ("state", "error_code", "depth", "created")
    search_fields = ("id", "name", "owner__username")
    fields = (
        *("id", "owner", "source_kind", "locator", "name", "profile", "depth", "state", "stage"),
        *("requests", "bytes_read", "size", "attempt", "losses", "lease_until", "sent_at"),
        *("error_code", "error_message", "created", "started", "finished"),
    )
    list_select_related = ("owner",)
    actions = ("cancel", "run_again")

    @admin.action(description="Cancel those that have not ended")
    def cancel(self, request: HttpRequest, rows: Any) -> None:
        done = sum(services.cancel(row) for row in rows)
        self.message_user(request, f"{done} cancelled.")

    @admin.action(description="Run those that failed again")
    def run_again(self, request: HttpRequest, rows: Any) -> None:
        done = [row for row in rows if services.run_again(row)]
        self.message_user(request, f"{len(done)} queued again.")


@admin.register(ApiToken)
class Tokens(ReadOnly):
    """Tokens of everybody, without what opens anything."""

    list_display = ("id", "name", "owner", "scopes", "created", "expires", "last_used")
    search_fields = ("id", "name", "owner__username")
    exclude = ("digest",)
    actions = ("revoke",)

    @admin.action(description="Revoke")
    def revoke(self, request: HttpRequest, rows: Any) -> None:
        for token in rows:
            tokens.revoke(token)
        self.message_user(request, "Revoked.")


@admin.register(Webhook)
class Webhooks(ReadOnly):
    """Webhooks of everybody, without their secrets and without what a link may carry."""

    list_display = ("locator", "owner", "created")
    exclude = ("url", "secret", "old_secret")


@admin.register(Upload)
class Uploads(ReadOnly):
    """What lies on the disk."""

    list_display = ("name", "owner", "received", "size", "header_only", "touched")
    search_fields = ("id", "name", "owner__username")


@admin.register(SecurityEvent)
class SecurityEvents(ReadOnly):
    """The audit log."""

    list_display = ("at", "action", "actor", "address", "subject")
    list_filter = ("action", "at")
    search_fields = ("actor", "subject")


class Users(UserAdmin):
    """Accounts; every change is noted."""

    def log_addition(self, request: HttpRequest, obj: Any, message: Any) -> Any:
        audit_log.note("admin.added", obj, change=message)
        return super().log_addition(request, obj, message)

    def log_change(self, request: HttpRequest, obj: Any, message: Any) -> Any:
        audit_log.note("admin.changed", obj, change=message)
        return super().log_change(request, obj, message)

    def log_deletions(self, request: HttpRequest, queryset: Sequence[Any]) -> Any:
        for user in queryset:
            audit_log.note("admin.deleted", user)
        return super().log_deletions(request, queryset)


admin.site.unregister(Group)
admin.site.unregister(User)
admin.site.register(User, Users)
