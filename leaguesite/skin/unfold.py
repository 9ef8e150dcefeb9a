"""The admin's skin (django-unfold): names, colours and the side bar. Unfold calls the functions for every page."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest
from django.templatetags.static import static
from django.urls import reverse_lazy
from django.utils.translation import gettext_lazy as _
from django.utils.translation import gettext_noop


def opens_leagues(request: HttpRequest) -> bool:
    """Whether the user may import a league: a user that may open one may import one, too."""
    return bool(request.user.has_perm("matches.add_league"))


def is_superuser(request: HttpRequest) -> bool:
    """Whether the user may see users, groups, and who did what in all leagues."""
    return bool(request.user.is_superuser)


def _item(title: Any, symbol: str, name: str, **more: Any) -> dict[str, Any]:
    return {"title": title, "icon": symbol, "link": reverse_lazy(name), **more}


def _shades(colours: str) -> dict[str, str]:
    """A colour from its lightest to its darkest, by the names that Unfold has for the steps."""
    steps = ("50", *(str(step) for step in range(100, 1000, 100)), "950")
    return dict(zip(steps, colours.split(), strict=True))


TEXTS = (
    gettext_noop("Welcome back to"),
    gettext_noop("Return to site"),
    gettext_noop("You have been successfully logged out from the administration"),
    gettext_noop("Apply Filters"),
    gettext_noop("Filters"),
    gettext_noop("Reset filters"),
    gettext_noop("Select all rows"),
    gettext_noop("Select record"),
    gettext_noop("Select action"),
    gettext_noop("Select action to run"),
    gettext_noop("Type to search"),
    gettext_noop("More actions"),
    gettext_noop("Run"),
    gettext_noop("System"),
    gettext_noop("Select value"),
    gettext_noop("True"),
    gettext_noop("False"),
    gettext_noop("After you've created a user, you’ll be able to edit more user options."),
    gettext_noop(
        "Raw passwords are not stored, so there is no way to see this user’s password, but you can change the password "
        'using <a href="{}" class="text-primary-600 dark:text-primary-500">this form</a>.'
    ),
    gettext_noop("Previous"),
    gettext_noop("Go back"),
    gettext_noop("General"),
    gettext_noop("No results found"),
    gettext_noop("This page yielded into no results. Create a new item or reset your filters."),
)
"""Texts of Unfold's own templates, for which it has no Hebrew."""

SEES_LISTS = "matches.desk.access.sees_lists"
NEVER_ACTIVE = {"active": lambda request: False}
"""For pages outside the admin: their entry is never that of the current page."""

UNFOLD: dict[str, Any] = {
    "SITE_TITLE": _("League desk"),
    "SITE_HEADER": _("League desk"),
    "SITE_SYMBOL": "table_chart",
    "SITE_FAVICONS": [{"rel": "icon", "type": "image/svg+xml", "href": lambda request: static("favicon.svg")}],
    "SHOW_VIEW_ON_SITE": False,
    "DASHBOARD_CALLBACK": "matches.desk.home.context",
    "LOGIN": {"form": "leaguesite.login.throttle.CarefulLogin", "image": None, "redirect_after": None},
    "BORDER_RADIUS": "4px",
    "STYLES": [lambda request: static("css/desk.css")],
    # The colours of the pages (static/css/tokens.css).
    "COLORS": {
        "base": _shades("#f7f8f9 #f3f4f6 #dcdfe4 #c9ced6 #a3abb8 #5f6673 #555c68 #3a414b #2c323a #111418 #0b0d10"),
        "primary": _shades("#eff5ff #dbe8fe #bfd6fe #a6c5ff #8ab4ff #5b8df0 #1d4ed8 #1a45bd #1b3a96 #1a3578 #11204a"),
    },
    "SIDEBAR": {
        "navigation": [
            {
                "items": [
                    _item(_("Your leagues"), "home", "admin:index"),
                    _item(_("Leagues"), "emoji_events", "admin:matches_league_changelist", permission=SEES_LISTS),
                    _item(_("Agents"), "smart_toy", "admin:agents_registry_agent_changelist", permission=SEES_LISTS),
                    _item(_("Matches"), "sports_score", "admin:matches_match_changelist", permission=SEES_LISTS),
                    _item(_("Who did what"), "history", "admin:matches_auditentry_changelist", permission=is_superuser),
                    _item(_("Import a league"), "upload_file", "admin:matches_league_import", permission=opens_leagues),
                    _item(_("Check an agent"), "fact_check", "check", **NEVER_ACTIVE),
                    _item(_("Public pages"), "public", "index", **NEVER_ACTIVE),
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
