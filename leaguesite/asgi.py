"""HTTP and WebSocket routes of the web process."""

import os

import django
from channels.routing import ProtocolTypeRouter, URLRouter
from django.apps import apps
from django.urls import path, re_path

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "leaguesite.settings")
# A management command has set Django up already and opened its log file, which a second setup would close.
if not apps.ready:
    django.setup()

# Everything below needs the apps to be loaded.
from leaguesite.inbox.quick import QuickInbox
from leaguesite.inbox.socket import Inbox
from leaguesite.serving.handler import OneHopHandler
from leaguesite.serving.origins import OwnPages
from leaguesite.serving.paths import INBOX_SOCKET
from leaguesite.serving.threads import live_thread
from matches.live.hub import hub
from matches.live.socket import LivePage
from matches.view import luck

# Live pages are made in a thread of their own, so that they never wait for requests.
hub.executor = live_thread
# Only a process that serves pages computes figures about luck.
luck.keeper.start = luck.in_a_thread

PAGES = {
    "ws/leagues/": LivePage("index"),
    "ws/leagues/<slug:league_id>/": LivePage("board"),
    "ws/leagues/<slug:league_id>/matches/<slug:item>/": LivePage("match"),
    "ws/leagues/<slug:league_id>/players/<slug:item>/": LivePage("player"),
    "ws/leagues/<slug:league_id>/charts/": LivePage("charts"),
    "ws/leagues/<slug:league_id>/screen/": LivePage("screen"),
    "ws/leagues/<slug:league_id>/join/": LivePage("join"),
    "ws/checks/<uuid:item>/": LivePage("check"),
    "ws/practice/<uuid:item>/": LivePage("practice"),
}
"""The application of each socket by its address."""
pages = URLRouter(
    [
        # Channels routes sockets with Django's path(), which is declared for views that return a response.
        path(address, page)  # type: ignore[arg-type]
        for address, page in PAGES.items()
    ]
)

agents = OwnPages(Inbox(), programs=True)
sockets = URLRouter(
    [
        re_path(rf"^{INBOX_SOCKET}/?$", agents),  # type: ignore[arg-type]
        re_path("", OwnPages(pages)),  # type: ignore[arg-type]
    ]
)

application = ProtocolTypeRouter({"http": QuickInbox(OneHopHandler()), "websocket": sockets})
