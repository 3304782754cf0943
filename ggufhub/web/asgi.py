"""What the web server calls: the Django application behind the bridge."""

from django.conf import settings

from ggufhub.web.bridge import Bridge
from ggufhub.web.wsgi import application as wsgi

application = Bridge(wsgi, settings.WEB_THREADS)
