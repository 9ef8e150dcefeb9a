"""What clients of MCP read of a league: the same as the API shows to everybody, so that a freeze holds here, too."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from typing import Any

from django.conf import settings

from agents_registry.registering import credentials
from league_sdk.mcp.context import Context
from league_sdk.mcp.registry import Resource
from league_sdk.mcp.requests import takes_long
from league_sdk.protocol import rpc
from league_sdk.protocol.masking import without_addresses
from league_sdk.rules.registry import describe
from leaguesite.mcp.calls import Source, find_league, is_id
from matches.league import leagues
from matches.league.errors import NotFound
from matches.models import League
from matches.view import kept, lists, queries
from matches.view.sight import View

JSON = "application/json"
SCHEME = "league://"
OWN_STANDINGS = f"{SCHEME}standings"
LIVE = ("standings", "rounds", "agents")
"""The resources of a league whose subscribers are told of every change of it. Their answers are cached, as a
player's history is."""
MAX_BYTES = lists.MAX_BYTES // 5
"""The limit for the rows in one answer, which has them as a text inside JSON."""

Shown = Callable[[View, dict[str, str]], dict[str, Any] | None]


def changed(league_id: str, match_ids: Iterable[str]) -> set[str]:
    """The addresses that may look different now.

    Args:
        league_id: the league that has changed.
        match_ids: the matches of it that have.
    """
    own = {f"{SCHEME}{league_id}/{name}" for name in LIVE}
    return own | {f"{SCHEME}{league_id}/matches/{match_id}" for match_id in match_ids} | {OWN_STANDINGS}


def _read(name: str, shown: Shown) -> Callable[[Context, str, dict[str, str]], Awaitable[list[dict[str, Any]] | None]]:
    """Reads what a function shows of the league in the address, or of the caller's."""

    async def read(context: Context, uri: str, values: dict[str, str]) -> list[dict[str, Any]] | None:
        await takes_long()
        league = find_league(values["id"]) if "id" in values else _own_league(context)
        if league is None:
            return None
        view, player_id = kept.public_view(league), values.get("player_id")
        if name in LIVE or player_id in view.names:
            question = ("resource", name, player_id)
            found = kept.answer(league, question, None, lambda view: rpc.dumps(shown(view, values)))
        else:
            # Not cached: a match is small, and anybody can ask for any number of ids that do not exist.
            one = shown(view, values)
            found = b"" if one is None else rpc.dumps(one)
        return [{"uri": uri, "mimeType": JSON, "text": found.decode()}] if found else None

    return read


def _own_league(context: Context) -> League | None:
    """The league of the address that was called, of the token in a header of the request, else the site's."""
    source: Source = context.scope
    if source.league_id is not None:
        return find_league(source.league_id)
    agent = credentials.find_agent(source.bearer) if source.bearer else None
    if agent is not None and agent.league is not None:
        return agent.league
    return leagues.LEAGUE.one(pk=settings.LEAGUE_DEFAULT_ID)


def _standings(view: View, values: dict[str, str]) -> dict[str, Any]:
    return {"league_id": view.league.pk, "standings": queries.standings_rows(view)} | queries.frozen_mark(view)


def _rounds(view: View, values: dict[str, str]) -> dict[str, Any]:
    want = lists.wanted(None, None, max_bytes=MAX_BYTES)
    part = lists.schedule(view, want, for_messages=True)
    head = {"league_id": view.league.pk, "rounds": rpc.loads(part.rows.encode())}
    return head | queries.frozen_mark(view) | part.more(want)


def _match(view: View, values: dict[str, str]) -> dict[str, Any] | None:
    try:
        match = leagues.find_match(view.league.pk, values["match_id"])
    except NotFound:
        return None
    return dict(without_addresses(queries.match_detail(match, view, staff=False)))


def _history(view: View, values: dict[str, str]) -> dict[str, Any] | None:
    stats = queries.player_stats(view, values["player_id"])
    return None if stats is None else {"league_id": view.league.pk} | stats | queries.frozen_mark(view)


def _agents(view: View, values: dict[str, str]) -> dict[str, Any]:
    return {"league_id": view.league.pk, "agents": queries.agents_of(view)}


def _rules(view: View, values: dict[str, str]) -> dict[str, Any]:
    limits = view.rules.model_dump(mode="json", exclude={"registration_code"})
    return {"league_id": view.league.pk, "game": describe().get(view.league.game_type), "settings": limits}


def _complete_league(typed: str) -> list[str]:
    if not is_id(typed):
        return []
    return list(League.objects.filter(pk__startswith=typed).order_by("pk").values_list("pk", flat=True)[:100])


def _resource(uri: str, title: str, description: str, shown: Shown) -> Resource:
    name = uri.removeprefix(SCHEME).replace("{id}/", "").partition("/")[0]
    complete = {"id": _complete_league} if "{id}" in uri else {}
    # Subscribers of other resources would have to be looked for at every change.
    reports_changes = name in (*LIVE, "matches")
    return Resource(uri, name, title, description, JSON, _read(name, shown), complete, reports_changes)


RESOURCES: tuple[Resource, ...] = tuple(
    _resource(SCHEME + uri, title, description, shown)
    for uri, title, description, shown in (
        (
            "standings",
            "Standings of your league",
            "The table of the league whose address you call, else of your token's, else of the site's.",
            _standings,
        ),
        ("{id}/standings", "Standings", "The table of a league as everybody may see it.", _standings),
        (
            "{id}/rounds",
            "Rounds",
            "Every round of a league with its matches, as many as fit. get_schedule goes on at next_cursor.",
            _rounds,
        ),
        ("{id}/matches/{match_id}", "A match", "How a match went: steps, messages, result.", _match),
        (
            "{id}/players/{player_id}/history",
            "A player",
            "A player's line of the table and its matches so far.",
            _history,
        ),
        ("{id}/agents", "Agents", "The players and referees of a league, without tokens and addresses.", _agents),
        ("{id}/rules", "Rules", "The game of a league, its limits and points.", _rules),
    )
)
