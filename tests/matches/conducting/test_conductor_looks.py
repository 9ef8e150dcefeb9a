"""Looks after a jump of the clock, and looks that fail."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from itertools import product
from typing import Any

import pytest
from django.db import OperationalError, connections

from league_sdk.rules import registry
from league_sdk.rules.tic_tac_toe import TicTacToe
from matches.conducting import conductor, due, waking
from matches.league import conductors
from tests import factories as make
from tests.matches.agent_server import Agents
from tests.matches.conftest import look_by
from tests.sizes import sampled


@pytest.mark.django_db(transaction=True)
# The wall clock jumps ahead when the machine has slept, and back when somebody sets it.
@pytest.mark.parametrize(("overtaken", "jump_s"), sampled(product([False, True], [10.0, -3600.0]), every=3))
async def test_leases_move_with_a_jump_of_the_clock_only_if_nobody_else_conducted_meanwhile(
    agents: Agents, overtaken: bool, jump_s: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 10_000.0
    looks = waking.Looks(monotonic=lambda: 50.0, wall=lambda: now)
    monkeypatch.setattr(conductors, "READ_INTERVAL_S", 0)
    made = await agents.in_db(lambda: make.running_league(players=2))
    look_by(monkeypatch, lambda **_: due.Plan())
    before = (await agents.in_db(lambda: made.match("R1M1"))).lease_until
    with ThreadPoolExecutor(1) as thread:
        first_conductor = conductor.Conductor(thread, looks=looks)
        await first_conductor.look()
        assert first_conductor.leads
        if overtaken:
            await agents.in_db(lambda: conductors.Membership(alone=False).renew())
        now += jump_s
        await first_conductor.look()
    extended = (await agents.in_db(lambda: made.match("R1M1"))).lease_until - before
    assert extended == timedelta(seconds=0 if overtaken else jump_s)


@pytest.mark.django_db(transaction=True)
async def test_a_look_that_fails_says_why_and_the_next_one_sends_what_it_may_have_lost(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    messages = (
        "could not extend file 5: No space left on device",
        "database or disk is full",
        "server at 10.0.0.7 is gone",
    )
    failing: list[Exception] = [OperationalError(text) for text in messages] + [KeyError("n")]
    looks: list[bool] = []

    def look(*, again: bool, **_: object) -> due.Plan:
        looks.append(again)
        if failing:
            raise failing.pop(0)
        return due.Plan()

    look_by(monkeypatch, look)
    troubles = []
    with ThreadPoolExecutor(1) as thread:
        running_conductor = conductor.Conductor(thread)
        for _ in range(6):
            await running_conductor.look()
            troubles.append(running_conductor.trouble)
        thread.submit(connections.close_all).result()
    full, unwritable = "the disk is full", "the database cannot be written to"
    assert troubles == [full, full, unwritable, "the conductor fails: its log says why", "", ""]
    assert looks == [True, True, True, True, True, False]


class Failing(TicTacToe):
    """A game of others that cannot say how a match stood."""

    game_type = "failing"

    def unfinished(self, state: Any) -> Any:
        raise KeyError("a mistake of theirs")


class Unfit(TicTacToe):
    """A game of others that says what no database stores."""

    game_type = "unfit"

    def unfinished(self, state: Any) -> Any:
        return {"choices": {1, 2}}


@pytest.mark.django_db
@pytest.mark.parametrize("game_type", ["failing", "unfit", "gone"])
def test_a_game_that_fails_or_is_gone_stops_no_look(game_type: str, monkeypatch: pytest.MonkeyPatch) -> None:
    installed = registry.games() | {"failing": Failing(), "unfit": Unfit()}
    monkeypatch.setattr(registry, "games", lambda: installed)
    made = make.running_league(players=4)
    made.league.matches.filter(state="ASSIGNED").update(state="READY")
    made.league.agents.filter(kind="player").update(state="SHUTDOWN")
    type(made.league).objects.update(game_type=game_type)
    make.look()
    ended = made.league.matches.filter(round__number=1).values_list("status", "details__choices")
    assert set(ended.values_list("status", flat=True)) == {"TECHNICAL_LOSS"}
    assert [sorted(choices.values(), key=str) for _status, choices in ended] == [[None, None]] * 2
