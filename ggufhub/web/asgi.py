"""What the web server calls: the Django application behind the bridge."""

import gc
from importlib import import_module

from django.conf import settings

from ggufhub.web.bridge import Bridge
from ggufhub.web.memory import give_back_regularly
from ggufhub.web.wsgi import application as wsgi

application = Bridge(wsgi, settings.WEB_THREADS)

# What is loaded from here on stays. Each search for garbage would walk through all of it, a tenth
# of a second in which this process answers nobody.
import_module(settings.ROOT_URLCONF)
gc.collect()
gc.freeze()
give_back_regularly()
