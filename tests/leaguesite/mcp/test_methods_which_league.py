"""Which league a registration belongs to, in the order of the ruling (section 2)."""

from __future__ import annotations

from typing import Any

import pytest
from django.conf import settings
from django.test import Client

from agents_registry.models import Agent
from matches.league import demo, lifecycle, opening
from tests import factories as make
from tests import wire

pytestmark = pytest.mark.django_db
DEFAULT = settings.LEAGUE_DEFAULT_ID


def register(client: Client, path: str = "/mcp", caller: str = "127.0.0.1", **changes: Any) -> dict[str, Any]:
    return wire.ask(client, "register_player", wire.player_request(**changes), path, caller)


def home_of(answer: dict[str, Any]) -> tuple[str, str | None]:
    """The league an answer names, and the league the agent really is in."""
    agent = Agent.objects.get(tokens__isnull=False, code=answer["player_id"])
    return answer["league_id"], agent.league_id


def close(league_id: str) -> None:
    """Add two players to a league and close its registration."""
    for number in (1, 2):
        make.player(f"Old {number}", league_id, port=9000 + number)
    opening.close_registration(league_id=league_id)


@pytest.mark.parametrize(
    ("path", "changes", "meta", "expected"),
    [
        ("/leagues/a/mcp", {"league_id": "b"}, {"league_id": "b"}, "a"),
        ("/mcp", {"league_id": "b"}, {"league_id": "a"}, "b"),
        ("/mcp", {}, {"league_id": "a"}, "a"),
        ("/mcp", {"metadata": {"league_id": "b"}}, {"league_id": "a"}, "a"),
        ("/mcp", {"metadata": {"league_id": "b"}}, {}, "b"),
        ("/mcp", {"league_id": ""}, {}, DEFAULT),
        ("/mcp", {}, {}, DEFAULT),
    ],
    ids=["address", "envelope", "meta", "own meta", "other meta", "empty is not named", "default"],
)
def test_the_order_in_which_a_registration_names_its_league(
    client: Client, path: str, changes: dict[str, Any], meta: dict[str, Any], expected: str
) -> None:
    for league_id in ("a", "b", DEFAULT):
        make.open_league(league_id)
    params = wire.player_request(**changes)
    params["player_meta"] |= meta
    assert home_of(wire.ask(client, "register_player", params, path)) == (expected, expected)


def test_a_registration_goes_to_the_only_open_league_when_the_default_is_closed(client: Client) -> None:
    for league_id in (DEFAULT, "a", "b"):
        make.open_league(league_id)
    close(DEFAULT)
    close("a")
    assert home_of_new(client) == ("b", "b")


def home_of_new(client: Client, **changes: Any) -> tuple[str, str | None]:
    """Register a player that names no league; the league in the answer, and the one it is in (None: the lobby)."""
    answer = register(client, name="Newcomer", port=8109, **changes)
    return answer["league_id"], Agent.objects.get(name="Newcomer").league_id


def test_a_registration_goes_to_the_lobby_when_two_leagues_are_open(client: Client) -> None:
    for league_id in ("a", "b"):
        make.open_league(league_id)
    assert home_of_new(client) == (DEFAULT, None)


def test_the_lobby_promises_the_next_id_when_the_default_is_taken(client: Client) -> None:
    make.open_league(DEFAULT)
    close(DEFAULT)
    assert home_of_new(client) == (f"{DEFAULT}_2", None)


def test_the_demo_is_open_only_to_its_sample_players(client: Client) -> None:
    demo.open_demo()
    assert home_of_new(client) == (DEFAULT, None)
    named = register(client, port=8110, league_id=settings.LEAGUE_DEMO_ID)
    assert (named["status"], named["reason"]) == ("REJECTED", "The demo league is never open for registration.")
    sample = register(client, port=8111, league_id=settings.LEAGUE_DEMO_ID, code=settings.LEAGUE_DEMO_KEY)
    assert (sample["status"], sample["league_id"]) == ("ACCEPTED", settings.LEAGUE_DEMO_ID)


@pytest.mark.parametrize(
    ("rules", "changes", "reason", "code"),
    [
        ({}, {"closed": True}, "Registration for fall is closed.", "L001"),
        ({"max_players": 2}, {"taken": 2}, "fall is full (2 players).", "L002"),
        (
            {},
            {"games": ["chess", "go"]},
            "This league plays even_odd; your agent plays chess, go.",
            "L001",
        ),
        (
            {"registration_code": "open sesame"},
            {"code": "open"},
            "This league asks for its registration code. The code that came is not it. Put it in "
            "player_meta.registration_code, in the message itself, or in the address (/leagues/fall/mcp?code=...).",
            "L001",
        ),
    ],
    ids=["closed", "full", "wrong game", "registration_code"],
)
def test_a_named_league_that_cannot_take_an_agent_rejects_it_with_the_reason(
    client: Client, rules: dict[str, Any], changes: dict[str, Any], reason: str, code: str
) -> None:
    make.open_league("fall", **rules)
    make.open_league(DEFAULT)
    for number in range(changes.pop("taken", 0)):
        make.player(f"Old {number}", "fall", port=9000 + number)
    if changes.pop("closed", False):
        close("fall")
    before = Agent.objects.count()
    answer = register(client, league_id="fall", **changes)
    assert wire.plain(answer) == {
        "protocol": "league.v2",
        "message_type": "LEAGUE_REGISTER_RESPONSE",
        "sender": "league_manager:LM01",
        "timestamp": "<time>",
        "conversation_id": "conv-player-alpha-reg-001",
        "league_id": "fall",
        "status": "REJECTED",
        "player_id": None,
        "reason": reason,
        "rejection_reason": reason,
        "legacy_code": code,
    }
    assert Agent.objects.count() == before


@pytest.mark.parametrize(("path", "changes"), [("/mcp", {"league_id": "nowhere"}), ("/leagues/nowhere/mcp", {})])
def test_a_named_league_that_does_not_exist_is_e014(client: Client, path: str, changes: dict[str, Any]) -> None:
    make.open_league(DEFAULT)
    data = wire.refused(client, "register_player", wire.player_request(**changes), path)
    assert (data["error_code"], data["error_name"]) == ("E014", "LEAGUE_NOT_FOUND")
    assert data["context"] == {"field": "league_id", "seen": '"nowhere"', "expected": "the id of a league"}


def test_the_default_league_may_be_named_before_it_exists(client: Client) -> None:
    assert register(client, league_id=DEFAULT)["league_id"] == DEFAULT
    assert Agent.objects.get().league_id is None


def test_a_known_player_of_a_league_that_is_over_is_rejected_with_the_reason(client: Client) -> None:
    make.open_league("fall")
    register(client, league_id="fall")
    lifecycle.stop(league_id="fall")
    answer = register(client, league_id="fall")
    assert (answer["status"], answer["reason"]) == ("REJECTED", "Registration for fall is closed.")


# The lobby ----------------------------------------------------------------------------------------


def test_players_in_the_lobby_enter_the_next_league(client: Client) -> None:
    promised = [register(client, name=f"Early {n}", port=8100 + n) for n in (1, 2, 3)]
    assert [(one["player_id"], one["league_id"]) for one in promised] == [(f"P0{n}", DEFAULT) for n in (1, 2, 3)]
    make.open_league("fall")
    agents = list(Agent.objects.order_by("pk").values_list("code", "league_id"))
    assert agents == [("P01", "fall"), ("P02", "fall"), ("P03", "fall")]
    late = register(client, name="Late", port=8104)
    assert (late["player_id"], late["league_id"]) == ("P04", "fall")
    for answer in promised:
        for named in ({}, {"league_id": "fall"}, {"league_id": DEFAULT}):
            assert query(client, answer, **named)["league_id"] == "fall"


def query(client: Client, answer: dict[str, Any], **named: Any) -> dict[str, Any]:
    """GET_STANDINGS by a player that was just registered."""
    params = {
        "sender": f"player:{answer['player_id']}",
        "timestamp": wire.STAMP,
        "conversation_id": "conv-query",
        "auth_token": answer["auth_token"],
        "query_type": "GET_STANDINGS",
    }
    return wire.ask(client, "league_query", params | named)


def test_the_promised_id_goes_on_working_when_a_league_of_that_id_comes(client: Client) -> None:
    answer = register(client)
    make.open_league("fall")
    make.open_league(DEFAULT)
    assert query(client, answer, league_id=DEFAULT)["league_id"] == "fall"


def test_a_second_id_that_the_lobby_promised_goes_on_working(client: Client) -> None:
    register(client, games=["chess"])
    make.open_league(DEFAULT)
    close(DEFAULT)
    answer = register(client, games=["chess", "even_odd"])
    assert answer["league_id"] == f"{DEFAULT}_2"
    make.open_league("fall")
    assert query(client, answer, league_id=f"{DEFAULT}_2")["league_id"] == "fall"


def test_nobody_takes_over_an_agent_that_waits_in_the_lobby(client: Client) -> None:
    for league_id in ("a", "b"):
        make.open_league(league_id)
    own_endpoint = {"endpoint": "http://192.0.2.7:8101/mcp"}
    waiting = register(client, caller="192.0.2.7", **own_endpoint)
    stranger = register(client, "/leagues/a/mcp", caller="192.0.2.8", **own_endpoint)
    assert (stranger["status"], stranger["legacy_code"]) == ("REJECTED", "L003")
    entered = register(client, "/leagues/a/mcp", caller="192.0.2.7", **own_endpoint)
    assert (entered["status"], entered["player_id"]) == ("ACCEPTED", waiting["player_id"])
    assert [(agent.code, agent.league_id) for agent in Agent.objects.all()] == [(entered["player_id"], "a")]


def test_only_players_that_fit_enter_from_the_lobby(client: Client) -> None:
    register(client, name="Chess", port=8101, games=["chess"])
    for number in (2, 3, 4):
        register(client, name=f"Early {number}", port=8100 + number)
    make.open_league("fall", max_players=2)
    leagues_of_agents = list(Agent.objects.order_by("pk").values_list("name", "league_id"))
    assert leagues_of_agents == [("Chess", None), ("Early 2", "fall"), ("Early 3", "fall"), ("Early 4", None)]


def test_a_referee_belongs_to_the_site_unless_it_came_to_a_leagues_own_address(client: Client) -> None:
    make.open_league("fall")
    params = wire.referee_request(league_id="fall")
    assert wire.ask(client, "register_referee", params)["league_id"] == DEFAULT
    own = wire.ask(client, "register_referee", wire.referee_request("Own", port=8002), "/leagues/fall/mcp")
    assert own["league_id"] == "fall"
    homes = list(Agent.objects.order_by("pk").values_list("code", "league_id"))
    assert homes == [("REF01", None), ("REF02", "fall")]
