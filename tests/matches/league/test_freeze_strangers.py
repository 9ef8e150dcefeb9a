"""Behind a freeze a stranger learns nothing by asking at the right moment, or in somebody else's name."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.test import Client

from league_sdk.protocol.errors import RefereeNotRegistered
from matches.audience.pages import mine
from matches.league import freeze, lifecycle, losses, reporting
from matches.view import kept, readiness, sight
from tests import factories as make
from tests import wire
from tests.matches.correcting import make_correction

pytestmark = pytest.mark.django_db
ELSEWHERE = "192.0.2.66"


@pytest.fixture
def made() -> make.MadeLeague:
    """Four players; round 1 is played, and the board will be frozen when round 2 starts."""
    made = make.league(players=3)
    made.players.append(make.player("Far", "fall", endpoint="http://10.0.0.9:8101/mcp"))
    make.next_round(made)
    make.finish_round(made)
    freeze.plan(league_id="fall", from_round=2)
    return made


def play_behind_the_freeze(made: make.MadeLeague) -> None:
    make.next_round(made)
    make.finish_round(made)


def test_a_league_that_was_read_before_the_freeze_is_shown_as_frozen(made: make.MadeLeague) -> None:
    """The answer to a request may wait for others after the row was read."""
    row = made.league
    play_behind_the_freeze(made)
    view = sight.public(row)
    assert (view.frozen_after, view.outcome("R2M1"), view.outcome("R1M1") is None) == (1, None, False)


def test_a_league_that_was_read_before_the_freeze_and_is_unveiled_is_shown_as_it_is(made: make.MadeLeague) -> None:
    row = made.league
    play_behind_the_freeze(made)
    freeze.lift(league_id="fall")
    assert sight.public(row).outcome("R2M1") is not None


def test_a_large_answer_is_not_reused_when_a_freeze_begins_or_a_place_is_unveiled(made: make.MadeLeague) -> None:
    def frozen_after_and_played() -> list[str]:
        def large(view: sight.View) -> bytes:
            return f"{view.frozen_after} {sum(row.played for row in view.standings)} ".encode() * 9_000

        return kept.answer(made.league, ("large",), None, large).decode().split()[:2]

    assert frozen_after_and_played() == ["None", "4"]
    play_behind_the_freeze(made)
    play_behind_the_freeze(made)
    assert frozen_after_and_played() == ["1", "4"]
    freeze.unveil(league_id="fall")
    assert frozen_after_and_played() == ["1", "6"]


def register_as(client: Client, who: make.RegisteredAgent, **changes: object) -> str:
    """What is said to somebody who registers under a player's name and address, from another machine."""
    request = wire.player_request(who.agent.display_name, endpoint=who.agent.endpoint)
    answer = wire.ask(client, "register_player", request | {"league_id": "fall"} | changes, caller=ELSEWHERE)
    return str(answer["reason"])


def test_only_the_player_itself_is_told_behind_a_freeze_that_it_was_taken_out(
    client: Client, made: make.MadeLeague
) -> None:
    make.next_round(made)
    who = made.players[3]
    before = register_as(client, who)
    make_correction("disqualify", player_id="P04", matches_become="lose")
    assert register_as(client, who) == before
    assert "was disqualified from fall" in register_as(client, who, auth_token=who.token)
    freeze.lift(league_id="fall")
    assert "was disqualified from fall" in register_as(client, who)


@pytest.mark.parametrize("end", [lifecycle.stop, lambda league_id: None], ids=["stopped", "running"])
def test_a_league_that_was_stopped_behind_a_freeze_does_not_say_so(
    client: Client, made: make.MadeLeague, end: Callable[..., object]
) -> None:
    make.next_round(made)
    end(league_id="fall")
    agent = made.players[0].fresh()
    verdict = mine.verdict(made.league, agent, readiness.readiness([agent])[agent.pk])
    assert ("closed" in register_as(client, made.players[3]), verdict.word == "out") == (False, False)


def test_only_the_referee_that_had_an_attempt_is_told_that_it_was_lost(made: make.MadeLeague) -> None:
    make.next_round(made)
    first, match = made.referee_of("R2M1"), made.match("R2M1")
    make.referee("Second", port=8008)
    losses.lose_all_of(referee_id=first.agent.pk)
    make.look()
    assert made.match("R2M1").attempt == match.attempt + 1
    judge = make.referee("Trusted", port=8009, progress=False)

    def report_by(referee: make.RegisteredAgent) -> str:
        fields = make.result_fields(match, "P01")
        about = {"league_id": "fall", "match_id": "R2M1", "attempt": match.attempt, "params": fields, "transcript": []}
        return str(reporting.report(referee=referee.fresh(), **about)["reason"])

    assert report_by(first) == f"attempt {match.attempt} was lost; the match went on without it"
    with pytest.raises(RefereeNotRegistered):
        report_by(judge)
