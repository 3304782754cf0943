"""Turns of a budget, and the answer to somebody who asks too often."""

from django.http import HttpRequest, HttpResponse

from ggufhub.hub import budgets
from ggufhub.hub.budgets import Budget, Turn

TOO_MANY = 429


def refused(request: HttpRequest, budget: Budget) -> Turn | None:
    """Take a turn of whoever asks: the turn if it was refused, None if they may go on."""
    who = budgets.caller(request.user, request.META.get("REMOTE_ADDR", ""))
    turn = budgets.take(budget, who)
    return None if turn is None or turn.allowed else turn


def too_many(turn: Turn) -> str:
    """What a page says to somebody who asks too often."""
    return f"At most {turn.budget.most} a minute. Try again in {turn.wait} seconds."


def slow_down(answer: HttpResponse, turn: Turn) -> HttpResponse:
    """``answer`` as a refusal that says when to come back."""
    answer.status_code = TOO_MANY
    answer["Retry-After"] = str(turn.wait)
    return answer
