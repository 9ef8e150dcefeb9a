"""Django settings. From the environment comes only what differs between machines."""

import os

from django.utils.translation import gettext_lazy as _

from leaguesite.environment import BASE_DIR, channel_layer, data_folder, database, kept_key, listed
from leaguesite.skin import UNFOLD  # noqa: F401 - the admin's skin reads it here

DATA_DIR = data_folder()
DEBUG = os.environ.get("LEAGUE_DEBUG") == "1"

SECRET_KEY = kept_key("secret_key", "LEAGUE_SECRET_KEY")
LEAGUE_REFEREE_KEY = kept_key("referee_key", "LEAGUE_REFEREE_KEY")
LEAGUE_DEMO_KEY = kept_key("demo_key", "LEAGUE_DEMO_KEY")
LEAGUE_API_KEY_FILE = DATA_DIR / "keys" / "api_key.sha256"
LEAGUE_DEFAULT_ID = "league_2025_even_odd"
LEAGUE_DEMO_ID = "demo"
LEAGUE_PUBLIC_URL = os.environ.get("LEAGUE_PUBLIC_URL", "http://127.0.0.1:8000").rstrip("/")
# Ports on this machine that no agent may have as its address: `host` adds its own.
LEAGUE_REFUSED_PORTS: list[int] = []

# `host` adds the public address; these are what is right without it.
ALLOWED_HOSTS = ["127.0.0.1", "localhost", "[::1]", *listed("LEAGUE_ALLOWED_HOSTS")]
CSRF_TRUSTED_ORIGINS = listed("LEAGUE_TRUSTED_ORIGINS")

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
    "ninja",
    "agents_registry",
    "matches",
    "leaguesite",
]

MIDDLEWARE = [
    "leaguesite.packing.PackedPages",
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
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
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.template.context_processors.i18n",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
        },
    },
]

DATABASES = {"default": database(os.environ.get("DATABASE_URL"), DATA_DIR)}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
CHANNEL_LAYERS = {"default": channel_layer(os.environ.get("REDIS_URL"))}

AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator", "OPTIONS": {"min_length": 10}},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
]
LOGIN_URL = "admin:login"

LANGUAGE_CODE = "en"
LANGUAGES = [("en", _("English")), ("he", _("Hebrew"))]
LOCALE_PATHS = [BASE_DIR / "locale"]
TIME_ZONE = "UTC"
USE_TZ = True

STATIC_URL = "static/"
STATIC_ROOT = DATA_DIR / "static"
STATIC_ROOT.mkdir(exist_ok=True)
STATICFILES_DIRS = [BASE_DIR / "static"]
WHITENOISE_USE_FINDERS = True
WHITENOISE_AUTOREFRESH = DEBUG
WHITENOISE_MAX_AGE = 60

# Django's own cap stands above ours (64 KiB, refused earlier) and holds for the admin's forms.
DATA_UPLOAD_MAX_MEMORY_SIZE = 2 * 1024 * 1024
SECURE_CONTENT_TYPE_NOSNIFF = True
SECURE_REFERRER_POLICY = "same-origin"
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = LEAGUE_PUBLIC_URL.startswith("https://")
X_FRAME_OPTIONS = "DENY"

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"line": {"format": "%(asctime)s %(levelname)s %(name)s: %(message)s"}},
    "handlers": {"console": {"class": "logging.StreamHandler", "formatter": "line"}},
    # One line for every call to an agent is httpx's idea of INFO.
    "loggers": {"httpx": {"level": "WARNING"}},
    "root": {"handlers": ["console"], "level": os.environ.get("LEAGUE_LOG_LEVEL", "WARNING")},
}
