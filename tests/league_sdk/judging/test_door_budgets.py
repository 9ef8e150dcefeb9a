"""What a referee's door takes from whom: a seat's player and the league manager are served while strangers flood."""

from __future__ import annotations

from typing import Any

import pytest

from league_sdk.judging import door_budgets
from league_sdk.judging.door_budgets import (
    LEAGUE,
    LOOKS_IN,
    MOST_WAITING_BYTES,
    OF_ALL_STRANGERS,
    OF_ONE_ADDRESS,
    OF_ONE_SEAT,
    STRANGER,
    Budgets,
)
from league_sdk.protocol import tokens
from tests.clock import Clock

HERE, THERE = "192.0.2.1", "198.51.100.7"
DOOR = "tok_" + "5420341d" * 4
TOKEN = "tok_" + "5420341d" * 4


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def budgets(clock: Clock) -> Budgets:
    made = Budgets(clock)
    made.open_seats([DOOR])
    made.expect_league(tokens.digest(TOKEN))
    return made


def used_up(budgets: Budgets, caller: str, address: str = HERE) -> int:
    """How many requests are taken at once."""
    taken = 0
    while budgets.take_request(caller, address):
        taken += 1
    return taken


@pytest.mark.parametrize(
    ("path", "authorization", "expected"),
    [
        (f"/mcp/{DOOR}", "", DOOR),
        (f"/behind/a/proxy/{DOOR}?x=1", "", DOOR),
        (f"/mcp/{DOOR}/", "", STRANGER),
        (f"/mcp/{DOOR[:-1]}", "", STRANGER),
        (f"/mcp?{DOOR}", "", STRANGER),
        ("/mcp", "", STRANGER),
        ("/mcp", f"Bearer {TOKEN}", LEAGUE),
        ("/mcp", f"bearer  {TOKEN} ", LEAGUE),
        ("/mcp", f"Basic {TOKEN}", STRANGER),
        ("/mcp", "Bearer tok_" + "0" * 32, STRANGER),
        ("/mcp", "Bearer ", STRANGER),
        ("/health", "", LOOKS_IN),
        ("/metrics?x", "", LOOKS_IN),
    ],
)
def test_who_is_calling_is_known_by_the_head(budgets: Budgets, path: str, authorization: str, expected: str) -> None:
    assert budgets.caller(path, authorization) == expected


def test_before_it_has_registered_nobody_is_the_league_manager() -> None:
    assert [Budgets().caller("/mcp", f"Bearer {said}") for said in ("", "x", TOKEN)] == [STRANGER] * 3


def test_a_seat_is_served_while_its_own_address_floods(budgets: Budgets) -> None:
    assert used_up(budgets, STRANGER) == OF_ONE_ADDRESS.requests.at_once
    assert used_up(budgets, DOOR) == OF_ONE_SEAT.requests.at_once
    assert all(budgets.take_request(LEAGUE, HERE) for _ in range(10_000))
    assert budgets.turned_away == {STRANGER: 1, "seat": 1}


def test_no_address_uses_all_that_strangers_have_and_all_of_them_no_more_than_that(budgets: Budgets) -> None:
    taken = [used_up(budgets, STRANGER, f"192.0.2.{n}") for n in range(8)]
    assert taken[0] == OF_ONE_ADDRESS.requests.at_once
    assert sum(taken) == OF_ALL_STRANGERS.requests.at_once


def test_who_is_over_its_own_budget_uses_up_nothing_of_the_others(budgets: Budgets) -> None:
    used_up(budgets, STRANGER)
    for _ in range(10_000):
        assert not budgets.take_request(STRANGER, HERE)
    assert used_up(budgets, STRANGER, THERE) == OF_ONE_ADDRESS.requests.at_once


def test_what_was_used_comes_back(budgets: Budgets, clock: Clock) -> None:
    used_up(budgets, STRANGER)
    clock.now += 1
    assert used_up(budgets, STRANGER) == OF_ONE_ADDRESS.requests.per_s
    clock.now += 3600
    assert used_up(budgets, STRANGER) == OF_ONE_ADDRESS.requests.at_once


def test_bytes_have_a_budget_too_and_what_is_too_much_is_owed(budgets: Budgets, clock: Clock) -> None:
    rate = OF_ONE_SEAT.size
    assert budgets.take_bytes(DOOR, HERE, int(rate.at_once + 2 * rate.per_s))
    clock.now += 1.9
    assert not budgets.has_room(DOOR, HERE)
    clock.now += 0.2
    assert budgets.take_bytes(DOOR, HERE, 1)
    assert budgets.take_bytes(STRANGER, HERE, 1)


def test_a_seat_that_is_in_play_no_more_is_a_stranger(budgets: Budgets) -> None:
    budgets.shut_seats([DOOR])
    assert budgets.caller(f"/mcp/{DOOR}", "") == STRANGER
    # Also on a connection that is open from before.
    assert used_up(budgets, DOOR) == OF_ONE_ADDRESS.requests.at_once
    assert not budgets.take_request(STRANGER, HERE)


def test_one_network_of_ipv6_is_one_address(budgets: Budgets) -> None:
    used_up(budgets, STRANGER, "2001:db8:1:2::1")
    assert not budgets.take_request(STRANGER, "2001:db8:1:2:ffff::2")
    assert budgets.take_request(STRANGER, "2001:db8:1:3::1")
    used_up(budgets, STRANGER, HERE)
    assert not budgets.take_request(STRANGER, f"::ffff:{HERE}")


def test_so_many_requests_wait_at_once(budgets: Budgets) -> None:
    def waiting(caller: str) -> int:
        held: list[Any] = []
        while True:
            one = budgets.waiting(caller, HERE)
            within = one.__enter__()
            held.append(one)
            if not within:
                break
        for one in held:
            one.__exit__(None, None, None)
        return len(held) - 1

    # What ended has given its place back.
    assert [waiting(caller) for caller in (STRANGER, DOOR, STRANGER)] == [32, 4, 32]


def test_what_waits_for_judging_has_a_size(budgets: Budgets) -> None:
    with (
        budgets.handed_over(STRANGER, MOST_WAITING_BYTES) as first,
        budgets.handed_over(DOOR, 1) as second,
        budgets.handed_over(LEAGUE, 65_536) as third,
    ):
        assert (first, second, third) == (True, False, True)
    with budgets.handed_over(DOOR, 1) as again:
        assert again


def test_addresses_are_kept_in_bounds(budgets: Budgets, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(door_budgets, "MOST_ADDRESSES", 3)
    for n in range(100):
        budgets.take_request(STRANGER, f"192.0.2.{n}")
    assert len(budgets._addresses) == 3
