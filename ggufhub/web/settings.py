"""Django settings. Every choice an operator has is an environment variable read here."""

import ipaddress
from pathlib import Path

from django.core.exceptions import ImproperlyConfigured

from ggufhub.web import database, env, log, secret_key

ROOT = Path(__file__).resolve().parent.parent.parent

# ---- Where things lie
DATA = Path(env.text("GGUFHUB_DATA", "var")).resolve()
try:
    DATA.mkdir(parents=True, exist_ok=True, mode=0o700)
    UPLOAD_DIR = DATA / "uploads"
    UPLOAD_DIR.mkdir(exist_ok=True, mode=0o700)
except OSError as error:
    raise ImproperlyConfigured(f"GGUFHUB_DATA cannot be used: {error}") from None

# ---- Who may come in
BIND = env.text("GGUFHUB_BIND", "127.0.0.1:8000")
BIND_HOST, _, BIND_PORT = BIND.rpartition(":")
if not BIND_HOST or not BIND_PORT.isdigit():
    raise ImproperlyConfigured(f"GGUFHUB_BIND must look like 127.0.0.1:8000, not {BIND!r}.")


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host == "localhost"


LOCAL = _is_loopback(BIND_HOST)
AUTH_MODE = env.choice("GGUFHUB_AUTH", "open" if LOCAL else "required", ("open", "required"))
if AUTH_MODE == "open" and not LOCAL:
    raise ImproperlyConfigured(
        f"GGUFHUB_AUTH=open lets in everyone who reaches {BIND}. "
        "Bind to 127.0.0.1 or set GGUFHUB_AUTH=required."
    )
DEBUG = env.flag("GGUFHUB_DEBUG")
if DEBUG and not LOCAL:
    raise ImproperlyConfigured("GGUFHUB_DEBUG shows internals. It works on 127.0.0.1 only.")

# Also the guard against DNS rebinding: a foreign name that resolves to 127.0.0.1 gets a 400.
ALLOWED_HOSTS = ["localhost", "127.0.0.1", "[::1]", *env.items("GGUFHUB_HOSTS")]
SECRET_KEY = env.secret("GGUFHUB_SECRET_KEY") or secret_key.load_or_create(DATA / "secret.key")

HTTPS = env.flag("GGUFHUB_HTTPS")
PROXIES = env.number("GGUFHUB_PROXIES", 0, most=9)
"""How many proxies of ours add to ``X-Forwarded-For`` before a request arrives."""
SILENCED_SYSTEM_CHECKS = (
    # Whether every other name of the domain speaks HTTPS is not ours to promise.
    ["security.W005", "security.W021"]
    if HTTPS
    # What there is to say where nothing speaks HTTPS.
    else ["security.W004", "security.W008", "security.W012", "security.W016"]
)
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = SECURE_SSL_REDIRECT = HTTPS
SECURE_HSTS_SECONDS = 31_536_000 if HTTPS else 0
# Probes and scrapers speak to the process itself, without the proxy that adds HTTPS.
SECURE_REDIRECT_EXEMPT = [r"^healthz$", r"^readyz$", r"^metrics$"]
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if HTTPS else None
CSRF_TRUSTED_ORIGINS = [f"https://{host}" for host in env.items("GGUFHUB_HOSTS")] if HTTPS else []
# "no-referrer" would make browsers send "Origin: null" with forms, which the CSRF check refuses.
SECURE_REFERRER_POLICY = "same-origin"
SECURE_CROSS_ORIGIN_OPENER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
CSRF_FAILURE_VIEW = "viewer.views.errors.csrf_failed"
LOGIN_URL, LOGIN_REDIRECT_URL, LOGOUT_REDIRECT_URL = "viewer:signin", "viewer:home", "viewer:home"
AUTH_PASSWORD_VALIDATORS = [
    {
        "NAME": "django.contrib.auth.password_validation.MinimumLengthValidator",
        "OPTIONS": {"min_length": 12},
    },
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
]

# ---- Storage and queue
DATABASES = {
    "default": database.choose(env.secret("GGUFHUB_DATABASE_URL"), DATA / "ggufhub.sqlite3")
}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

BROKER_SOCKET = DATA / "valkey.sock"
BROKER_URL = env.secret("GGUFHUB_BROKER_URL")
BROKER_EMBEDDED = not BROKER_URL
if BROKER_EMBEDDED:
    BROKER_URL = f"redis+socket://{BROKER_SOCKET}"

# ---- Budgets
UPLOAD_MAX_BYTES = env.number("GGUFHUB_UPLOAD_MAX_BYTES", 64 * 1024**3, least=1)
"""A whole file. The largest single files on hubs are about 50 GB, split beyond that."""
# Files in forms pass through here; what a crash leaves is pruned with the uploads.
FILE_UPLOAD_TEMP_DIR = UPLOAD_DIR
UPLOAD_KEEP_HOURS = env.number("GGUFHUB_UPLOAD_KEEP_HOURS", 24, least=1)
SUBMIT_PER_MINUTE = env.number("GGUFHUB_SUBMIT_PER_MINUTE", 0 if AUTH_MODE == "open" else 30)
"""Inspections a user may ask for; 0 is no limit. Who is alone on a machine floods nobody."""
INSPECTIONS_PER_DAY = env.number("GGUFHUB_INSPECTIONS_PER_DAY", 0 if AUTH_MODE == "open" else 5000)
REPORTS_PER_USER = env.number("GGUFHUB_REPORTS_PER_USER", 0 if AUTH_MODE == "open" else 100_000)
UPLOAD_BYTES_PER_USER = env.number(
    "GGUFHUB_UPLOAD_BYTES_PER_USER", 0 if AUTH_MODE == "open" else 256 * 1024**3
)
"""What one user may have in all; 0 is no limit. A report takes some tens of kilobytes."""
DISK_FLOOR_BYTES = env.number("GGUFHUB_DISK_FLOOR_BYTES", 2 * 1024**3)
"""Room that uploads leave to the database and the queue."""
AUDIT_KEEP_DAYS = env.number("GGUFHUB_AUDIT_KEEP_DAYS", 90, most=36_500)
"""How long audits are kept that a later one has replaced; 0 is for ever. A night's audit of ten
thousand models takes some 110 MiB."""
AUDIT_LOG_DAYS = env.number("GGUFHUB_AUDIT_LOG_DAYS", 400, least=1, most=36_500)
"""Sign-ins, tokens and the like of a year can be looked up after it."""
ROOTS = tuple(Path(folder) for folder in env.items("GGUFHUB_ROOTS"))
"""Folders of this machine that users may name as a source."""

WEB_PROCESSES = env.number("GGUFHUB_WEB_PROCESSES", 2, least=1, most=16)
WEB_THREADS = env.number("GGUFHUB_WEB_THREADS", 8, least=2, most=64)
WORKER_PROCESSES = env.number("GGUFHUB_WORKER_PROCESSES", 2, least=1, most=64)

# ---- Django
INSTALLED_APPS = [
    "ggufhub.hub.admin_site.OperatorAdminConfig",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "rest_framework",
    "drf_spectacular",
    "ggufhub.hub",
    "viewer",
]
MIDDLEWARE = [
    "ggufhub.web.middleware.client_address",
    "ggufhub.web.middleware.measured",
    "ggufhub.web.middleware.request_id",
    "ggufhub.web.middleware.security_headers",
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "ggufhub.web.middleware.known_users_only",
    "ggufhub.web.middleware.cut_off",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
]
ROOT_URLCONF = "ggufhub.web.urls"
WSGI_APPLICATION = "ggufhub.web.wsgi.application"
APPEND_SLASH = False
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [ROOT / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ]
        },
    }
]
CACHES = {
    # Pages of reports (``viewer.views.report_page``): at most 16 MiB in each process of the web.
    "default": {
        "BACKEND": "django.core.cache.backends.locmem.LocMemCache",
        "TIMEOUT": 3600,
        "OPTIONS": {"MAX_ENTRIES": 64, "CULL_FREQUENCY": 8},
    }
}
STATIC_URL = "/static/"
STATIC_ROOT = DATA / "static"
STATIC_ROOT.mkdir(exist_ok=True)
WHITENOISE_USE_FINDERS = True
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "ggufhub.web.static.StaticStorage"},
}
USE_TZ = True
TIME_ZONE = "UTC"
USE_I18N = False
LOGGING = log.config(
    env.choice("GGUFHUB_LOG_LEVEL", "INFO", ("DEBUG", "INFO", "WARNING", "ERROR")),
    env.choice("GGUFHUB_LOG_FORMAT", "text", log.FORMATS),
)

REST_FRAMEWORK = {
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_PARSER_CLASSES": ["ggufhub.api.parsers.SmallJSONParser"],
    "DEFAULT_CONTENT_NEGOTIATION_CLASS": "ggufhub.api.negotiation.AlwaysJSON",
    "DEFAULT_AUTHENTICATION_CLASSES": [
        "ggufhub.api.auth.BearerToken",
        "rest_framework.authentication.SessionAuthentication",
    ],
    "DEFAULT_PERMISSION_CLASSES": [
        "ggufhub.api.auth.MayUse",
        "ggufhub.api.auth.NotCrossSite",
        "ggufhub.api.auth.HasScope",
    ],
    "DEFAULT_SCHEMA_CLASS": "drf_spectacular.openapi.AutoSchema",
    "EXCEPTION_HANDLER": "ggufhub.api.problems.handle",
    "URL_FORMAT_OVERRIDE": None,
    "UNICODE_JSON": True,
}
SPECTACULAR_SETTINGS = {
    "TITLE": "GGUF Hub",
    "DESCRIPTION": "Inspect model files: structure, metadata, tensors, findings.",
    "VERSION": "1",
    "SCHEMA_PATH_PREFIX": "/api/v1",
    "SERVE_INCLUDE_SCHEMA": False,
    "ENUM_GENERATE_CHOICE_DESCRIPTION": False,
    "POSTPROCESSING_HOOKS": [
        "ggufhub.api.schema.add_problems",
        "ggufhub.api.schema.require_bodies",
    ],
}
