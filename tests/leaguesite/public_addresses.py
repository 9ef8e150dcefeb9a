"""Every address that anyone may read; they are found in the routes, so that no test forgets a new one."""

from __future__ import annotations

from django.urls import URLPattern, get_resolver
from django.urls.resolvers import RoutePattern

from leaguesite.api.routes import api

PRIVATE = {"check_report", "check_json", "practice_report", "practice_json"}
"""Addresses with an id that cannot be guessed: only people who know the id can read them."""
POSTED = {"mine_close", "mine_again", "mine_practise"}
"""Addresses that forms are sent to by POST: a GET shows nothing."""
EXAMPLES = {
    "match_id": "R1M1",
    "player_id": "P01",
    "referee_id": "REF01",
    "game_type": "even_odd",
    "message_type": "GAME_OVER",
    "language": "python",
    "series_id": "evenings",
}
QUERIES = {"replay_fragments": "?at=1"}
"""The query that an address needs."""


def pages(league_id: str) -> list[str]:
    """Every page of the audience that is reached by GET, with this league and examples for the rest."""
    addresses = []
    for pattern in get_resolver("matches.audience.urls").url_patterns:
        assert isinstance(pattern, URLPattern) and isinstance(pattern.pattern, RoutePattern)
        if pattern.name in PRIVATE | POSTED:
            continue
        path = "/" + _filled(str(pattern.pattern), league_id)
        addresses.append(path + QUERIES.get(pattern.name or "", ""))
    return addresses


def api_addresses(league_id: str) -> list[str]:
    """Every GET of the API that asks for no key, without those that need an id that cannot be guessed."""
    addresses = []
    for path, operations in api.get_openapi_schema()["paths"].items():
        reading = operations.get("get")
        if reading is None or reading.get("security") or "check_id" in path or "practice_id" in path:
            continue
        addresses.append(_filled(path, league_id))
    return addresses


def _filled(path: str, league_id: str) -> str:
    examples = EXAMPLES | {"league_id": league_id}
    for name, value in examples.items():
        for spelling in (f"<slug:{name}>", f"<str:{name}>", f"{{{name}}}"):
            path = path.replace(spelling, value)
    assert "<" not in path and "{" not in path, f"{path}: give an example for this route in {__name__}"
    return path
