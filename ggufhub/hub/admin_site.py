"""The administration: behind the same sign-in as everything else, with its limits."""

from typing import Any

from django.contrib.admin import AdminSite
from django.contrib.admin.apps import AdminConfig
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse


class OperatorSite(AdminSite):
    """Has no sign-in form of its own: a second one would be a way around the limit of guesses."""

    site_header = site_title = "ggufhub operators"
    index_title = "Administration"

    def login(self, request: HttpRequest, extra_context: Any = None) -> HttpResponse:
        """Send a stranger to sign in; a user who is no operator may not enter."""
        from django.contrib.auth.views import redirect_to_login  # needs the tables

        if request.user.is_authenticated:
            raise PermissionDenied
        return redirect_to_login(request.GET.get("next", "/admin/"))


class OperatorAdminConfig(AdminConfig):
    """Makes ``OperatorSite`` the administration."""

    default_site = "ggufhub.hub.admin_site.OperatorSite"
