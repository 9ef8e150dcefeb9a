"""A referee's door and its judging in one process: the same code without the connection between two processes."""

from __future__ import annotations

from collections.abc import Collection

from aiohttp import web

from league_sdk.judging.door import http as door_http
from league_sdk.judging.door.budgets import Budgets
from league_sdk.judging.door.server import RefereeServer
from league_sdk.judging.worker.league_link import LeagueLink
from league_sdk.judging.worker.referee import Referee


def application(
    referee: Referee, link: LeagueLink, keys: Collection[str] = (), budgets: Budgets | None = None, **how: float
) -> web.Application:
    """The web application of a referee's door; it adds the league manager's token to ``budgets``."""
    server = RefereeServer(referee, link, keys)
    door_budgets = budgets or Budgets()
    door_budgets.expect_league(server.league_digest)
    return door_http.application(server, door_budgets, **how)
