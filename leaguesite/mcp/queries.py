"""What agents may ask: LEAGUE_QUERY, and the same as direct tools (ruling, section 3)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.conf import settings

from agents_registry.models import Kind
from league_sdk.protocol import rpc
from league_sdk.protocol.errors import InvalidFormat, UnknownLeague, UnknownPlayer
from league_sdk.protocol.messages import QUERY_TYPES, MessageType
from leaguesite.mcp.calls import Call, Json, Later
from matches.league import find, reports
from matches.models import League
from matches.view import kept, lists, queries, sight
from matches.view.sight import View


def league_query(call: Call) -> dict[str, Any] | Later:
    """LEAGUE_QUERY (ruling, section 3)."""
    expected = ", ".join(sorted(QUERY_TYPES.values()))
    query = reports.text(call.params.get("query_type"), field="query_type", expected=expected)
    if query not in QUERY_TYPES.values():
        raise InvalidFormat("There is no such query.", field="query_type", seen=query, expected=expected)
    return _query(call, query)


def tool(query: str) -> Callable[[Call], dict[str, Any] | Later]:
    """The handler of a direct tool such as ``get_standings`` (ruling, section 3)."""

    def handle(call: Call) -> dict[str, Any] | Later:
        return _query(call, query)

    return handle


def _query(call: Call, query: str) -> dict[str, Any] | Later:
    league = call.league or find.LEAGUE.one(pk=settings.LEAGUE_DEFAULT_ID)
    if query == _GAMES:
        # Which games there are is no matter of any league: an agent may ask before there is one (ruling, section 7).
        return _answer(call, query, league, queries.game_registry())
    if league is None:
        raise UnknownLeague("You are in no league yet.", field="league_id", expected="a league that has been opened")
    if query in _LISTS:
        return _list(call, query, league)
    if query == _STATS:
        return Later(lambda: _answer(call, query, league, _player_stats(call, kept.public_view(league))))
    return Later(lambda: _answer(call, query, league, _next_match(call, kept.public_view(league))))


def _answer(call: Call, query: str, league: League | None, data: dict[str, Any] | Json | None) -> dict[str, Any]:
    return call.message(
        MessageType.LEAGUE_QUERY_RESPONSE,
        league_id=league.pk if league is not None else None,
        query_type=query,
        success=True,
        data=data,
        error=None,
    )


def _list(call: Call, query: str, league: League) -> dict[str, Any] | Later:
    """What grows with a league: as it is kept, or to be made, a part at a time."""
    want = _wanted(call)
    question = ("query", query, want)
    found = kept.ready(league, question)
    # In other clothes it is taken apart and put together again: that takes as long as making it.
    if found is not None and call.asked.plain:
        return _answer(call, query, league, Json(found))

    def make(view: View) -> bytes:
        name, part = _LISTS[query](view, want)
        more = rpc.dumps(queries.frozen_mark(view) | part.more(want))
        return f'{{"{name}":{part.rows}'.encode() + (b"}" if more == b"{}" else b"," + more[1:])

    return Later(lambda: _answer(call, query, league, Json(kept.answer(league, question, None, make))))


def _wanted(call: Call) -> lists.Wanted:
    """Which part of a list is asked for: ``limit`` and ``cursor``."""
    given = _given(call)
    # Other clothes hold an answer several times.
    most = lists.MOST_BYTES if call.asked.plain else lists.MOST_BYTES // 5
    try:
        return lists.wanted(given.get("limit"), given.get("cursor"), most=most)
    except lists.NotWanted as error:
        field = f"query_params.{error.field}"
        raise InvalidFormat(str(error), field=field, seen=error.seen, expected=error.expected) from None


def _given(call: Call) -> dict[str, Any]:
    given = call.params.get("query_params")
    return given if isinstance(given, dict) else call.params


def _asked_player(call: Call, view: View) -> str:
    player_id = _given(call).get("player_id")
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


def _next_match(call: Call, view: View) -> dict[str, Any]:
    """A player's next match: its own as it is now, as it must find it; another's as far as the view goes."""
    player_id = _asked_player(call, view)
    agent = call.agent
    own = agent is not None and (agent.kind, agent.code, agent.league_id) == (Kind.PLAYER, player_id, view.league.pk)
    found = queries.next_match(sight.everything(view.league) if own else view, player_id)
    return {"next_match": found} | queries.frozen_mark(view)


def _player_stats(call: Call, view: View) -> dict[str, Any]:
    return (queries.player_stats(view, _asked_player(call, view)) or {}) | queries.frozen_mark(view)


_GAMES, _STATS = "GET_GAMES", "GET_PLAYER_STATS"
_LISTS: dict[str, Callable[[View, lists.Wanted], tuple[str, lists.Part]]] = {
    "GET_STANDINGS": lambda view, want: ("standings", lists.standings(view, want)),
    "GET_SCHEDULE": lambda view, want: ("rounds", lists.schedule(view, want, wire=True)),
}
"""The field of the answer, and what stands in it."""
