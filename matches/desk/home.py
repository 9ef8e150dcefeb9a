"""READS: the first page of the admin: the leagues of the person, what comes next in them, and what is wrong."""

from __future__ import annotations

from typing import Any

from django.contrib.admin.utils import quote
from django.http import HttpRequest
from django.urls import reverse

from matches.desk import controls, overview, problems
from matches.desk.facts import OVER, Facts
from matches.models import League
from matches.view import roles
from matches.view.roles import Permission
from matches.words import states

MAX_IN_DETAIL = 6
"""How many leagues that are not over have their problems and next step computed, the newest first: each costs some
queries. The latest league that is over has them, too."""
MAX_OTHERS = 20
"""How many further leagues that are not over are listed, and how many that are over, with the latest one; the admin's
list of leagues has all of them."""


def context(request: HttpRequest, context: dict[str, Any]) -> dict[str, Any]:
    """Add to the context of the admin's first page: ``leagues_now``, ``leagues_other``, ``may_open``.

    Leagues that are not over come first; the demo league is the last of them. Unfold calls this function.
    """
    mine = roles.leagues(request.user, Permission.WATCH).filter(archived_at__isnull=True)
    now = list(mine.exclude(state__in=OVER).order_by("demo", "-created_at")[: MAX_IN_DETAIL + MAX_OTHERS])
    over = list(mine.filter(state__in=OVER).order_by("-completed_at", "-created_at")[:MAX_OTHERS])
    headlines = overview.headlines([*now, *over])
    latest, rest = over[:1], over[1:]
    detailed = [*now[:MAX_IN_DETAIL], *latest]
    return context | {
        "leagues_now": [_in_detail(league, headlines[league.pk], request.user) for league in detailed],
        "leagues_other": [_line(league, headlines[league.pk]) for league in [*now[MAX_IN_DETAIL:], *rest]],
        "may_open": request.user.has_perm("matches.add_league"),
    }


def _line(league: League, headline: str) -> dict[str, Any]:
    """A league on the page: what it is, and what is happening in it now."""
    return {
        "league": league,
        "state": states.league_state(league.state),
        "headline": headline,
        "url": reverse("admin:matches_league_change", args=[quote(league.pk)]),
        "board": reverse("board", args=[league.pk]),
    }


def _in_detail(league: League, headline: str, user: Any) -> dict[str, Any]:
    """Also the button or link that usually comes next, if the person may use it, and what is wrong, the worst first."""
    facts = Facts(league, roles.allowed(user, league.pk))
    step = next((button for button in controls.buttons(facts) if button.is_next), None)
    return _line(league, headline) | {"step": step, "problems": problems.problems(facts)}
