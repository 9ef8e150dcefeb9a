"""HTTP and WebSocket routes of the web process."""

import os

import django
from channels.routing import ProtocolTypeRouter, URLRouter
from django.apps import apps
from django.urls import path

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "leaguesite.settings")
# A command that serves has done so, and has begun its log file: setting up again would end that.
if not apps.ready:
    django.setup()

# Everything below needs the apps to be loaded.
from leaguesite.serving.callers import KnownSocket
from leaguesite.serving.handler import OneHopHandler
from leaguesite.serving.origins import OwnPages
from leaguesite.serving.threads import live_thread
from matches.live.hub import hub
from matches.live.socket import LivePage

hub.executor = live_thread

sockets = URLRouter(
    [
        path("ws/leagues/", LivePage.as_asgi("index")),
        path("ws/leagues/<slug:league_id>/", LivePage.as_asgi("board")),
        path("ws/leagues/<slug:league_id>/matches/<slug:item>/", LivePage.as_asgi("match")),
        path("ws/leagues/<slug:league_id>/players/<slug:item>/", LivePage.as_asgi("player")),
        path("ws/leagues/<slug:league_id>/charts/", LivePage.as_asgi("charts")),
        path("ws/leagues/<slug:league_id>/screen/", LivePage.as_asgi("screen")),
        path("ws/leagues/<slug:league_id>/join/", LivePage.as_asgi("join")),
        path("ws/checks/<uuid:item>/", LivePage.as_asgi("check")),
    ]
)

application = ProtocolTypeRouter(
    {"http": OneHopHandler(), "websocket": OwnPages(KnownSocket(sockets))},
)
