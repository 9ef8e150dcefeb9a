"""Django settings. From the environment comes only what differs between machines."""

import os

from csp.constants import NONE, SELF, UNSAFE_EVAL, UNSAFE_INLINE
from django.utils.translation import gettext_lazy as _

from league_sdk.protocol import redaction
from leaguesite.environment import (
    BASE_DIR,
    RESOURCES_DIR,
    cache,
    channel_layer,
    data_folder,
    listed,
    networks,
    read_or_make_key,
    security,
    whole_number,
)
from leaguesite.observing import logs
from leaguesite.serving import endpoint_settings, paths
from leaguesite.skin.unfold import UNFOLD  # noqa: F401 - the admin's skin reads it here
from storage.databases import database

DATA_DIR = data_folder()
DEBUG = os.environ.get("LEAGUE_DEBUG") == "1"

SECRET_KEY = read_or_make_key("secret_key", "LEAGUE_SECRET_KEY")
LEAGUE_REFEREE_KEY = read_or_make_key("referee_key", "LEAGUE_REFEREE_KEY")
LEAGUE_DEMO_KEY = read_or_make_key("demo_key", "LEAGUE_DEMO_KEY")
redaction.hide(SECRET_KEY, LEAGUE_REFEREE_KEY, LEAGUE_DEMO_KEY)
redaction.hide(os.environ.get("LEAGUE_API_KEY", ""), os.environ.get("LEAGUE_METRICS_KEY", ""))
LEAGUE_API_KEY_FILE = DATA_DIR / "keys" / "api_key.sha256"
LEAGUE_DEFAULT_ID = "league_2025_even_odd"
LEAGUE_DEMO_ID = "demo"
# Settings of new leagues that differ from the defaults of the protocol, by name.
LEAGUE_NEW_LEAGUES: dict[str, object] = {}
# The games that new leagues can have; None: all that are installed. `--config` sets both (leaguesite/hosting).
LEAGUE_GAMES: tuple[str, ...] | None = None
LEAGUE_PUBLIC_URL = os.environ.get("LEAGUE_PUBLIC_URL", "http://127.0.0.1:8000").rstrip("/")
# Ports on this machine that no agent may have as its address. Each process adds its own.
LEAGUE_REFUSED_PORTS = [int(port) for port in listed("LEAGUE_REFUSED_PORTS")]
# Further limits for the addresses of agents (docs/decisions/0010): networks, ports, schemes.
LEAGUE_ENDPOINTS = endpoint_settings.read(os.environ)
# How many calls of agents are answered (agents_registry/rate_limits/attempts.py has the limits of failures).
LEAGUE_CALLS_PER_TOKEN = os.environ.get("LEAGUE_CALLS_PER_TOKEN", "300 per 5 second")
LEAGUE_CALLS_PER_ADDRESS = os.environ.get("LEAGUE_CALLS_PER_ADDRESS", "3000 per 10 second")
# Registrations without a known token have a limit of their own, so that other calls do not use it up.
LEAGUE_REGISTRATIONS_PER_ADDRESS = os.environ.get("LEAGUE_REGISTRATIONS_PER_ADDRESS", "1000 per 10 second")
# Whether a player is checked after its registration although nobody has asked for it (matches/checks/tending.py).
LEAGUE_SHARED_DAYS = whole_number("LEAGUE_SHARED_DAYS", 36_500)
LEAGUE_CHECK_ON_REGISTRATION = os.environ.get("LEAGUE_CHECK_ON_REGISTRATION", "1") == "1"
LEAGUE_LIMITS_REDIS_URL = os.environ.get("REDIS_URL")

# `host` and `web` add the names of the public address.
ALLOWED_HOSTS = ["127.0.0.1", "localhost", "[::1]", *listed("LEAGUE_ALLOWED_HOSTS")]
CSRF_TRUSTED_ORIGINS = listed("LEAGUE_TRUSTED_ORIGINS")
# Whose X-Forwarded-For and X-Forwarded-Proto are believed (leaguesite/serving/callers.py).
LEAGUE_TRUSTED_PROXIES = networks("LEAGUE_TRUSTED_PROXIES")

INSTALLED_APPS = [
    # Before the admin, whose templates it replaces.
    "unfold",
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "whitenoise.runserver_nostatic",
    "django.contrib.staticfiles",
    "channels",
    "csp",
    "ninja",
    "agents_registry",
    "matches",
    "leaguesite",
]

MIDDLEWARE = [
    "leaguesite.serving.callers.KnownCaller",
    "leaguesite.serving.queries.WithoutNul",
    "django.middleware.security.SecurityMiddleware",
    "leaguesite.serving.agent_calls.AgentCalls",
    "django.middleware.gzip.GZipMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "leaguesite.serving.page_headers.PageHeaders",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.locale.LocaleMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
]

ROOT_URLCONF = "leaguesite.urls"
ASGI_APPLICATION = "leaguesite.asgi.application"

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [RESOURCES_DIR / "templates"],
        "OPTIONS": {
            "loaders": [
                (
                    "django.template.loaders.cached.Loader",
                    [
                        "django.template.loaders.filesystem.Loader",
                        "django.template.loaders.app_directories.Loader",
                        "matches.audience.drawn.GameTemplates",
                    ],
                ),
            ],
            "context_processors": [
                "django.template.context_processors.request",
                "django.template.context_processors.i18n",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "leaguesite.skin.version.version",
                "leaguesite.skin.desk_link.desk_url",
            ],
            "builtins": [
                "agents_registry.isolating",
                "matches.audience.breadth",
                "matches.audience.drawn",
                "matches.audience.pieces",
            ],
        },
    },
]

DATABASES = {"default": database(os.environ.get("DATABASE_URL"), DATA_DIR)}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
CHANNEL_LAYERS = {"default": channel_layer(os.environ.get("REDIS_URL"))}
CACHES = {"default": cache(os.environ.get("REDIS_URL"))}

AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator", "OPTIONS": {"min_length": 10}},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
]
LOGIN_URL = "admin:login"
# A login whose "next" is an address of another site leads here, too.
LOGIN_REDIRECT_URL = "admin:matches_league_changelist"

LANGUAGE_CODE = "en"
# A visitor who has chosen a language keeps it for a year.
LANGUAGE_COOKIE_AGE = 365 * 86400
LANGUAGE_COOKIE_SAMESITE = "Lax"
LANGUAGES = [("en", _("English")), ("he", _("Hebrew"))]
LOCALE_PATHS = [RESOURCES_DIR / "locale"]
TIME_ZONE = "UTC"
USE_TZ = True

LEAGUE_DOCS_DIR = RESOURCES_DIR / "docs"
# What `make docs` builds; a wheel carries it inside.
LEAGUE_DOCS_SITE = RESOURCES_DIR / ("build/docs-site" if RESOURCES_DIR == BASE_DIR else "docs-site")

STATIC_URL = "static/"
STATIC_ROOT = DATA_DIR / "static"
STATIC_ROOT.mkdir(exist_ok=True)
STATICFILES_DIRS = [RESOURCES_DIR / "static"]
WHITENOISE_USE_FINDERS = True
WHITENOISE_AUTOREFRESH = DEBUG
WHITENOISE_MAX_AGE = 60

# The server refuses a larger form before Django sees it (paths.body_limits). The files of an import do not count here.
DATA_UPLOAD_MAX_MEMORY_SIZE = paths.MAX_FORM_BYTES
# Hundreds of requests may wait for their thread: larger bodies and files wait on the disk.
FILE_UPLOAD_MAX_MEMORY_SIZE = 256 * 1024
SECURE_CONTENT_TYPE_NOSNIFF = True
SECURE_REFERRER_POLICY = "same-origin"
SECURE_CROSS_ORIGIN_OPENER_POLICY = "same-origin"
# Settings of cookies and HSTS depend on the public address.
globals().update(security(LEAGUE_PUBLIC_URL, LEAGUE_TRUSTED_PROXIES))
SECURE_REDIRECT_EXEMPT = paths.NEVER_REDIRECTED
# Subdomains and the browsers' preload list are the school's to decide, for years and for every machine of its domain.
# The redirect to https is KnownCaller's: Django's would send the instructor away from the site's own machine, too.
SILENCED_SYSTEM_CHECKS = ["security.W005", "security.W008", "security.W021"]
SESSION_COOKIE_HTTPONLY = True
X_FRAME_OPTIONS = "DENY"
DEFAULT_EXCEPTION_REPORTER = "leaguesite.observing.crash_reports.Reporter"
DEFAULT_EXCEPTION_REPORTER_FILTER = "leaguesite.observing.crash_reports.WithoutSecrets"
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [SELF],
        "script-src": [SELF],
        "style-src": [SELF],
        "img-src": [SELF, "data:"],
        "connect-src": [SELF],
        "object-src": [NONE],
        "base-uri": [NONE],
        "form-action": [SELF],
        "frame-ancestors": [NONE],
    }
}
# What a part of the site needs beyond CONTENT_SECURITY_POLICY, by the beginning of its paths.
LEAGUE_POLICY_ADDITIONS = {
    # The admin's skin: its Alpine.js evaluates attributes, and its colours are set by <style> and style="".
    paths.DESK: {"script-src": [UNSAFE_EVAL], "style-src": [UNSAFE_INLINE]},
    # django-ninja's page of the API's document uses style="".
    "/api/docs": {"style-src": [UNSAFE_INLINE]},
}

LOGGING = logs.terminal()
