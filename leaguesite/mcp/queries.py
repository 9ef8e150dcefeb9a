"""LEAGUE_QUERY, and the tools that answer the same queries directly (ruling, section 3)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.conf import settings

from agents_registry.models import Kind
from league_sdk.protocol import rpc
from league_sdk.protocol.errors import InvalidFormat, UnknownLeague, UnknownPlayer
from league_sdk.protocol.messages import QUERY_TYPES, MessageType
from leaguesite.mcp.calls import Call, Deferred, RawJson
from matches.league import leagues, reports
from matches.models import League
from matches.view import kept, lists, queries, sight
from matches.view.sight import View


def league_query(call: Call) -> dict[str, Any] | Deferred:
    """LEAGUE_QUERY (ruling, section 3)."""
    expected = ", ".join(sorted(QUERY_TYPES.values()))
    query = reports.text(call.params.get("query_type"), field="query_type", expected=expected)
    if query not in QUERY_TYPES.values():
        raise InvalidFormat("There is no such query.", field="query_type", seen=query, expected=expected)
    return answer_query(call, query)


def answer_query(call: Call, query: str) -> dict[str, Any] | Deferred:
    """The answer to a query, by LEAGUE_QUERY or by a direct tool such as ``get_standings`` (ruling, section 3)."""
    league = call.league or leagues.LEAGUE.one(pk=settings.LEAGUE_DEFAULT_ID)
    if query == _GAMES:
        # The games belong to no league, so an agent may ask before there is one (ruling, section 7).
        return _answer(call, query, league, queries.game_registry())
    if league is None:
        raise UnknownLeague("You are in no league yet.", field="league_id", expected="a league that has been opened")
    if query in _LISTS:
        return _list(call, query, league)
    return lambda: _answer(call, query, league, _OF_A_PLAYER[query](call, kept.public_view(_read_again(league))))


def _read_again(league: League) -> League:
    """A league as it is now: the answer may have waited for others, and its board may have been frozen meanwhile."""
    return leagues.LEAGUE.one(pk=league.pk) or league


def _answer(call: Call, query: str, league: League | None, data: dict[str, Any] | RawJson | None) -> dict[str, Any]:
    return call.message(
        MessageType.LEAGUE_QUERY_RESPONSE,
        league_id=league.pk if league is not None else None,
        query_type=query,
        success=True,
        data=data,
        error=None,
    )


def _list(call: Call, query: str, league: League) -> dict[str, Any] | Deferred:
    """A list that grows with a league: one part of it, from the cache or to be made."""
    want = _wanted(call)
    # As a tool of MCP it answers with the whole of LEAGUE_STANDINGS_UPDATE (004 8.11.1).
    as_update = call.without_envelope and call.name == "get_standings"
    question = ("query", query, want, as_update)
    cached = kept.ready(league, question)
    # In older shapes the answer is parsed and encoded again, which takes as long as making it.
    if cached is not None and (call.request.plain or call.without_envelope):
        return _answer(call, query, league, RawJson(cached))

    def make(view: View) -> bytes:
        name, part = _LISTS[query](view, want)
        facts = queries.update_facts(view) if as_update else {}
        more = rpc.dumps(facts | queries.frozen_mark(view) | part.more(want))
        return f'{{"{name}":{part.rows}'.encode() + (b"}" if more == b"{}" else b"," + more[1:])

    return lambda: _answer(call, query, league, RawJson(kept.answer(_read_again(league), question, None, make)))


def _wanted(call: Call) -> lists.Wanted:
    """Which part of a list is asked for: ``limit`` and ``cursor``."""
    params = _query_params(call)
    # Other shapes contain an answer several times.
    max_bytes = lists.MAX_BYTES if call.request.plain else lists.MAX_BYTES // 5
    try:
        return lists.wanted(params.get("limit"), params.get("cursor"), max_bytes=max_bytes)
    except lists.NotUsable as error:
        field = f"query_params.{error.field}"
        raise InvalidFormat(str(error), field=field, seen=error.seen, expected=error.expected) from None


def _query_params(call: Call) -> dict[str, Any]:
    params = call.params.get("query_params")
    return params if isinstance(params, dict) else call.params


def _asked_player(call: Call, view: View) -> str:
    player_id = _query_params(call).get("player_id")
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
    """A player's next match. Its own is never hidden by a freeze, as it must know where to play."""
    player_id = _asked_player(call, view)
    agent = call.agent
    own = agent is not None and (agent.kind, agent.code, agent.league_id) == (Kind.PLAYER, player_id, view.league.pk)
    match = queries.next_match(sight.everything(view.league) if own else view, player_id)
    return {"next_match": match} | queries.frozen_mark(view)


def _player_stats(call: Call, view: View) -> dict[str, Any]:
    return (queries.player_stats(view, _asked_player(call, view)) or {}) | queries.frozen_mark(view)


_GAMES = "GET_GAMES"
_OF_A_PLAYER = {"GET_PLAYER_STATS": _player_stats, "GET_NEXT_MATCH": _next_match}
_LISTS: dict[str, Callable[[View, lists.Wanted], tuple[str, lists.Part]]] = {
    "GET_STANDINGS": lambda view, want: ("standings", lists.standings(view, want)),
    "GET_SCHEDULE": lambda view, want: ("rounds", lists.schedule(view, want, for_messages=True)),
}
"""For each query, the function that returns the name of the answer's field and its value."""
