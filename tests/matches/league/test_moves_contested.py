"""Moves to an address that another player has had, moves that wait, and calls at addresses that do not answer."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from agents_registry.models import Agent
from agents_registry.registering import moving
from league_sdk.protocol.states import MatchState
from league_sdk.transport.names import NAMES
from matches.league import moves, opening
from matches.models import League, Match
from tests import factories as make
from tests.matches.league.test_moves import at, events, prove, register, row

pytestmark = pytest.mark.django_db
A, B, C, EVE = "192.0.2.11", "192.0.2.12", "192.0.2.13", "198.51.100.66"


@pytest.fixture
def tokens(client: Client) -> dict[str, str]:
    """Ada, Bob and Eve have registered, each from its own machine."""
    make.open_league("fall")
    homes = {"Ada": A, "Bob": B, "Eve": EVE}
    return {name: register(client, name, caller=home, endpoint=at(home))["auth_token"] for name, home in homes.items()}


def move(client: Client, tokens: dict[str, str], name: str, to: str, *, caller: str = "") -> dict[str, Any]:
    endpoint = to if to.startswith("http") else at(to)
    return register(client, name, caller=caller or to, endpoint=endpoint, auth_token=tokens[name])


def later(seconds: float) -> None:
    """Let time pass for all moves that wait."""
    for agent in Agent.objects.exclude(moving={}):
        for name in ("next_at", "since"):
            agent.moving[name] -= seconds
        agent.save(update_fields=["moving"])


# Who is at an address -----------------------------------------------------------------------------------------


def test_two_laptops_that_swap_their_addresses_both_move(client: Client, tokens: dict[str, str]) -> None:
    move(client, tokens, "Ada", B)
    move(client, tokens, "Bob", A)
    prove("Ada")
    prove("Bob")
    assert (row("Ada").endpoint, row("Bob").endpoint) == (at(B), at(A))


def test_a_move_to_an_address_that_was_taken_goes_on_by_itself_once_it_is_free(
    client: Client, tokens: dict[str, str]
) -> None:
    move(client, tokens, "Ada", B, caller=EVE)
    assert row("Ada").moving["taken"]
    move(client, tokens, "Bob", C, caller=EVE)
    prove("Bob")
    later(moving.MAX_INTERVAL_S)
    moves.settle()
    # What answered before may have been Bob's program.
    assert (row("Ada").moving["taken"], row("Ada").moving["proven"]) == (False, False)
    assert [agent.name for agent in moves.settle()] == ["Ada"]
    prove("Ada")
    assert row("Ada").endpoint == at(B)


def test_nobody_is_kept_out_of_its_own_machine_by_who_waited_there(client: Client, tokens: dict[str, str]) -> None:
    move(client, tokens, "Eve", C, caller=EVE)
    # It is Ada's program that answers, before it registers.
    prove("Eve")
    move(client, tokens, "Ada", C)
    prove("Ada")
    assert row("Ada").endpoint == at(C)


@pytest.mark.parametrize("how", ["shut down", "taken out", "moves on"])
def test_who_has_left_keeps_nobody_out(client: Client, tokens: dict[str, str], how: str) -> None:
    if how == "shut down":
        Agent.objects.filter(name="Bob").update(state="SHUTDOWN")
    if how == "taken out":
        League.objects.update(out={row("Bob").code: {"word": "disqualified"}})
    if how == "moves on":
        move(client, tokens, "Bob", C)
    move(client, tokens, "Ada", B, caller=EVE)
    assert not row("Ada").moving["taken"]
    prove("Ada")
    assert row("Ada").endpoint == at(B)


def test_who_registers_from_the_machine_last_is_there(client: Client, tokens: dict[str, str]) -> None:
    move(client, tokens, "Ada", B)
    assert not row("Ada").moving["taken"]
    register(client, "Bob", caller=B, endpoint=at(B))
    prove("Ada")
    assert (row("Ada").endpoint, row("Ada").moving["taken"]) == (at(A), True)


def test_an_address_that_an_answer_has_proved_stays_so_when_its_player_registers_again(
    client: Client, tokens: dict[str, str]
) -> None:
    move(client, tokens, "Bob", C, caller=EVE)
    prove("Bob")
    move(client, tokens, "Bob", C, caller=EVE)
    assert (row("Bob").endpoint, row("Bob").moving) == (at(C), {})
    move(client, tokens, "Ada", C, caller=EVE)
    prove("Ada")
    assert (row("Ada").endpoint, row("Ada").moving["taken"]) == (at(A), True)


def test_a_name_that_leads_to_a_proved_address_is_taken(
    client: Client, tokens: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    found: list[tuple[str, ...] | None] = [None, (B,)]
    monkeypatch.setattr(NAMES, "addresses", lambda host, tell: found.pop(0))
    move(client, tokens, "Eve", "http://192-0-2-12.nip.example:8101/mcp", caller=EVE)
    prove("Eve")
    # While the name is looked up the move waits.
    assert (row("Eve").endpoint, row("Eve").moving["taken"]) == (at(EVE), False)
    later(moving.MIN_INTERVAL_S)
    moves.settle()
    assert (row("Eve").endpoint, row("Eve").moving["taken"]) == (at(EVE), True)


# What waits costs little --------------------------------------------------------------------------------------


@pytest.mark.parametrize("why", ["too many moves", "in a match"])
def test_a_proven_move_that_may_not_count_yet_is_not_tried_at_every_look(
    client: Client, tokens: dict[str, str], monkeypatch: pytest.MonkeyPatch, why: str
) -> None:
    monkeypatch.setattr(moves, "MAX_MOVES_PER_HOUR", 0 if why == "too many moves" else 12)
    if why == "in a match":
        _put_in_a_match()
    move(client, tokens, "Ada", C)
    prove("Ada")
    assert row("Ada").moving["proven"]
    with CaptureQueriesContext(connection) as queries:
        moves.settle()
    # Which moves there are, and who is in a match: no lock, and nothing is counted.
    assert len(queries) <= 2


def _put_in_a_match() -> None:
    make.referee()
    opening.close_registration(league_id="fall")
    Match.objects.update(state=MatchState.COLLECTING_CHOICES, attempt=1)


def test_one_look_settles_a_bounded_number_of_moves(
    client: Client, tokens: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(moves, "MAX_SETTLED_PER_LOOK", 1)
    for name, port in (("Ada", 8201), ("Bob", 8202)):
        register(client, name, caller=C, endpoint=at(C, port), auth_token=tokens[name])
        agent = row(name)
        moving.note_call(agent_id=agent.pk, endpoint=at(C, port), answered=True)
    moves.settle()
    assert len(events()) == 1
    moves.settle()
    assert len(events()) == 2


# Calls at new addresses ---------------------------------------------------------------------------------------


def test_registering_again_there_does_not_have_an_address_called_more_often(
    client: Client, tokens: dict[str, str]
) -> None:
    move(client, tokens, "Eve", C, caller=EVE)
    later(60.0)
    prove("Eve", answered=False)
    move(client, tokens, "Eve", C, caller=EVE)
    later(moving.MAX_INTERVAL_S - 2)
    assert moves.settle() == []
    later(2.0)
    assert [agent.name for agent in moves.settle()] == ["Eve"]


def test_an_address_that_never_answers_is_given_up_and_tried_again_after_a_new_registration(
    client: Client, tokens: dict[str, str]
) -> None:
    move(client, tokens, "Eve", C, caller=EVE)
    later(moving.MAX_TRIED_S)
    assert moves.settle() == []
    move(client, tokens, "Eve", C, caller=EVE)
    assert [agent.name for agent in moves.settle()] == ["Eve"]


def test_an_agent_has_only_so_many_addresses_called_also_if_it_goes_home_in_between(
    client: Client, tokens: dict[str, str]
) -> None:
    called, token = 0, tokens["Eve"]
    for number in range(40):
        # Another name in each: the limit of registrations is for each name.
        for port, caller in ((9000 + number, C), (8101, EVE)):
            back = register(client, f"Name {number}", caller=caller, endpoint=at(EVE, port), auth_token=token)
            token = back["auth_token"]
            called += len(moves.settle())
    assert 25 <= called <= 31


def test_nobody_is_called_whose_league_is_over(client: Client, tokens: dict[str, str]) -> None:
    move(client, tokens, "Eve", C, caller=EVE)
    # As at the end of a league.
    Agent.objects.update(state="SHUTDOWN")
    assert moves.settle() == []
