"""The Django app that owns every table."""

from django.apps import AppConfig


class HubConfig(AppConfig):
    """Label ``hub``; its models are written by ``services`` and read by ``selectors`` only."""

    name = "ggufhub.hub"
    label = "hub"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from ggufhub.hub import audit_log  # needs the tables

        audit_log.listen()
