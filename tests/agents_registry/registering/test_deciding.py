"""Decide whether a registration is taken, and as whom; without a database."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from agents_registry.models import Agent, Kind
from agents_registry.registering.deciding import Facts, Refused, Taken, Way, Why, decide
from agents_registry.requests.reading import read_request
from tests import wire

HOME, ELSEWHERE, NEW_HOME = "10.0.0.5", "10.0.0.66", "10.0.0.7"


def facts(*, caller: str = HOME, at: str = HOME, kind: Kind = Kind.PLAYER, **what: Any) -> Facts:
    """The facts of a registration from ``caller`` for an agent at the address ``at``."""
    made = wire.player_request if kind == Kind.PLAYER else partial(wire.referee_request, progress=True)
    params = made("Alpha", endpoint=f"http://{at}:8101/mcp")
    return Facts(request=read_request(params, kind=kind, caller=caller), **what)


def known(like: Facts, **changes: Any) -> Facts:
    """These facts, but with a known agent of this name, whose address is at HOME."""
    at_home = facts(kind=like.request.kind).request
    agent = Agent(
        kind=at_home.kind,
        code="P01",
        endpoint=at_home.address.url,
        endpoint_key=at_home.address.key,
        version=at_home.version,
        state="ACTIVE",
    )
    for name, value in changes.items():
        setattr(agent, name, value)
    return replace(like, known=agent)


def decision_on(all_facts: Facts) -> Taken:
    decision = decide(all_facts)
    assert isinstance(decision, Taken)
    return decision


def test_a_new_agent_is_taken_and_has_no_past() -> None:
    assert decide(facts()) == Taken(
        way=Way.NEW,
        state="REGISTERED",
        owner_id=None,
        trusted=False,
        site_key=False,
        comes_back=False,
        forgets_dialect=True,
        proven=True,
        at_home=True,
        moves_now=False,
        waits=False,
        shows_new=True,
        voids_unproven_tokens=False,
        voids_all_tokens=False,
        loses_attempts=False,
    )


def test_a_new_agent_registered_from_another_machine_is_proven_only_by_its_owners_code() -> None:
    assert decision_on(facts(caller=ELSEWHERE)).proven is False
    mine = decision_on(facts(caller=ELSEWHERE, owner_id=3))
    assert (mine.owner_id, mine.proven) == (3, True)


PROOFS: list[tuple[dict[str, Any], dict[str, Any], dict[str, Any], bool]] = [
    ({}, {}, {}, True),
    ({"caller": ELSEWHERE}, {}, {}, False),
    ({"caller": ELSEWHERE}, {"has_token": True}, {}, True),
    ({"caller": ELSEWHERE}, {}, {"readmit": True}, True),
    ({"caller": ELSEWHERE}, {"owner_id": 3}, {"owner_id": 3}, True),
    ({}, {"owner_id": 4}, {"owner_id": 3}, False),
    ({}, {"owner_id": 4}, {}, True),
    ({"kind": Kind.REFEREE}, {}, {"site_key": True}, False),
    ({"kind": Kind.REFEREE, "caller": ELSEWHERE}, {"has_site_key": True}, {"site_key": True}, True),
]
"""The call, what the request has, what the known agent has, and whether this proves that the caller is that agent."""


@pytest.mark.parametrize(("call", "request_has", "agent_has", "proven"), PROOFS)
@pytest.mark.parametrize("in_lobby", [False, True])
def test_which_facts_prove_that_the_caller_is_the_known_agent(
    call: dict[str, Any], request_has: dict[str, Any], agent_has: dict[str, Any], proven: bool, in_lobby: bool
) -> None:
    all_facts = known(facts(**call, **request_has, in_lobby=in_lobby), **agent_has)
    decision = decide(all_facts)
    if proven:
        assert isinstance(decision, Taken)
        assert decision.way is (Way.FROM_LOBBY if in_lobby else Way.AGAIN)
    else:
        assert decision == Refused(Why.NOT_THE_SAME, all_facts.known)


def test_a_referee_that_moves_stays_trusted_only_with_its_token() -> None:
    moves = facts(kind=Kind.REFEREE, at=NEW_HOME)
    assert decision_on(known(moves, trusted=True)).trusted is False
    assert decision_on(known(replace(moves, has_token=True), trusted=True)).trusted is True
    assert decision_on(known(facts(kind=Kind.REFEREE), trusted=True)).trusted is True


def test_a_players_new_address_waits_and_its_token_is_that_of_the_old_one() -> None:
    moves = facts(at=NEW_HOME, caller=ELSEWHERE, has_token=True)
    decision = decision_on(known(moves))
    assert (decision.waits, decision.proven, decision.shows_new, decision.moves_now) == (True, False, False, False)
    assert decision_on(known(replace(moves, token_is_proven=True))).proven is True
    there = decision_on(known(replace(moves, request=facts(at=NEW_HOME, caller=NEW_HOME).request)))
    assert (there.waits, there.proven, there.shows_new, there.at_home) == (True, False, True, True)


def test_a_referees_new_address_is_not_proven_by_the_old_one() -> None:
    moves = facts(kind=Kind.REFEREE, at=NEW_HOME, caller=HOME, has_token=True, token_is_proven=True)
    decision = decision_on(known(moves))
    assert (decision.waits, decision.proven, decision.moves_now, decision.voids_unproven_tokens) == (
        False,
        False,
        True,
        False,
    )


def test_a_proven_token_proves_the_next_one() -> None:
    stays = facts(caller=ELSEWHERE, has_token=True, token_is_proven=True)
    assert decision_on(known(stays)).proven is True
    assert decision_on(known(replace(stays, token_is_proven=False))).proven is False


@pytest.mark.parametrize("caller", [HOME, ""])
def test_an_inbox_without_a_token_proves_nothing_also_if_nobody_knows_who_calls(caller: str) -> None:
    params = wire.player_request("Alpha")
    del params["player_meta"]["contact_endpoint"]
    params["player_meta"]["delivery"] = "poll"
    request = read_request(params, kind=Kind.PLAYER, caller=caller)
    let_in = known(Facts(request=request), readmit=True, endpoint="inbox://7", endpoint_key=request.key_in(None))
    assert decision_on(let_in).proven is False


def test_a_referee_that_registers_again_loses_its_attempts() -> None:
    referee = facts(kind=Kind.REFEREE)
    assert (decision_on(referee).loses_attempts, decision_on(known(referee)).loses_attempts) == (False, True)
    assert decision_on(known(facts())).loses_attempts is False


def test_readmission_by_the_instructor_shows_who_is_at_the_known_address_and_at_no_other() -> None:
    stays, moves = (facts(caller=ELSEWHERE, at=where, has_token=True) for where in (HOME, NEW_HOME))
    assert (decision_on(known(stays, readmit=True)).at_home, decision_on(known(stays)).at_home) == (True, False)
    assert decision_on(known(moves, readmit=True)).at_home is False
