"""``manage.py create-token USER --scope submit``: a token for a program, printed once."""

from argparse import ArgumentParser
from typing import Any

from django.contrib.auth import get_user_model
from django.core.management.base import BaseCommand, CommandError

from ggufhub.errors import UsageError
from ggufhub.hub import tokens


class Command(BaseCommand):
    help = "Make a token for a program that acts for USER, and print it. It is shown only now."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("user", help="the user's name")
        parser.add_argument("--scope", action="append", choices=tokens.SCOPES, required=True)
        parser.add_argument("--name", default="made by the operator")
        parser.add_argument("--days", type=int, help="days of validity; without it there is no end")

    def handle(self, *args: Any, **options: Any) -> None:
        user = get_user_model().objects.filter(username=options["user"]).first()
        if user is None:
            raise CommandError(f"There is no user {options['user']!r}.")
        try:
            _, text = tokens.create(
                owner=user, name=options["name"], scopes=options["scope"], days=options["days"]
            )
        except UsageError as error:
            raise CommandError(error.message) from None
        self.stdout.write(text)
