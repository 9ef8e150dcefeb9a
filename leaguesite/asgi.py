"""HTTP and WebSocket routes of the web process."""

import os

import django
from channels.routing import ProtocolTypeRouter, URLRouter
from channels.security.websocket import AllowedHostsOriginValidator
from django.urls import path

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "leaguesite.settings")
django.setup()

# Everything below needs the apps to be loaded.
from leaguesite.serving import OneHopHandler, pages_thread  # noqa: E402
from matches.consumers import LivePage  # noqa: E402
from matches.hub import hub  # noqa: E402

hub.executor = pages_thread

application = ProtocolTypeRouter(
    {
        "http": OneHopHandler(),
        "websocket": AllowedHostsOriginValidator(
            URLRouter(
                [
                    path("ws/leagues/", LivePage.as_asgi()),
                    path("ws/leagues/<slug:league_id>/", LivePage.as_asgi()),
                    path("ws/leagues/<slug:league_id>/matches/<slug:match_id>/", LivePage.as_asgi()),
                    path("ws/checks/<uuid:check_id>/", LivePage.as_asgi()),
                ]
            )
        ),
    }
)
