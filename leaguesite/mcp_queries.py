"""What agents may ask: LEAGUE_QUERY, and the same as direct tools (004 4.9, 8.11)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.conf import settings

from agents_registry.models import Kind
from league_sdk.protocol.errors import InvalidFormat, UnknownLeague, UnknownPlayer
from league_sdk.protocol.messages import QUERY_TYPES, MessageType
from leaguesite.calls import Call
from matches import queries, sight
from matches.league import reports
from matches.models import League
from matches.sight import View


def league_query(call: Call) -> dict[str, Any]:
    """LEAGUE_QUERY (004 4.9, 8.11.1)."""
    expected = ", ".join(sorted(QUERY_TYPES.values()))
    query = reports.text(call.params.get("query_type"), field="query_type", expected=expected)
    if query not in QUERY_TYPES.values():
        raise InvalidFormat("There is no such query.", field="query_type", seen=query, expected=expected)
    return _query(call, query)


def tool(query: str) -> Callable[[Call], dict[str, Any]]:
    """The handler of a direct tool such as ``get_standings`` (004 8.11.2)."""

    def handle(call: Call) -> dict[str, Any]:
        return _query(call, query)

    return handle


def _query(call: Call, query: str) -> dict[str, Any]:
    league = call.league or League.objects.filter(pk=settings.LEAGUE_DEFAULT_ID).first()
    if query == _GAMES:
        # Which games there are is no matter of any league: an agent may ask before there is one (004 3.8.4).
        return _answer(call, query, league, queries.game_registry())
    if league is None:
        raise UnknownLeague("You are in no league yet.", field="league_id", expected="a league that has been opened")
    return _answer(call, query, league, _ask(call, query, sight.public(league)))


def _answer(call: Call, query: str, league: League | None, data: dict[str, Any] | None) -> dict[str, Any]:
    return call.message(
        MessageType.LEAGUE_QUERY_RESPONSE,
        league_id=league.pk if league is not None else None,
        query_type=query,
        success=True,
        data=data,
        error=None,
    )


def _ask(call: Call, query: str, view: View) -> dict[str, Any]:
    return _QUERIES[query](call, view) | queries.frozen_mark(view)


def _asked_player(call: Call, view: View) -> str:
    given = call.params.get("query_params")
    given = given if isinstance(given, dict) else call.params
    player_id = given.get("player_id")
    if player_id is None and call.agent is not None and call.agent.kind == Kind.PLAYER:
        return call.agent.code
    player_id = reports.text(player_id, field="query_params.player_id", expected="a player_id of the league")
    if player_id not in view.names:
        raise UnknownPlayer(
            f"{view.league.pk} has no player {player_id!r:.80}.",
            field="query_params.player_id",
            seen=player_id,
            expected="a player_id of the league",
        )
    return player_id


def _next_match(call: Call, view: View) -> dict[str, Any] | None:
    """A player's next match: its own as it is now, as it must find it; another's as far as the view goes."""
    player_id = _asked_player(call, view)
    agent = call.agent
    own = agent is not None and (agent.kind, agent.code, agent.league_id) == (Kind.PLAYER, player_id, view.league.pk)
    return queries.next_match(sight.everything(view.league) if own else view, player_id)


_GAMES = "GET_GAMES"
_QUERIES: dict[str, Callable[[Call, View], dict[str, Any]]] = {
    "GET_STANDINGS": lambda call, view: {"standings": queries.standings_rows(view)},
    "GET_SCHEDULE": lambda call, view: {"rounds": queries.wire_schedule(view)},
    "GET_NEXT_MATCH": lambda call, view: {"next_match": _next_match(call, view)},
    "GET_PLAYER_STATS": lambda call, view: queries.player_stats(view, _asked_player(call, view)),
}
