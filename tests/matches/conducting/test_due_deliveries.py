"""Reports, acknowledgements and registrations in any order, any number of times: the league's state is the model's.

Every message of an agent goes as bytes through the league manager's real dispatcher, and is kept: it may come again,
byte for byte, at any later time. Between messages time passes, the conductor looks, and the instructor acts.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import initialize, precondition, rule, run_state_machine_as_test

from agents_registry.models import Agent
from matches.league import outbox
from matches.models import Match
from tests import factories as make
from tests.fuzz.profile import long_count, many, seeded
from tests.matches.deliveries import model_words as words
from tests.matches.deliveries.model import World
from tests.matches.deliveries.steps import CALLERS, MACHINES, OUTCOMES, PICKS, TIMES, machine_of
from tests.matches.deliveries.steps_agents import AgentsCome
from tests.matches.deliveries.steps_instructor import InstructorActs
from tests.matches.deliveries.steps_referees import RefereesReport


class Deliveries(AgentsCome, RefereesReport, InstructorActs):
    """One league of at most five players, the lobby, and referees with and without the site's key."""

    @initialize(
        players=st.sampled_from([4, 2, 5, 3]),
        waiting=st.integers(0, 2),
        still_open=st.integers(0, 5),
        foreign=st.booleans(),
        students_judge=st.booleans(),
        rules=st.fixed_dictionaries(
            {
                "no_show": st.sampled_from(["technical_loss", "cancel"]),
                "auto_advance": st.sampled_from([False, False, True]),
            }
        ),
    )
    def begin(
        self, players: int, waiting: int, still_open: int, foreign: bool, students_judge: bool, rules: dict[str, Any]
    ) -> None:
        self.world = World(**rules)
        self.clock.start()
        for number in range(1, waiting + 1):
            self.player("Ada", f"10.0.0.{number}", None, None, None, None, 1)
        self.world.open_league()
        patience = {"suspend_after": words.SUSPEND_AFTER, "shutdown_after": words.SHUTDOWN_AFTER}
        league = make.open_league("fall", max_players=words.MAX_PLAYERS, **rules, **patience)
        self.world.longest_match_s = int(league.rules.longest_match_s())
        for number in (1, 2):
            key, progress = number == 1 or not students_judge, number == 1 or not foreign
            self.referee(f"Judge {number}", f"10.0.1.{number}", None, None, key, progress, 1)
        self.let_judge(1, True)
        for number, name in enumerate(("Ada", "Bo", "Cy", "Di", "Eve")[:players], start=1):
            # The fourth has the address of the first: they are never in two matches at once.
            self.player(name, f"10.0.0.{1 if number == 4 else number}", None, None, None, "fall", 1)
        # In some examples registration stays open.
        if still_open != 5:
            self.start()
            self.pass_time(2)
            self.look()

    @precondition(lambda self: self.sent)
    @rule(back=st.integers(1, 200), times=TIMES)
    def again(self, back: int, times: int) -> None:
        """Any earlier message comes again, byte for byte, however late, up to three times."""
        self.deliver(self.sent[-1 - back % len(self.sent)], times)

    @precondition(lambda self: self.world.outbox)
    @rule(pick=PICKS, problem=st.sampled_from(["", "", "no connection"]), times=TIMES)
    def acknowledged(self, pick: int, problem: str, times: int) -> None:
        """Settle a delivery of the outbox any number of times; the first outcome counts."""
        number = list(self.world.outbox)[pick % len(self.world.outbox)]
        for _ in range(times):
            type(self).count += 1
            outbox.settle([(number, problem)])
        parcel = self.world.outbox[number]
        if parcel.state == "PENDING":
            parcel.state = "FAILED" if problem else "SETTLED"
        self.compare()

    @rule()
    def all_acknowledged(self) -> None:
        type(self).count += 1
        outbox.settle([(number, "") for number in self.world.outbox])
        for parcel in self.world.outbox.values():
            parcel.state = "SETTLED" if parcel.state == "PENDING" else parcel.state
        self.compare()

    # Time, and the conductor -------------------------------------------------------------------------

    @rule(seconds=st.sampled_from([1, 1, 2, 2, 4, 9, 17, 600]))
    def pass_time(self, seconds: int) -> None:
        self.world.now += seconds

    @rule()
    def look(self) -> None:
        plan = make.look()
        called = self.world.look(dict_of("match_id", "attempt", "referee__code"))
        who = {pk: (league, code) for pk, league, code in Agent.objects.values_list("pk", "league_id", "code")}
        pings = {(*who[one.agent_pk], machine_of(one.endpoint)) for one in plan.pings if one.proves}
        # No player gets two messages at once.
        busy = {who[pk] for pk in plan.parcels}
        assert pings == {(*player, machine) for *player, machine in called if tuple(player) not in busy}
        self.compare()

    # An evening without trouble ----------------------------------------------------------------------

    @rule()
    def go_on(self) -> None:
        """Go on without faults: referees are alive, deliveries are settled, and the next round starts."""
        self.referees_are_alive()
        self.all_acknowledged()
        by_itself = self.world.auto_advance and self.world.state == "RUNNING" and not self.world.paused
        if self.world.may_start() and not by_itself:
            self.start()
        if self.world.state == "COMPLETED" and self.world.frozen is not None:
            self.change_the_freeze("unveil")
        self.pass_time(2)
        self.look()

    @rule(outcomes=st.lists(OUTCOMES, min_size=1, max_size=2))
    def a_round_goes_by(self, outcomes: list[str]) -> None:
        """Every match in play is reported, so that leagues end and players become silent."""
        self.go_on()
        for number in range(len(self.playing())):
            self.report_now(0, outcomes[number % len(outcomes)], 1)

    @precondition(lambda self: self.world.state == "RUNNING" and self.world.rounds.count(words.PENDING) > 1)
    @rule()
    def the_class_goes(self) -> None:
        """After a round in which everybody who is called answers nobody does any more."""
        for outcome in ("draw", "draw", "both silent", "both silent"):
            # Two players have one machine, so that it takes two of these to play a round.
            self.a_round_goes_by([outcome])

    @precondition(lambda self: self.world.players)
    @rule(pick=PICKS, at=MACHINES | st.sampled_from(["10.0.0.7", "10.0.0.8"]), caller=CALLERS, answered=st.booleans())
    def a_player_moves(self, pick: int, at: str, caller: str | None, answered: bool) -> None:
        """A player registers with its own token, mostly at another address, and answers there or not."""
        player = self.world.players[pick % len(self.world.players)]
        token = next(reversed(player.tokens), None)
        self.send_player(player.name, at, caller or at, token, None, None, 1)
        if player.move is not None:
            moving_ones = [one for one in (*self.world.players, *self.world.lobby) if one.move]
            index = next(index for index, one in enumerate(moving_ones) if one is player)
            self.called_at_the_new_address(index, answered, None, 1)
        self.look()


def dict_of(key: str, *columns: str) -> dict[str, Any]:
    return {first: tuple(rest) for first, *rest in Match.objects.values_list(key, *columns)}


def run_examples(examples: int) -> int:
    Deliveries.count = 0
    run_state_machine_as_test(seeded("deliveries")(Deliveries), settings=many(examples, stateful_step_count=50))
    return Deliveries.count


@pytest.mark.django_db
def test_the_league_equals_its_model_after_messages_in_any_order() -> None:
    assert run_examples(2) > 20


@pytest.mark.long
@pytest.mark.timeout(1800)
@pytest.mark.django_db
def test_the_league_equals_its_model_after_ten_thousand_messages(
    record_property: Callable[[str, object], None],
) -> None:
    record_property("deliveries", sent := run_examples(long_count(250)))
    assert sent >= long_count(10_000)
