"""The processes that read models: they run the core and store what it says.

Importing any module here sets Django up, in whatever order they are imported.
"""

import os

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "ggufhub.web.settings")
django.setup()
