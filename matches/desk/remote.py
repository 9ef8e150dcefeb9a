"""The page by which an instructor steers the screens of a league from a phone."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _

from league_sdk.protocol.states import MatchState
from matches.desk.access import LeagueAccess
from matches.league.leagues import named
from matches.models import League, Match
from matches.view import roles, sight
from matches.view.screens import steering


class RemotePages(LeagueAccess):
    """A mixin for the admin of leagues: the page of the remote control."""

    pages = {"remote": "<path:object_id>/remote/"}

    def remote_page(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Show the buttons; with ``?part`` only the live part, which a script of the page fetches repeatedly."""
        league = self.league_for(request, object_id, roles.Permission.RUN)
        shown = {"league": league, "steering": steering(league.screen), "playing": _playing(league)}
        if "part" in request.GET:
            return render(request, "admin/matches/league/remote_now.html", shown)
        title = _("The screens of %(league)s") % named(league)
        return self.desk_page(request, "remote.html", title, **shown)


def _playing(league: League) -> list[dict[str, Any]]:
    """The matches of the current round without a result: a screen can show one of them large."""
    current = sight.everything(league).moment.current
    if current is None:
        return []
    without_result = Match.objects.filter(league=league, round__number=current.number).exclude(
        state=MatchState.FINISHED
    )
    columns = ("match_id", "player_a__code", "player_a__display_name", "player_b__code", "player_b__display_name")
    return [
        {"match_id": match_id, "a": (a, name_a), "b": (b, name_b)}
        for match_id, a, name_a, b, name_b in without_result.order_by("pk").values_list(*columns)
    ]
