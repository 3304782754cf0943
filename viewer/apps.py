"""The Django application of the pages."""

from django.apps import AppConfig


class ViewerConfig(AppConfig):
    """Pages, template tags and static files. It has no models of its own."""

    name = "viewer"
    label = "viewer"
    verbose_name = "ggufhub pages"
