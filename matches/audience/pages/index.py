"""The list of all leagues."""

from __future__ import annotations

from typing import Any

from league_sdk.protocol.states import LeagueState
from matches.audience.pages.keys import PageKey, socket_path
from matches.audience.pages.parts import LeagueHead
from matches.models import League
from matches.view import series, summaries

FRAGMENTS = ("leagues",)


def context(key: PageKey, hidden: League | None = None) -> dict[str, Any]:
    """All leagues but those in the archive, running ones first; also one that is hidden, if it is given."""
    order = list(LeagueState)
    leagues = list(League.objects.filter(archived_at__isnull=True).order_by("-created_at"))
    leagues += [hidden] if hidden is not None else []
    known = summaries.summaries(leagues)

    def place(league: League) -> tuple[bool, bool, int]:
        state = known[league.pk].state
        return (state != LeagueState.RUNNING, league.demo, order.index(LeagueState(state)))

    return {
        "leagues": [
            LeagueHead(
                league.pk,
                league.display_name,
                league.game_type,
                known[league.pk],
                league.frozen.get("after") if league.frozen_seq is not None else None,
            )
            for league in sorted(leagues, key=place)
        ],
        "all_series": series.lines(),
        "socket_path": socket_path(key),
    }
