"""LEAGUE_QUERY and the tools that answer the same directly (004 4.9, 8.11)."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest
from django.conf import settings
from django.test import Client

from league_sdk.rules.registry import describe
from matches.league import lifecycle
from tests import factories as make
from tests import wire
from tests.sizes import sampled

pytestmark = pytest.mark.django_db


@pytest.fixture
def made() -> make.MadeLeague:
    """Three players: R1M1 of P01 and P02 is won by P01, P03 has a bye; round 2 has not begun."""
    made = make.running_league(players=3)
    bye = made.league.rounds.get(number=1).bye.code
    match = made.match("R1M1")
    assert (match.player_a.code, match.player_b.code, bye) == ("P01", "P02", "P03")
    make.report(match, "P01")
    return made


def query(client: Client, who: make.RegisteredAgent, query_type: str, **changes: Any) -> dict[str, Any]:
    """The whole answer of a LEAGUE_QUERY, with ``<time>`` in place of its times."""
    params = make.message_from(who, "LEAGUE_QUERY", league_id="fall", query_type=query_type) | changes
    return wire.plain(wire.ask(client, "league_query", params))


def answer(query_type: str, data: dict[str, Any]) -> dict[str, Any]:
    return {
        "protocol": "league.v2",
        "message_type": "LEAGUE_QUERY_RESPONSE",
        "sender": "league_manager:LM01",
        "timestamp": "<time>",
        "conversation_id": "conv-of-the-test",
        "league_id": "fall",
        "query_type": query_type,
        "success": True,
        "data": data,
        "error": None,
    }


def row(rank: int, player: int, played: int, wins: int, losses: int, points: int) -> dict[str, Any]:
    return {
        "rank": rank,
        # The second and the third are tied: only their ids decide who is listed first.
        "tied_rank": min(rank, 2),
        "player_id": f"P0{player}",
        "display_name": f"Player {player}",
        "played": played,
        "wins": wins,
        "draws": 0,
        "losses": losses,
        "technical_losses": 0,
        "points": points,
    }


STANDINGS = {"standings": [row(1, 1, 1, 1, 0, 3), row(2, 2, 1, 0, 1, 0), row(3, 3, 0, 0, 0, 0)]}


def pair(match_id: str, a: str, b: str, **changes: Any) -> dict[str, Any]:
    """A match that has not begun, as lists show it; with changes."""
    return {
        "match_id": match_id,
        "round_id": int(match_id[1]),
        "player_A_id": a,
        "player_B_id": b,
        "referee_id": None,
        "state": "PENDING",
        "attempt": 0,
        "status": None,
        "winner": None,
    } | changes


PLAYED = pair("R1M1", "P01", "P02", referee_id="REF01", state="FINISHED", attempt=1, status="WIN", winner="P01")


def test_get_standings_answers_the_whole_table(client: Client, made: make.MadeLeague) -> None:
    assert query(client, made.players[1], "GET_STANDINGS") == answer("GET_STANDINGS", STANDINGS)


def test_get_schedule_answers_all_rounds_with_their_matches(client: Client, made: make.MadeLeague) -> None:
    def waiting(number: int, bye: str, match: dict[str, Any]) -> dict[str, Any]:
        return {
            "round_id": number,
            "state": "PENDING",
            "bye": bye,
            "started_at": None,
            "completed_at": None,
            "matches": [match],
        }

    rounds = [
        waiting(1, "P03", PLAYED) | {"state": "COMPLETED", "started_at": "<time>", "completed_at": "<time>"},
        waiting(2, "P02", pair("R2M1", "P03", "P01")),
        waiting(3, "P01", pair("R3M1", "P02", "P03")),
    ]
    assert query(client, made.players[0], "GET_SCHEDULE") == answer("GET_SCHEDULE", {"rounds": rounds})


@pytest.mark.parametrize("params", [{"query_params": {"player_id": "P02"}}, {"query_params": None, "player_id": "P02"}])
def test_get_player_stats_of_another_player_are_answered(
    client: Client, made: make.MadeLeague, params: dict[str, Any]
) -> None:
    stats = {"player_id": "P02", "stats": row(2, 2, 1, 0, 1, 0), "matches": [PLAYED]}
    assert query(client, made.players[2], "GET_PLAYER_STATS", **params) == answer("GET_PLAYER_STATS", stats)


def test_get_next_match_names_the_match_the_round_and_the_opponent(client: Client, made: make.MadeLeague) -> None:
    mine = query(client, made.players[0], "GET_NEXT_MATCH")
    coming = {"match_id": "R2M1", "round_id": 2, "opponent_id": "P03", "referee_endpoint": None}
    assert mine == answer("GET_NEXT_MATCH", {"next_match": coming})


def test_get_next_match_with_a_bye_looks_at_the_round_after(client: Client, made: make.MadeLeague) -> None:
    lifecycle.start_round(league_id="fall")
    resting = query(client, made.players[1], "GET_NEXT_MATCH")["data"]
    assert resting == {
        "next_match": {"match_id": "R3M1", "round_id": 3, "opponent_id": "P03", "referee_endpoint": None}
    }
    playing = query(client, made.players[2], "GET_NEXT_MATCH")["data"]["next_match"]
    assert playing["referee_endpoint"] == "http://localhost:8001/mcp"


def test_get_next_match_when_none_is_left(client: Client) -> None:
    made = make.running_league(players=2)
    make.report(made.match("R1M1"), "P01")
    assert query(client, made.players[0], "GET_NEXT_MATCH") == answer("GET_NEXT_MATCH", {"next_match": None})


@pytest.mark.parametrize(
    ("tool", "query_type"),
    [
        ("get_standings", "GET_STANDINGS"),
        ("get_schedule", "GET_SCHEDULE"),
        ("get_next_match", "GET_NEXT_MATCH"),
        ("get_player_stats", "GET_PLAYER_STATS"),
        ("get_games", "GET_GAMES"),
    ],
)
def test_a_tool_answers_as_the_query_does(client: Client, made: make.MadeLeague, tool: str, query_type: str) -> None:
    answer = query(client, made.players[0], query_type, query_params={"player_id": "P03"})
    params = {"league_id": "fall", "player_id": "P03", "conversation_id": "conv-of-the-test"}
    assert wire.plain(wire.ask(client, tool, params)) == answer


@pytest.mark.parametrize(
    ("query_params", "query_type"),
    sampled(
        product(
            [{"player_id": "P99"}, {"player_id": "REF01"}, {"player_id": "Player 1"}],
            ["GET_NEXT_MATCH", "GET_PLAYER_STATS"],
        ),
        every=3,
    ),
)
def test_an_unknown_player_is_e005(
    client: Client, made: make.MadeLeague, query_type: str, query_params: dict[str, Any]
) -> None:
    params = make.message_from(made.players[0], "LEAGUE_QUERY", query_type=query_type, query_params=query_params)
    data = wire.refused(client, "league_query", params)
    assert (data["error_code"], data["error_name"]) == ("E005", "PLAYER_NOT_REGISTERED")
    assert data["context"] == {
        "field": "query_params.player_id",
        "seen": f'"{query_params["player_id"]}"',
        "expected": "a player_id of the league",
    }


def test_a_referee_must_say_which_player(client: Client, made: make.MadeLeague) -> None:
    judge = made.referees[0]
    params = make.message_from(judge, "LEAGUE_QUERY", league_id="fall", query_type="GET_NEXT_MATCH")
    data = wire.refused(client, "league_query", params)
    assert (data["error_code"], data["context"]["field"]) == ("E003", "query_params.player_id")


@pytest.mark.parametrize("sender", ["player:P01", "P01", "player:Player 1", "Player 1"])
def test_a_sender_may_be_the_agents_id_or_its_name(client: Client, made: make.MadeLeague, sender: str) -> None:
    assert query(client, made.players[0], "GET_STANDINGS", sender=sender)["data"] == STANDINGS


def test_a_query_that_names_no_league_means_the_tokens_league_or_the_default(
    client: Client, made: make.MadeLeague
) -> None:
    make.open_league(settings.LEAGUE_DEFAULT_ID)
    params = make.message_from(made.players[0], "LEAGUE_QUERY", query_type="GET_STANDINGS")
    assert wire.ask(client, "league_query", params)["league_id"] == "fall"
    assert wire.ask(client, "get_standings", {})["league_id"] == settings.LEAGUE_DEFAULT_ID


def test_get_games_shows_the_registry_of_004_3_8_3(client: Client, made: make.MadeLeague) -> None:
    shown = query(client, made.players[0], "GET_GAMES")
    assert shown == answer("GET_GAMES", {"game_registry": describe()})
    for name in ("even_odd", "even_odd_numbers", "tic_tac_toe", "connect_four"):
        game = shown["data"]["game_registry"][name]
        assert (game["game_type"], game["rules_module"]) == (name, f"league_sdk.rules.{name}")
        assert game["max_round_time_sec"] > 0


def test_get_games_needs_no_league(client: Client) -> None:
    shown = wire.ask(client, "get_games", {})
    assert (shown["query_type"], shown["data"]) == ("GET_GAMES", {"game_registry": describe()})
    assert shown.get("league_id") is None


def test_an_unknown_query_type_is_refused_with_the_known_ones(client: Client, made: make.MadeLeague) -> None:
    data = wire.refused(
        client, "league_query", make.message_from(made.players[0], "LEAGUE_QUERY", query_type="GET_CAKE")
    )
    assert (data["error_code"], data["context"]) == (
        "E002",
        {
            "field": "query_type",
            "seen": '"GET_CAKE"',
            "expected": "GET_GAMES, GET_NEXT_MATCH, GET_PLAYER_STATS, GET_SCHEDULE, GET_STANDINGS",
        },
    )


def test_a_query_on_a_site_without_any_league_is_e014(client: Client) -> None:
    assert wire.refused(client, "get_standings", {})["error_code"] == "E014"
