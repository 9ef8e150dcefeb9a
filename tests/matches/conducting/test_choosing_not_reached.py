"""A player that one referee does not reach is called by one in another place before it loses (decision 41)."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from agents_registry.models import Agent
from agents_registry.registering import registration
from league_sdk.protocol.notes import Code, note
from league_sdk.protocol.states import HANDED_BACK
from matches.league import lifecycle
from matches.models import Event, Match
from matches.view import reach
from tests import factories as make

pytestmark = pytest.mark.django_db

WHY = str(note(Code.NOT_REACHED, player="P02"))
GONE: dict[str, Any] = {"state": HANDED_BACK, "unreached": "P02", "cause": "REFEREE", "why": WHY}


def judge(number: int, host: str, **how: Any) -> make.RegisteredAgent:
    return make.referee(f"Referee {number}", port=8000 + number, endpoint=f"http://{host}:{8000 + number}/mcp", **how)


def league(*hosts: str, players: int = 2) -> make.MadeLeague:
    """A running league of Alice (P01), Bob (P02) and others, and a referee of the site on each of these hosts."""
    judges = [judge(number, host) for number, host in enumerate(hosts, 1)]
    make.open_league("fall")
    members = [make.player(f"Player {number}", "fall", port=8100 + number) for number in range(1, players + 1)]
    made = make.MadeLeague("fall", members, judges)
    lifecycle.start_league(league_id="fall")
    make.open_round("fall")
    return made


def started(match_id: str = "R1M1") -> tuple[str, dict[str, Any]]:
    """Have the conductor look; which referee a match is given to, and what start_match says."""
    (message,) = [json.loads(one.message) for one in make.look().starts if match_id.encode() in one.message]
    match = Match.objects.select_related("referee").get(match_id=match_id)
    assert match.referee is not None
    return match.referee.code, message


def test_a_match_is_handed_on_once_to_a_referee_in_another_place_and_is_no_lost_attempt() -> None:
    made = league("127.0.0.1", "127.0.0.1", "127.0.0.2")
    first, message = started()
    assert (first, message["second_look"]) == ("REF01", True)
    make.progress(made.match("R1M1"), **GONE)
    assert (made.match("R1M1").state, made.match("R1M1").lost_attempts) == ("READY", 0)
    second, message = started()
    assert (second, "second_look" in message) == ("REF03", False)
    # A second time it is an attempt that its referee has lost.
    make.progress(made.match("R1M1"), **GONE)
    assert made.match("R1M1").lost_attempts == 1
    kinds = Event.objects.filter(kind="attempt_lost").values_list("data__referee_id", flat=True)
    assert list(kinds) == ["REF01", "REF03"]


def test_after_a_lost_attempt_the_match_does_not_go_back_to_who_did_not_reach_the_player() -> None:
    made = league("127.0.0.1", "127.0.0.2")
    assert started()[0] == "REF01"
    make.progress(made.match("R1M1"), **GONE)
    assert started()[0] == "REF02"
    make.progress(made.match("R1M1"), state=HANDED_BACK, cause="REFEREE", why="broke")
    assert started()[0] == "REF02"


@pytest.mark.parametrize("hosts", [("127.0.0.1",), ("127.0.0.1", "127.0.0.1")], ids=["one", "two-on-one-machine"])
def test_without_a_second_place_there_is_no_second_look(hosts: tuple[str, ...]) -> None:
    league(*hosts)
    assert "second_look" not in started()[1]


def test_a_students_referee_neither_hands_on_nor_is_a_second_place() -> None:
    student = judge(1, "127.0.0.1", trusted=False)
    registration.trust(agent_ids=[student.agent.pk], trusted=True)
    made = league(players=2)
    first, message = started()
    assert (first, "second_look" in message) == ("REF01", False)
    judge(2, "127.0.0.2")
    make.progress(made.match("R1M1"), **GONE)
    match = made.match("R1M1")
    assert (match.unreached, match.lost_attempts) == (None, 1)
    # The site's, which gets the match then, has no other one of the site to hand it on to.
    second, message = started()
    assert (second, "second_look" in message) == ("REF02", False)


def play_handed_on(made: make.MadeLeague, **second: Any) -> None:
    started()
    make.progress(made.match("R1M1"), **GONE)
    started()
    make.report(made.match("R1M1"), "P01", **second)


def test_a_referee_gets_no_match_with_a_player_that_another_one_reached_for_two_minutes() -> None:
    made = league("127.0.0.1", "127.0.0.2", players=4)
    play_handed_on(made)
    first, second = (one.agent.pk for one in made.referees)
    assert reach.not_reached() == {first: {made.players[1].agent.pk}}
    other = made.match("R1M1")
    open_again = {"state": "READY", "referee": first, "attempt": 0, "unreached": None}
    Match.objects.filter(pk=other.pk).update(**open_again, finished_at=None, status="", winner=None)
    seen = timezone.now()
    make_finished_elsewhere(other, first, second, seen)
    assert started()[0] == "REF02"
    Match.objects.filter(pk=other.pk).update(**open_again)
    make_finished_elsewhere(other, first, second, seen - timedelta(minutes=3))
    assert started()[0] == "REF01"


def make_finished_elsewhere(like: Match, first: int, second: int, at: Any) -> None:
    """The record of a match of the same players that the first referee handed on and the second one finished."""
    Match.objects.filter(match_id="EARLIER").delete()
    Match.objects.create(
        league_id=like.league_id,
        round_id=like.round_id,
        match_id="EARLIER",
        player_a_id=like.player_a_id,
        player_b_id=like.player_b_id,
        referee_id=second,
        state="FINISHED",
        status="WIN",
        attempt=2,
        finished_at=at,
        unreached={"player": "P02", "referee_pk": first, "attempt": 1},
    )


def test_a_referee_is_not_named_for_a_player_that_nobody_reached() -> None:
    made = league("127.0.0.1", "127.0.0.2")
    fault = {"player_id": "P02", "error_code": "E009", "cause": "CONNECT", "message_type": "GAME_INVITATION"}
    play_handed_on(made, status="TECHNICAL_LOSS", faults=[fault | {"tries": 4, "limit_s": 5.0}])
    assert reach.not_reached() == {}
    # It counts as one silence, as if there had been one referee.
    assert Agent.objects.get(code="P02").silences == 1


def test_a_player_that_refuses_both_referees_of_the_site_is_not_judged_by_its_owners() -> None:
    made = league("127.0.0.1", "127.0.0.2")
    student = judge(3, "127.0.0.3", trusted=False)
    registration.trust(agent_ids=[student.agent.pk], trusted=True)
    first, second = (one.agent.pk for one in made.referees)
    match = made.match("R1M1")
    make_finished_elsewhere(match, first, second, timezone.now())
    later = Match.objects.get(match_id="EARLIER")
    Match.objects.filter(pk=later.pk).update(match_id="EARLIER2", referee=first)
    Match.objects.filter(pk=later.pk).update(unreached={"player": "P02", "referee_pk": second, "attempt": 1})
    make_finished_elsewhere(match, first, second, timezone.now())
    assert reach.not_reached().keys() == {first, second}
    assert started()[0] == "REF01"
