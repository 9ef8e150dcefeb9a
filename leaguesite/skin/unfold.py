"""The admin's skin (django-unfold): names, colours of the house, and what stands in the side bar.

Functions get the request; Unfold calls them for every page.
"""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest
from django.templatetags.static import static
from django.urls import reverse_lazy
from django.utils.translation import gettext_lazy as _


def stylesheet(request: HttpRequest) -> str:
    """What is ours in the admin."""
    return static("css/desk.css")


def icon(request: HttpRequest) -> str:
    """The icon of the browser's tab."""
    return static("favicon.svg")


def never(request: HttpRequest) -> bool:
    """Pages outside the admin are not where one is."""
    return False


def opens_leagues(request: HttpRequest) -> bool:
    """Importing a league is opening one."""
    return bool(request.user.has_perm("matches.add_league"))


def is_superuser(request: HttpRequest) -> bool:
    """Users and groups are for superusers."""
    return bool(request.user.is_superuser)


def _item(title: Any, symbol: str, name: str, **more: Any) -> dict[str, Any]:
    return {"title": title, "icon": symbol, "link": reverse_lazy(name), **more}


UNFOLD: dict[str, Any] = {
    "SITE_TITLE": _("League desk"),
    "SITE_HEADER": _("League desk"),
    "SITE_SYMBOL": "table_chart",
    "SITE_FAVICONS": [{"rel": "icon", "type": "image/svg+xml", "href": icon}],
    "SHOW_VIEW_ON_SITE": False,
    "LOGIN": {"form": "leaguesite.login.throttle.CarefulLogin", "image": None, "redirect_after": None},
    "BORDER_RADIUS": "4px",
    "STYLES": [stylesheet],
    # The colours of the pages (static/css/tokens.css), each from its lightest to its darkest.
    "COLORS": {
        "base": {
            "50": "#f7f8f9",
            "100": "#f3f4f6",
            "200": "#dcdfe4",
            "300": "#c9ced6",
            "400": "#a3abb8",
            "500": "#5f6673",
            "600": "#555c68",
            "700": "#3a414b",
            "800": "#2c323a",
            "900": "#111418",
            "950": "#0b0d10",
        },
        "primary": {
            "50": "#eff5ff",
            "100": "#dbe8fe",
            "200": "#bfd6fe",
            "300": "#a6c5ff",
            "400": "#8ab4ff",
            "500": "#5b8df0",
            "600": "#1d4ed8",
            "700": "#1a45bd",
            "800": "#1b3a96",
            "900": "#1a3578",
            "950": "#11204a",
        },
    },
    "SIDEBAR": {
        "navigation": [
            {
                "items": [
                    _item(_("Leagues"), "emoji_events", "admin:matches_league_changelist"),
                    _item(_("Agents"), "smart_toy", "admin:agents_registry_agent_changelist"),
                    _item(_("Matches"), "sports_score", "admin:matches_match_changelist"),
                    _item(_("Import a league"), "upload_file", "admin:matches_league_import", permission=opens_leagues),
                    _item(_("Check an agent"), "fact_check", "check", active=never),
                    _item(_("Public pages"), "public", "index", active=never),
                ]
            },
            {
                "title": _("People"),
                "separator": True,
                "items": [
                    _item(_("Users"), "person", "admin:auth_user_changelist", permission=is_superuser),
                    _item(_("Groups"), "group", "admin:auth_group_changelist", permission=is_superuser),
                ],
            },
        ]
    },
}
"""What django-unfold reads from the settings."""
