"""What a referee's door takes from whom: a seat's player and the league manager are served while strangers flood."""

from __future__ import annotations

from typing import Any

import pytest

from league_sdk.judging.door.budgets import (
    ADDRESS_LIMITS,
    LEAGUE,
    MAX_PENDING_BYTES,
    MONITOR,
    SEAT_LIMITS,
    STRANGER,
    STRANGERS_LIMITS,
    Budgets,
)
from league_sdk.protocol import tokens
from league_sdk.protocol.errors import TooOften
from tests.clock import Clock

HERE, THERE = "192.0.2.1", "198.51.100.7"
SEAT_SECRET = "tok_" + "5420341d" * 4
"""The last part of the path at which the player of a seat calls."""
LEAGUE_TOKEN = "tok_" + "1ea90e00" * 4
PLAYER_TOKEN = "tok_" + "0d1ce0d1" * 4
"""The auth_token of the player at that seat."""


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def budgets(clock: Clock) -> Budgets:
    made = Budgets(clock)
    made.open_seats([SEAT_SECRET])
    made.know_players({tokens.digest(PLAYER_TOKEN): SEAT_SECRET})
    made.expect_league(tokens.digest(LEAGUE_TOKEN))
    return made


def used_up(budgets: Budgets, caller: str, address: str = HERE) -> int:
    """Use up the budget of a caller; returns how many requests were taken."""
    count = 0
    while budgets.take_request(caller, address):
        count += 1
    return count


@pytest.mark.parametrize(
    ("path", "authorization", "expected"),
    [
        (f"/mcp/{SEAT_SECRET}", "", SEAT_SECRET),
        (f"/behind/a/proxy/{SEAT_SECRET}?x=1", "", SEAT_SECRET),
        (f"/mcp/{SEAT_SECRET}/", "", STRANGER),
        (f"/mcp/{SEAT_SECRET[:-1]}", "", STRANGER),
        (f"/mcp?{SEAT_SECRET}", "", STRANGER),
        ("/mcp", "", STRANGER),
        ("/mcp", f"Bearer {LEAGUE_TOKEN}", LEAGUE),
        ("/mcp", f"bearer  {LEAGUE_TOKEN} ", LEAGUE),
        ("/mcp", f"Basic {LEAGUE_TOKEN}", STRANGER),
        ("/mcp", f"Bearer {PLAYER_TOKEN}", SEAT_SECRET),
        ("/mcp", f"Basic {PLAYER_TOKEN}", STRANGER),
        ("/mcp", f"Bearer {tokens.digest(PLAYER_TOKEN)}", STRANGER),
        ("/metrics", f"Bearer {PLAYER_TOKEN}", MONITOR),
        ("/mcp", "Bearer tok_" + "0" * 32, STRANGER),
        ("/mcp", "Bearer ", STRANGER),
        ("/health", "", MONITOR),
        ("/metrics?x", "", MONITOR),
    ],
)
def test_path_and_authorization_of_a_request_tell_who_is_calling(
    budgets: Budgets, path: str, authorization: str, expected: str
) -> None:
    assert budgets.caller(path, authorization) == expected


def test_before_registration_no_caller_is_the_league_manager() -> None:
    assert [Budgets().caller("/mcp", f"Bearer {token}") for token in ("", "x", LEAGUE_TOKEN)] == [STRANGER] * 3


def test_a_seat_is_served_while_its_address_floods(budgets: Budgets) -> None:
    assert used_up(budgets, STRANGER) == ADDRESS_LIMITS.requests.burst
    assert used_up(budgets, SEAT_SECRET) == SEAT_LIMITS.requests.burst
    assert all(budgets.take_request(LEAGUE, HERE) for _ in range(10_000))
    assert budgets.turned_away == {STRANGER: 1, "seat": 1}


def test_strangers_share_a_budget_and_no_address_uses_all_of_it(budgets: Budgets) -> None:
    counts = [used_up(budgets, STRANGER, f"192.0.2.{n}") for n in range(8)]
    assert counts[0] == ADDRESS_LIMITS.requests.burst
    assert sum(counts) == STRANGERS_LIMITS.requests.burst


def test_a_refused_request_uses_up_no_other_budget(budgets: Budgets) -> None:
    used_up(budgets, STRANGER)
    for _ in range(10_000):
        assert not budgets.take_request(STRANGER, HERE)
    assert used_up(budgets, STRANGER, THERE) == ADDRESS_LIMITS.requests.burst


def test_a_used_budget_refills(budgets: Budgets, clock: Clock) -> None:
    used_up(budgets, STRANGER)
    clock.now += 1
    assert used_up(budgets, STRANGER) == ADDRESS_LIMITS.requests.per_s
    clock.now += 3600
    assert used_up(budgets, STRANGER) == ADDRESS_LIMITS.requests.burst


def test_bytes_over_the_budget_become_a_debt(budgets: Budgets, clock: Clock) -> None:
    rate = SEAT_LIMITS.size
    assert budgets.take_bytes(SEAT_SECRET, HERE, int(rate.burst + 2 * rate.per_s))
    clock.now += 1.9
    assert not budgets.has_room(SEAT_SECRET, HERE)
    clock.now += 0.2
    assert budgets.take_bytes(SEAT_SECRET, HERE, 1)
    assert budgets.take_bytes(STRANGER, HERE, 1)


def test_the_player_of_a_closed_seat_is_a_stranger(budgets: Budgets) -> None:
    budgets.close_seats([SEAT_SECRET])
    assert budgets.caller(f"/mcp/{SEAT_SECRET}", "") == STRANGER
    # Also on a connection that was opened before.
    assert used_up(budgets, SEAT_SECRET) == ADDRESS_LIMITS.requests.burst
    assert not budgets.take_request(STRANGER, HERE)


def test_one_ipv6_network_shares_a_budget(budgets: Budgets) -> None:
    used_up(budgets, STRANGER, "2001:db8:1:2::1")
    assert not budgets.take_request(STRANGER, "2001:db8:1:2:ffff::2")
    assert budgets.take_request(STRANGER, "2001:db8:1:3::1")
    used_up(budgets, STRANGER, HERE)
    assert not budgets.take_request(STRANGER, f"::ffff:{HERE}")


def test_the_number_of_pending_requests_is_limited(budgets: Budgets) -> None:
    def max_pending(caller: str) -> int:
        held: list[Any] = []
        while True:
            one = budgets.pending_request(caller, HERE)
            try:
                one.__enter__()
            except TooOften:
                break
            held.append(one)
        for one in held:
            one.__exit__(None, None, None)
        return len(held)

    # Requests that have ended leave room for others.
    assert [max_pending(caller) for caller in (STRANGER, SEAT_SECRET, STRANGER)] == [32, 4, 32]


def test_the_bytes_that_wait_for_judging_are_limited(budgets: Budgets) -> None:
    with budgets.pending_body(STRANGER, MAX_PENDING_BYTES):
        with pytest.raises(TooOften), budgets.pending_body(SEAT_SECRET, 1):
            raise AssertionError("there is no room")
        with budgets.pending_body(LEAGUE, 65_536):
            assert budgets.turned_away == {"seat": 1}
    with budgets.pending_body(SEAT_SECRET, 1):
        assert budgets.turned_away == {"seat": 1}


def test_the_number_of_addresses_with_a_budget_is_limited(clock: Clock) -> None:
    budgets = Budgets(clock, max_addresses=3)
    for n in range(100):
        budgets.take_request(STRANGER, f"192.0.2.{n}")
    assert len(budgets._addresses) == 3


def test_a_players_token_means_nothing_when_its_seat_is_closed(budgets: Budgets) -> None:
    other = "tok_" + "1" * 32
    budgets.open_seats([other])
    budgets.know_players({"f" * 64: other})
    budgets.close_seats([SEAT_SECRET])
    assert budgets.caller("/mcp", f"Bearer {PLAYER_TOKEN}") == STRANGER
    assert budgets._players == {"f" * 64: other}
