"""Whether a registration is taken, and as whom; without a database."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from agents_registry.deciding import Facts, Refused, Taken, Way, Why, decide
from agents_registry.models import Agent, Kind
from agents_registry.requests import read_request
from tests import wire

HOME, ELSEWHERE, NEW_HOME = "10.0.0.5", "10.0.0.66", "10.0.0.7"


def facts(*, caller: str = HOME, at: str = HOME, kind: Kind = Kind.PLAYER, **what: Any) -> Facts:
    """Somebody registers for an agent at an address."""
    made = wire.player_request if kind == Kind.PLAYER else partial(wire.referee_request, progress=True)
    params = made("Alpha", endpoint=f"http://{at}:8101/mcp")
    return Facts(request=read_request(params, kind=kind, caller=caller), **what)


def known(like: Facts, **changes: Any) -> Facts:
    """The same, where an agent of this name and address is known at home."""
    there = facts(kind=like.request.kind).request
    agent = Agent(
        kind=there.kind,
        code="P01",
        endpoint=there.address.url,
        endpoint_key=there.address.key,
        version=there.version,
        state="ACTIVE",
    )
    for name, value in changes.items():
        setattr(agent, name, value)
    return replace(like, known=agent)


def taken(given: Facts) -> Taken:
    found = decide(given)
    assert isinstance(found, Taken)
    return found


def test_a_new_agent_is_taken_and_has_no_past() -> None:
    assert decide(facts()) == Taken(
        way=Way.NEW,
        state="REGISTERED",
        owner_id=None,
        trusted=False,
        site_key=False,
        comes_back=False,
        forgets=True,
        proven=True,
        doubts=False,
        voids=False,
        voids_all=False,
        begins_anew=False,
    )


def test_a_new_one_from_elsewhere_is_not_proven_but_by_its_owners_code() -> None:
    assert taken(facts(caller=ELSEWHERE)).proven is False
    mine = taken(facts(caller=ELSEWHERE, owner_id=3))
    assert (mine.owner_id, mine.proven) == (3, True)


def test_a_crowd_keeps_out_who_is_not_known_and_has_no_key() -> None:
    full = {"crowd": "Too many.", "kind": Kind.REFEREE}
    assert decide(facts(**full)) == Refused(Why.CROWDED, text="Too many.")
    assert taken(facts(**full, has_site_key=True)).way is Way.NEW


@pytest.mark.parametrize("in_lobby", [False, True])
def test_a_name_that_looks_like_anothers_is_refused_with_that_one(in_lobby: bool) -> None:
    other = Agent(code="P09")
    assert decide(facts(resembled=other, in_lobby=in_lobby)) == Refused(Why.LOOKS_LIKE, other)


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
"""Where from, what came with it, what the agent is; whether that is a proof of being that agent."""


@pytest.mark.parametrize(("where", "shown", "is_", "proof"), PROOFS)
@pytest.mark.parametrize("in_lobby", [False, True])
def test_what_proves_to_be_a_known_agent(
    where: dict[str, Any], shown: dict[str, Any], is_: dict[str, Any], proof: bool, in_lobby: bool
) -> None:
    given = known(facts(**where, **shown, in_lobby=in_lobby), **is_)
    found = decide(given)
    if proof:
        assert isinstance(found, Taken)
        assert found.way is (Way.FROM_LOBBY if in_lobby else Way.AGAIN)
    else:
        assert found == Refused(Why.NOT_THE_SAME, given.known)


@pytest.mark.parametrize(
    ("kind", "state", "becomes"),
    [
        (Kind.PLAYER, "SHUTDOWN", ("REGISTERED", True)),
        (Kind.PLAYER, "SUSPENDED", ("SUSPENDED", False)),
        (Kind.REFEREE, "SUSPENDED", ("ACTIVE", False)),
        (Kind.REFEREE, "ACTIVE", ("ACTIVE", False)),
    ],
)
def test_what_its_state_becomes(kind: Kind, state: str, becomes: tuple[str, bool]) -> None:
    found = taken(known(facts(kind=kind), state=state))
    assert (found.state, found.comes_back) == becomes


def test_who_moves_keeps_its_tick_by_its_token_alone() -> None:
    moves = facts(kind=Kind.REFEREE, at=NEW_HOME)
    assert taken(known(moves, trusted=True)).trusted is False
    assert taken(known(replace(moves, has_token=True), trusted=True)).trusted is True
    assert taken(known(facts(kind=Kind.REFEREE), trusted=True)).trusted is True


def test_a_new_address_is_not_proven_by_the_old_one() -> None:
    moves = facts(at=NEW_HOME, caller=HOME, has_token=True, token_is_proven=True)
    found = taken(known(moves))
    assert (found.proven, found.doubts, found.forgets, found.voids) == (False, True, True, False)
    there = taken(known(replace(moves, request=facts(at=NEW_HOME, caller=NEW_HOME).request)))
    assert (there.proven, there.doubts, there.voids) == (True, False, True)


def test_a_proven_token_proves_the_next_one() -> None:
    stays = facts(caller=ELSEWHERE, has_token=True, token_is_proven=True)
    assert (taken(known(stays)).proven, taken(known(replace(stays, token_is_proven=False))).proven) == (True, False)


@pytest.mark.parametrize(("has_token", "voids"), [(False, True), (True, False)])
def test_the_instructors_word_voids_what_a_squatter_was_given(has_token: bool, voids: bool) -> None:
    found = taken(known(facts(caller=ELSEWHERE, has_token=has_token), readmit=True))
    assert (found.voids, found.voids_all) == (voids, False)


def test_the_sites_key_voids_every_token_of_who_was_there_before() -> None:
    comes = facts(kind=Kind.REFEREE, caller=ELSEWHERE, has_site_key=True)
    first, next_time = taken(known(comes)), taken(known(comes, site_key=True, trusted=True))
    assert (first.trusted, first.site_key, first.proven) == (True, True, True)
    assert [(one.voids, one.voids_all) for one in (first, next_time)] == [(True, True), (True, False)]


def test_a_referee_that_registers_again_begins_anew() -> None:
    referee = facts(kind=Kind.REFEREE)
    assert (taken(referee).begins_anew, taken(known(referee)).begins_anew) == (False, True)
    assert taken(known(facts())).begins_anew is False
