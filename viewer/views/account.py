"""Signing in and out, and a user's tokens for programs."""

from typing import Any

from django.contrib.auth.decorators import login_required
from django.contrib.auth.forms import AuthenticationForm
from django.contrib.auth.views import LoginView, LogoutView
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_POST

from ggufhub.errors import UsageError
from ggufhub.hub import budgets, tokens
from viewer.paging import whole_number
from viewer.views.common import private
from viewer.views.turns import refused, slow_down, too_many


class SignIn(LoginView):
    """The form; guesses at one name from one address are slowed down before they are checked."""

    template_name = "viewer/signin.html"
    redirect_authenticated_user = True

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        name = request.POST.get("username", "")[:150].casefold()
        turn = budgets.take(budgets.SIGN_IN, f"{request.META.get('REMOTE_ADDR', '')}:{name}")
        if turn is not None and not turn.allowed:
            form = AuthenticationForm(request, initial={"username": name})
            context = self.get_context_data(form=form, error=too_many(turn))
            return slow_down(self.render_to_response(context), turn)
        return super().post(request, *args, **kwargs)


sign_in = SignIn.as_view()
sign_out = LogoutView.as_view(http_method_names=["post"])


@sensitive_post_parameters()
@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def token_list(request: HttpRequest) -> HttpResponse:
    """The user's tokens; a POST makes one, whose text is on this answer and nowhere else."""
    if request.method != "POST":
        return _token_page(request)
    turn = refused(request, budgets.CREATE_TOKEN)
    if turn is not None:
        return slow_down(_token_page(request, error=too_many(turn)), turn)
    asked = request.POST
    try:
        _, text = tokens.create(
            owner=request.user,
            name=asked.get("name", ""),
            scopes=asked.getlist("scope"),
            days=whole_number(asked["days"], 0) if asked.get("days") else None,
        )
    except UsageError as error:
        return _token_page(request, error=error.message, status=400)
    return _token_page(request, made=text)


@login_required
@require_POST
def token_revoke(request: HttpRequest, token_id: str) -> HttpResponse:
    """From now on the token opens nothing."""
    tokens.revoke(get_object_or_404(tokens.of(request.user), pk=token_id))
    return redirect("viewer:tokens")


def _token_page(
    request: HttpRequest, *, made: str = "", error: str = "", status: int = 200
) -> HttpResponse:
    context = {
        "tokens": list(tokens.of(request.user)),
        "scopes": tokens.SCOPES,
        "made": made,
        "error": error,
    }
    return private(render(request, "viewer/tokens.html", context, status=status))
