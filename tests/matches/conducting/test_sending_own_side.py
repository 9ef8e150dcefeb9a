"""Attempts that fail on the referee's or the league's side, and their reasons; matches of players shut down."""

from __future__ import annotations

from typing import Any

import pytest

from agents_registry.registering import registration
from league_sdk.protocol.faults import Cause
from league_sdk.transport.client import NotReached, TimedOut
from matches.conducting import sending
from matches.conducting.outgoing import Start, Try
from matches.league import lifecycle, losses, opening
from matches.models import Event, Match
from matches.words.match import reason_lost
from tests import factories as make

pytestmark = pytest.mark.django_db

WHY = "an error in the referee's own code (ZeroDivisionError)"


def reasons_in_events(kind: str = "attempt_lost") -> list[tuple[str, str]]:
    """Cause and reason of each such event."""
    return [(one.data["cause"], reason_lost(one.data)) for one in Event.objects.filter(kind=kind).order_by("seq")]


def hand_back(made: make.MadeLeague, **changes: Any) -> None:
    make.progress(made.match("R1M1"), **{"state": "HANDED_BACK", "why": WHY} | changes)


def results() -> list[tuple[str, str]]:
    """The results that count."""
    return list(Match.objects.exclude(status="").values_list("match_id", "status"))


def test_a_match_that_failed_in_the_referee_is_played_again_at_once_by_another() -> None:
    made = make.running_league(players=2, referees=2)
    judge = made.referee_of("R1M1")
    hand_back(made)
    assert (made.states()["R1M1"], reasons_in_events()) == ("READY", [("REFEREE", WHY)])
    # The referee stays active: only this match failed in it.
    assert judge.fresh().state == "ACTIVE"
    make.look()
    match = made.match("R1M1")
    assert (match.state, match.attempt, match.lost_attempts, made.referee_of("R1M1") != judge) == (
        "ASSIGNED",
        2,
        1,
        True,
    )
    assert (results(), [one.fresh().silences for one in made.players]) == ([], [0, 0])


def test_a_match_that_fails_in_every_referee_is_held() -> None:
    made = make.running_league(players=2, referees=2)
    for _ in range(3):
        hand_back(made)
        make.look()
    assert (made.states()["R1M1"], reasons_in_events(), reasons_in_events("match_held")) == (
        "HELD",
        [("REFEREE", WHY)] * 2,
        [("REFEREE", WHY)],
    )
    assert results() == []


def test_matches_that_a_leaving_referee_hands_back_do_not_count_as_lost_attempts() -> None:
    made = make.running_league(players=2)
    for _ in range(4):
        hand_back(made, why="")
        registration.heard_from_referee(agent_id=made.referees[0].agent.pk)
        make.look()
    assert (made.states()["R1M1"], made.match("R1M1").lost_attempts) == ("ASSIGNED", 0)
    assert reasons_in_events() == [("REFEREE", "the referee is leaving")] * 4


def test_a_refused_result_is_blamed_on_the_league() -> None:
    made = make.running_league(players=2)
    why = "the league manager did not take the result: E002: result is missing."
    hand_back(made, cause="LEAGUE", why=why)
    assert reasons_in_events() == [("LEAGUE", why)]


def test_the_attempts_of_a_referee_that_started_again_are_lost() -> None:
    made = make.running_league(players=2)
    losses.lose_all_of(referee_id=made.referees[0].agent.pk)
    assert reasons_in_events() == [("REFEREE", "the referee started again")]


@pytest.mark.parametrize("cause", [Cause.REFEREE, Cause.LEAGUE])
def test_an_attempt_is_lost_if_its_referee_did_not_take_the_start(cause: Cause) -> None:
    made = make.running_league(players=2)
    match = made.match("R1M1")
    lost = losses.UntakenStart(match.pk, 1, match.lease_until, "no connection", cause=cause)
    losses.undeliverable(lost)
    assert (made.states()["R1M1"], reasons_in_events()) == ("READY", [(cause, "no connection")])


@pytest.mark.parametrize("sends_progress", [False, True])
@pytest.mark.parametrize("own_machine_failed", [False, True])
async def test_a_start_that_fails_is_blamed_on_the_league_only_if_its_own_machine_failed(
    sends_progress: bool, own_machine_failed: bool
) -> None:
    class Down:
        async def post(self, url: str, body: bytes, *, limit_s: float) -> Any:
            raise NotReached(
                "no connection", connected=False, cause=Cause.LEAGUE if own_machine_failed else Cause.CONNECT
            )

    tries = (Try("canonical:start_match", b"", 1),)
    start = Start(1, 1, 1, "http://127.0.0.1:8001/mcp", 1.0, 8.0, b"{}", tries, sends_progress=sends_progress)
    [offered] = await sending.send_starts(Down(), [start], limit_s=1.0)  # type: ignore[arg-type]
    assert (offered.problem, offered.cause) == ("no connection", "LEAGUE" if own_machine_failed else "REFEREE")


async def test_a_start_that_a_referee_does_not_answer_is_blamed_on_the_referee() -> None:
    class Silent:
        async def post(self, url: str, body: bytes, *, limit_s: float) -> Any:
            raise TimedOut("no answer within 1 s", connected=True)

    start = Start(1, 1, 1, "http://127.0.0.1:8001/mcp", 1.0, 8.0, b"{}")
    [offered] = await sending.send_starts(Silent(), [start], limit_s=1.0)  # type: ignore[arg-type]
    assert offered.cause == "REFEREE"


# A player that is not called any more -------------------------------------------------------------


def test_a_player_that_is_shut_down_loses_with_the_cause_of_its_last_fault() -> None:
    made = make.running_league(players=4)
    match = made.match("R1M1")
    player = match.player_a
    changes = make.no_answer_from(match, player.code)
    changes["faults"][0] |= {"error_code": "E009", "cause": "NAME_LOOKUP"}
    make.report(match, None, **changes)
    make.finish_round(made)
    registration.retire(agent_ids=[player.pk])
    lifecycle.start_round(league_id="fall")
    decided = Match.objects.get(round__number=2, status="TECHNICAL_LOSS")
    (fault,) = decided.faults
    assert (fault["player_id"], fault["cause"], fault["error_code"]) == (player.code, "NAME_LOOKUP", "E005")


def test_a_player_that_is_shut_down_without_a_fault_loses_with_the_cause_deadline() -> None:
    made = make.league(players=2)
    opening.close_registration(league_id="fall")
    registration.retire(agent_ids=[made.players[1].agent.pk])
    lifecycle.start_round(league_id="fall")
    assert [fault["cause"] for fault in made.match("R1M1").faults] == ["DEADLINE"]
