"""What several processes of one site need of each other."""

from __future__ import annotations

from django.conf import settings

NO_REDIS = (
    "REDIS_URL is not set. Without Redis a process cannot tell the browsers of another one what has changed, nor wake "
    "its conductor: run `manage.py host`, which is the whole site in one process, or set REDIS_URL for all processes."
)


def crosses_processes() -> bool:
    """Whether this site's processes hear of each other."""
    return bool(settings.CHANNEL_LAYERS["default"]["BACKEND"] != "channels.layers.InMemoryChannelLayer")
