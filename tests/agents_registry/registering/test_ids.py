"""Which id an agent gets, and how it is recognised when it registers again (ruling, section 8)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from agents_registry.models import Agent, Kind, RosterEntry
from agents_registry.registering import ids, learned, places, registration
from agents_registry.requests.reading import read_request
from matches.league import entry, lifecycle, opening
from matches.models import Event
from tests import factories as make
from tests import wire

pytestmark = pytest.mark.django_db


def register(
    name: str,
    league_id: str | None = None,
    *,
    port: int,
    caller: str = "127.0.0.1",
    shape: str = "canonical",
    **how: Any,
) -> Agent:
    """Register a player as its message says; it must be accepted."""
    request = read_request(wire.player_request(name, port=port, **how), kind=Kind.PLAYER, caller=caller, shape=shape)
    done = entry.register_player(request=request, named=league_id)
    assert done.agent is not None, done.reason
    return done.agent


def codes(league_id: str | None) -> list[str]:
    return list(
        Agent.objects.filter(league_id=league_id, kind=Kind.PLAYER).order_by("pk").values_list("code", flat=True)
    )


# Ids that are asked for -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("requests", "ids"),
    [
        ([{"sender": "player:P07"}], ["P07"]),
        ([{"player_id": "ace"}], ["ace"]),
        ([{"sender": "player:P01"}, {"sender": "player:P01"}, {}], ["P01", "P02", "P03"]),
        ([{"player_id": "P07"}, {"player_id": "p7"}, {"player_id": "P007"}], ["P07", "P01", "P02"]),
        ([{"player_id": "P02"}, {}, {}, {}], ["P02", "P01", "P03", "P04"]),
        ([{}, {"player_id": "P9999"}, {}], ["P01", "P9999", "P02"]),
        ([{"player_id": "Ace"}, {"player_id": "ace"}], ["Ace", "P01"]),
        ([{"player_id": "no good"}, {"player_id": "REF01"}], ["P01", "P02"]),
    ],
)
def test_an_id_that_is_asked_for_is_given_when_it_is_free(requests: list[dict[str, Any]], ids: list[str]) -> None:
    make.open_league("fall")
    for number, how in enumerate(requests):
        register(f"Agent {number}", "fall", port=8101 + number, **how)
    assert codes("fall") == ids


def test_an_agent_is_told_when_it_gets_another_id() -> None:
    make.open_league("fall")
    register("Alpha", "fall", port=8101, player_id="P01")
    second = register("Beta", "fall", port=8102, player_id="P01")
    assert (second.code, second.notes) == ("P02", ["asked for P01, which is taken; is P02"])
    again = register("Beta", "fall", port=8102, player_id="P05")
    assert (again.pk, again.code, again.notes) == (second.pk, "P02", ["asked for P05, but was known before; is P02"])


def test_two_leagues_may_give_the_same_id() -> None:
    for league_id in ("fall", "winter"):
        make.open_league(league_id)
        assert register("Alpha", league_id, port=8101, player_id="P07").code == "P07"


def test_a_referee_gets_the_id_that_its_sender_names_if_it_is_a_free_id_of_a_referee() -> None:
    ids = []
    for port, sender in ((8001, "referee:REF02"), (8002, "referee:REF02"), (8003, "referee:alpha")):
        params = wire.referee_request(f"Referee {port}", port=port, sender=sender)
        request = read_request(params, kind=Kind.REFEREE, caller="127.0.0.1")
        ids.append(registration.register(request=request, league_id=None).agent.code)
    assert ids == ["REF02", "REF01", "REF03"]


@pytest.mark.parametrize(
    ("left", "right", "same"), [("P7", "p007", True), ("P7", "P70", False), ("a0", "a00", True), ("a", "a0", False)]
)
def test_ids_that_look_alike_have_one_key(left: str, right: str, same: bool) -> None:
    assert (ids.key(left) == ids.key(right)) is same


# The lobby ------------------------------------------------------------------------------------------


def test_a_league_gives_the_id_of_a_player_in_the_lobby_to_nobody_else() -> None:
    for league_id in ("fall", "winter"):
        make.open_league(league_id)
    make.player("Settled", "fall", port=8100)
    waiting = register("Alpha", port=8101, player_id="P05")
    assert (waiting.code, waiting.league_id) == ("P05", None)
    assert register("Beta", port=8102).code == "P02"
    assert register("Thief", "fall", port=8103, player_id="P05").code == "P03"
    assert register("Alpha", "fall", port=8101).code == "P05"
    assert [codes("fall"), codes(None)] == [["P01", "P05", "P03"], ["P02"]]
    assert Agent.objects.get(code="P05").pk == waiting.pk


@pytest.mark.parametrize("rostered", [False, True])
def test_a_player_that_waits_for_the_next_league_is_in_no_other(
    rostered: bool, django_capture_on_commit_callbacks: Callable[..., Any]
) -> None:
    """Also if the other league has a roster, which requires a personal code."""
    make.open_league("fall")
    if rostered:
        RosterEntry.objects.create(league_id="fall", name="Ann", email="ann@example.org", code="ann-7")
    with django_capture_on_commit_callbacks(execute=True):
        waiting = register("Alpha", entry.next_league_id(), port=8101)
    assert (waiting.league_id, codes("fall"), codes(None)) == (None, [], ["P01"])


def test_a_league_with_a_roster_takes_nobody_from_the_lobby() -> None:
    waiting = register("Alpha", port=8101)
    make.open_league("fall", registration_code="sesame")
    RosterEntry.objects.create(league_id="fall", name="Ann", email="ann@example.org", code="ann-7")
    opening.edit_league(league_id="fall", display_name="Fall", settings={})
    opening.take_in(league_id="fall", only=waiting.pk)
    assert [codes("fall"), codes(None)] == [[], ["P01"]]


def test_a_player_of_the_lobby_is_not_moved_by_a_stranger() -> None:
    for league_id in ("fall", "winter"):
        make.open_league(league_id)
    waiting = register("Alpha", port=8101, caller="192.0.2.7", endpoint="http://192.0.2.7:8101/mcp")
    with pytest.raises(AssertionError, match="P01 is registered under this name and address"):
        register("Alpha", "fall", port=8101, caller="192.0.2.8", endpoint="http://192.0.2.7:8101/mcp")
    assert [(agent.pk, agent.league_id) for agent in Agent.objects.all()] == [(waiting.pk, None)]


def test_a_league_that_has_players_takes_in_who_fits_and_leaves_the_others_with_a_note() -> None:
    for number, player_id in enumerate(("P01", "P02", "P03"), start=1):
        register(f"Early {number}", port=8100 + number, player_id=player_id)
    make.open_league("fall", registration_code="sesame")
    places.add_by_hand(league_id="fall", name="Quiet", endpoint="http://10.0.0.9:8101/mcp", wanted_id="quiet")
    Agent.objects.filter(name="Quiet").update(code="p2")
    assert places.join_league(league_id="fall", game_type="even_odd", room=3) == (2, None)
    assert [codes("fall"), codes(None)] == [["P01", "P03", "p2"], ["P02"]]
    lobby_agent = Agent.objects.get(league__isnull=True)
    assert lobby_agent.notes[-1] == "stayed in the lobby: fall has an agent of this id or name already"
    moved = register("Early 2", "fall", port=8102, code="sesame", player_id="P02")
    assert (moved.pk, moved.code, moved.notes) == (lobby_agent.pk, "P04", ["asked for P02, which is taken; is P04"])


def test_a_second_agent_of_a_name_gets_a_number_that_is_free_in_its_league() -> None:
    make.player("Alpha", port=8101)
    make.player("Alpha", port=8102)
    make.open_league("fall")
    make.player("Alpha", "fall", port=8103)
    make.player("Alpha (4)", "fall", port=8104)
    make.player("Alpha", "fall", port=8105)
    names = list(Agent.objects.order_by("pk").values_list("display_name", flat=True))
    assert names == ["Alpha", "Alpha (2)", "Alpha (3)", "Alpha (4)", "Alpha (5)"]


# The way of speaking --------------------------------------------------------------------------------


@pytest.mark.parametrize("again", [{}, {"shape": "flat"}, {"version": "2.0.0"}])
def test_what_an_agent_understood_is_forgotten_when_it_registers_again(again: dict[str, Any]) -> None:
    """Another program may be at the same address by now, under the same name and version."""
    make.open_league("fall")
    first = register("Alpha", "fall", port=8101)
    learned.learn_dialect(agent_id=first.pk, spoken={"GAME_INVITATION": "flat"})
    learned.learn_dialect(agent_id=first.pk, spoken={"GAME_OVER": "tools"})
    how = dict(again)
    params = wire.player_request("Alpha", port=8101)
    params["player_meta"]["version"] = how.pop("version", "1.0.0")
    request = read_request(params, kind=Kind.PLAYER, caller="127.0.0.1", **how)
    second = entry.register_player(request=request, named="fall").agent
    assert second is not None
    assert (second.pk, second.dialect) == (first.pk, again.get("shape", "canonical"))
    assert second.spoken == {}


# Added by hand --------------------------------------------------------------------------------------


def test_a_player_that_was_added_by_hand_is_the_same_when_it_registers() -> None:
    make.open_league("fall", registration_code="sesame")
    quiet = entry.add_by_hand(league_id="fall", name=" Quiet ", endpoint="192.0.2.7:8101", wanted_id="P07")
    assert (quiet.code, quiet.name, quiet.endpoint, quiet.by_hand, quiet.state, quiet.heard_at) == (
        "P07",
        "Quiet",
        "http://192.0.2.7:8101/mcp",
        True,
        "REGISTERED",
        None,
    )
    assert quiet.tokens.count() == 0
    request = {"endpoint": "http://192.0.2.7:8101/mcp/", "port": 8101}
    thief = entry.register_player(
        request=read_request(wire.player_request("Quiet", **request), kind=Kind.PLAYER, caller="192.0.2.8"),
        named="fall",
    )
    assert (thief.agent, thief.legacy_code) == (None, "L003")
    itself = register("Quiet", "fall", caller="192.0.2.7", **request)
    assert (itself.pk, itself.code, itself.by_hand, itself.tokens.count()) == (quiet.pk, "P07", True, 1)
    assert list(lifecycle.get_league("fall").events.values_list("kind", flat=True)) == [
        "league_created",
        "player_added",
    ]


def test_a_large_lobby_is_taken_in_piece_by_piece(django_capture_on_commit_callbacks: Callable[..., Any]) -> None:
    """Each piece is a transaction of its own, so that nobody waits for all of them."""
    players = 2 * places.MAX_JOINING + 1
    for number in range(1, players + 1):
        agent = places.new_agent(kind=Kind.PLAYER, name=f"Player {number}", league_id=None, wanted_id="")
        agent.endpoint_key = f"127.0.0.1|{number}"
        agent.save()
    with django_capture_on_commit_callbacks(execute=True):
        make.open_league("fall")
    assert (len(codes("fall")), codes(None)) == (players, [])
    joined = Event.objects.filter(league="fall", kind="lobby_joined").values_list("data__players", flat=True)
    assert list(joined) == [places.MAX_JOINING, places.MAX_JOINING, 1]
