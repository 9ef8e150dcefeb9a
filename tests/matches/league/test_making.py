"""A long schedule is made in pieces: others write meanwhile, nobody sees half of it, a damaged one is dropped."""

from __future__ import annotations

import pytest

from agents_registry.models import Agent
from league_sdk.formats.round_robin import planned_round, rounds_of
from league_sdk.protocol.states import LeagueState
from matches.conducting import due
from matches.league import lifecycle, making, opening
from matches.league.errors import ActionRefused
from matches.models import League, Match, Round
from matches.view import lists, sight, summaries
from matches.view.queries import matches_of, schedule
from tests import factories as make

pytestmark = pytest.mark.django_db
PLAYERS = 9
"""36 matches in nine rounds of four."""
WHOLE = lists.Wanted(given=True)
"""All of a list, with the number of its rows."""


@pytest.fixture(autouse=True)
def _small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(making, "MAX_MATCHES_AT_ONCE", 35)
    monkeypatch.setattr(making, "MATCHES_PER_PIECE", 8)


def state() -> tuple[str, int]:
    return League.objects.get(pk="fall").state, Match.objects.filter(league_id="fall").count()


def pairs() -> list[tuple[str, str, str]]:
    matches = Match.objects.filter(league_id="fall").order_by("pk")
    return list(matches.values_list("match_id", "player_a__code", "player_b__code"))


def begin_schedule(**settings: object) -> None:
    make.league(players=PLAYERS, **settings)
    opening.close_registration(league_id="fall")


def test_a_look_writes_a_piece_and_after_the_last_piece_the_league_is_scheduled() -> None:
    begin_schedule()
    seen = [state()]
    while state()[0] == LeagueState.REGISTRATION:
        assert due.look(busy_agents=[], draining=False).pieces
        seen.append(state())
    assert seen == [
        *(("REGISTRATION", matches) for matches in (4, 12, 20, 28, 36)),
        ("SCHEDULED", 36),
    ]
    assert due.look(busy_agents=[], draining=False).pieces is False
    codes = [f"P{number:02}" for number in range(1, PLAYERS + 1)]
    plan = [planned_round(PLAYERS, number) for number in range(1, rounds_of(PLAYERS) + 1)]
    assert pairs() == [(pair.match_id, codes[pair.a], codes[pair.b]) for one in plan for pair in one.pairings]
    byes = Round.objects.order_by("number").values_list("number", "bye__code")
    assert list(byes) == [(one.number, codes[one.bye]) for one in plan if one.bye is not None]
    events = League.objects.get(pk="fall").events.filter(kind="schedule_made")
    assert [(event.data["players"], event.data["rounds"]) for event in events] == [(9, 9)]


def test_other_leagues_referees_are_heard_between_two_pieces() -> None:
    other = make.running_league("other", players=2)
    (match,) = Match.objects.filter(league_id="other")
    make.insert_players(make.open_league("fall").pk, PLAYERS)
    make.look()
    opening.close_registration(league_id="fall")
    match.refresh_from_db()
    making.write_piece(league_id="fall")
    assert state()[0] == LeagueState.REGISTRATION
    assert make.progress(match) == "ok"
    making.write_piece(league_id="fall")
    assert make.report(match, match.player_a.code)["status"] == "ACCEPTED"
    assert other.league.state == LeagueState.COMPLETED


def test_nobody_sees_half_a_schedule() -> None:
    begin_schedule()
    making.write_piece(league_id="fall")
    league = League.objects.get(pk="fall")
    for view in (sight.everything(league), sight.public(league)):
        assert schedule(view) == []
        for part in (lists.schedule(view, WHOLE, for_messages=True), lists.matches(view, WHOLE)):
            assert (part.rows, part.next_cursor, part.total) == ("[]", None, 0)
        summary = summaries.summary(view)
        assert (summary.state, summary.players, summary.rounds, summary.matches) == ("REGISTRATION", 9, 9, 36)
    assert list(matches_of(league)) == []


def test_a_league_whose_schedule_is_being_made_refuses_new_players() -> None:
    begin_schedule()
    with pytest.raises(AssertionError):
        make.player("Late", "fall", port=8200)
    assert Agent.objects.filter(league_id="fall", kind="player").count() == PLAYERS


def test_a_league_whose_schedule_is_being_made_refuses_other_actions() -> None:
    begin_schedule()
    before = state()
    for verb in (opening.close_registration, lifecycle.start_round, lifecycle.stop):
        with pytest.raises(ActionRefused) as caught:
            verb(league_id="fall")
        message = str(caught.value)
        assert message in (
            "The schedule of Fall is being made: wait a moment.",
            "Fall has no schedule yet: close registration first.",
        )
    assert state() == before


def test_a_start_begins_the_round_when_the_schedule_is_made() -> None:
    make.league(players=PLAYERS)
    league = lifecycle.start_league(league_id="fall", auto_advance=True)
    assert (league.state, league.starts_at is not None) == ("REGISTRATION", True)
    for _ in range(5):
        make.look()
    assert state() == ("SCHEDULED", 36)
    make.look()
    league = League.objects.get(pk="fall")
    assert (league.state, league.starts_at, league.runs_all) == ("RUNNING", None, True)
    assert Round.objects.get(league=league, number=1).state != "PENDING"


def test_a_refused_start_does_not_close_registration() -> None:
    make.league(players=PLAYERS, referees=0)
    with pytest.raises(ActionRefused, match="No referee may judge"):
        lifecycle.start_league(league_id="fall")
    assert state() == ("REGISTRATION", 0)
    assert making.is_open(League.objects.get(pk="fall"))


def test_deleting_a_match_of_an_unfinished_schedule_reopens_registration() -> None:
    begin_schedule()
    Match.objects.filter(match_id="R1M2").delete()
    for _ in range(2):
        make.look()
    assert state() == ("REGISTRATION", 0)
    opening.close_registration(league_id="fall")
    assert state() == ("REGISTRATION", 4)


@pytest.mark.parametrize("deleted", ["the player with the bye in round 1", "a later round", "a match of a later round"])
def test_deleting_any_row_of_an_unfinished_schedule_reopens_registration(deleted: str) -> None:
    """Deleted by hand, in the admin or by SQL: no league is played with an incomplete schedule."""
    begin_schedule()
    make.look()
    make.look()
    if deleted == "a later round":
        Round.objects.get(league_id="fall", number=3).delete()
    elif deleted == "a match of a later round":
        Match.objects.filter(match_id="R3M2").delete()
    else:
        bye = Round.objects.get(league_id="fall", number=1).bye
        assert bye is not None
        bye.delete()
    for _ in range(PLAYERS):
        make.look()
    assert state() == ("REGISTRATION", 0)
    opening.close_registration(league_id="fall")
    while state()[0] == LeagueState.REGISTRATION:
        make.look()
    players = Agent.objects.filter(league_id="fall", kind="player").count()
    assert state() == ("SCHEDULED", players * (players - 1) // 2)
