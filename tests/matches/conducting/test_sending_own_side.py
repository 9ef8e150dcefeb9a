"""What failed through the referee or the league is void and played again: every way it can happen, and what is said."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from agents_registry import registration
from league_sdk.protocol.faults import Cause
from league_sdk.transport.client import NotReached, TimedOut
from matches.conducting import sending
from matches.conducting.outgoing import Start, Try
from matches.league import lifecycle, losses, opening
from matches.models import Event, Match
from tests import factories as make

pytestmark = pytest.mark.django_db

WHY = "an error in the referee's own code (ZeroDivisionError)"


def told(kind: str = "attempt_lost") -> list[tuple[str, str]]:
    """Cause and reason of each such event."""
    return [(one.data["cause"], one.data["why"]) for one in Event.objects.filter(kind=kind).order_by("seq")]


def give_back(place: make.Setting, **changes: Any) -> None:
    make.progress(place.match("R1M1"), **{"state": "HANDED_BACK", "why": WHY} | changes)


def results() -> list[tuple[str, str]]:
    """What counts in the table."""
    return list(Match.objects.exclude(status="").values_list("match_id", "status"))


def test_a_match_that_failed_in_the_referee_is_played_again_at_once_by_another() -> None:
    place = make.playing(players=2, referees=2)
    judge = place.referee_of("R1M1")
    give_back(place)
    assert (place.states()["R1M1"], told()) == ("READY", [("REFEREE", WHY)])
    # It lives: only this match is nothing for it.
    assert judge.fresh().state == "ACTIVE"
    make.look()
    again = place.match("R1M1")
    assert (again.state, again.attempt, again.lost_attempts, place.referee_of("R1M1") != judge) == (
        "ASSIGNED",
        2,
        1,
        True,
    )
    assert (results(), [one.fresh().silences for one in place.players]) == ([], [0, 0])


def test_where_there_is_no_other_referee_it_gets_the_match_again() -> None:
    place = make.playing(players=2)
    give_back(place)
    make.look()
    assert (place.states()["R1M1"], place.match("R1M1").attempt) == ("ASSIGNED", 2)


def test_a_match_that_fails_in_every_referee_is_held() -> None:
    place = make.playing(players=2, referees=2)
    for _ in range(3):
        give_back(place)
        make.look()
    assert (place.states()["R1M1"], told(), told("match_held")) == ("HELD", [("REFEREE", WHY)] * 2, [("REFEREE", WHY)])
    assert results() == []


def test_a_referee_that_leaves_in_good_order_has_lost_nothing() -> None:
    place = make.playing(players=2)
    for _ in range(4):
        give_back(place, why="")
        registration.heard_from_referee(agent_id=place.referees[0].agent.pk)
        make.look()
    assert (place.states()["R1M1"], place.match("R1M1").lost_attempts) == ("ASSIGNED", 0)
    assert told() == [("REFEREE", "the referee is leaving")] * 4


def test_a_result_that_our_server_refused_is_the_leagues() -> None:
    place = make.playing(players=2)
    why = "the league manager did not take the result: E002: result is missing."
    give_back(place, cause="LEAGUE", why=why)
    assert told() == [("LEAGUE", why)]


def test_a_lost_referee() -> None:
    place = make.playing(players=2)
    Match.objects.update(lease_until=timezone.now() - timedelta(seconds=1))
    make.look()
    assert (place.states()["R1M1"], told()) == ("READY", [("REFEREE", "no sign of life from the referee")])
    assert results() == []


def test_a_referee_that_started_again() -> None:
    place = make.playing(players=2)
    losses.lose_all_of(referee_id=place.referees[0].agent.pk)
    assert told() == [("REFEREE", "the referee started again")]


@pytest.mark.parametrize("cause", [Cause.REFEREE, Cause.LEAGUE])
def test_a_start_that_was_not_taken(cause: Cause) -> None:
    place = make.playing(players=2)
    match = place.match("R1M1")
    lost = losses.NotTaken(match.pk, 1, match.lease_until, "no connection", cause=cause)
    losses.undeliverable(lost)
    assert (place.states()["R1M1"], told()) == ("READY", [(cause, "no connection")])


@pytest.mark.parametrize("foreign", [False, True])
@pytest.mark.parametrize("ours", [False, True])
async def test_whether_it_was_the_referee_or_ourselves_is_seen_when_calling(foreign: bool, ours: bool) -> None:
    class Down:
        async def post(self, url: str, body: bytes, *, limit_s: float) -> Any:
            raise NotReached("no connection", connected=False, cause=Cause.LEAGUE if ours else Cause.CONNECT)

    start = Start(
        1, 1, 1, "http://127.0.0.1:8001/mcp", (Try("canonical:start_match", b"", 1),), 1.0, 8.0, foreign=foreign
    )
    offered = await sending.offer(Down(), start, limit_s=1.0)  # type: ignore[arg-type]
    assert (offered.problem, offered.cause) == ("no connection", "LEAGUE" if ours else "REFEREE")


async def test_a_referee_that_is_silent_when_started_is_to_blame_itself() -> None:
    class Silent:
        async def post(self, url: str, body: bytes, *, limit_s: float) -> Any:
            raise TimedOut("no answer within 1 s", connected=True)

    start = Start(1, 1, 1, "http://127.0.0.1:8001/mcp", (Try("", b"", 1),), 1.0, 8.0)
    assert (await sending.offer(Silent(), start, limit_s=1.0)).cause == "REFEREE"  # type: ignore[arg-type]


# A player that is not called any more -------------------------------------------------------------


def test_a_player_that_is_shut_down_loses_for_what_it_was_shut_down_for() -> None:
    place = make.playing(players=4)
    match = place.match("R1M1")
    gone = match.player_a
    changes = make.silent(match, gone.code)
    changes["faults"][0] |= {"error_code": "E009", "cause": "NAME_LOOKUP"}
    make.report(match, None, **changes)
    make.finish_round(place)
    registration.retire(agent_ids=[gone.pk])
    lifecycle.start_round(league_id="fall")
    decided = Match.objects.get(round__number=2, status="TECHNICAL_LOSS")
    (fault,) = decided.faults
    assert (fault["player_id"], fault["cause"], fault["error_code"]) == (gone.code, "NAME_LOOKUP", "E005")


def test_without_an_earlier_fault_it_is_the_deadline() -> None:
    place = make.setting(players=2)
    opening.close_registration(league_id="fall")
    registration.retire(agent_ids=[place.players[1].agent.pk])
    lifecycle.start_round(league_id="fall")
    assert [fault["cause"] for fault in place.match("R1M1").faults] == ["DEADLINE"]
