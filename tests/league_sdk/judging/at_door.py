"""A referee's door and its judging in one process: the same code without the line between them."""

from __future__ import annotations

from collections.abc import Collection

from aiohttp import web

from league_sdk.judging import door_http
from league_sdk.judging.door_budgets import Budgets
from league_sdk.judging.league_link import LeagueLink
from league_sdk.judging.referee import Referee
from league_sdk.judging.server import RefereeServer


def application(
    referee: Referee, link: LeagueLink, keys: Collection[str] = (), budgets: Budgets | None = None
) -> web.Application:
    """What callers see of a referee; ``budgets`` are taken as they are, and told of the league manager."""
    server = RefereeServer(referee, link, keys)
    found = budgets or Budgets()
    found.expect_league(server.league_digest)
    return door_http.application(server, found)
