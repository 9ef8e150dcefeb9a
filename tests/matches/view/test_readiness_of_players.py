"""The readiness of players by their checks, and what a league that demands checks does with it."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import translation

from agents_registry.models import Agent
from league_sdk.protocol.sentences import Sentence, say
from matches.checks import runs, taking
from matches.league import lifecycle, opening
from matches.league.errors import ActionRefused
from matches.models import Match
from matches.view import queries, readiness, sight
from tests import factories as make
from tests.matches.checks.asks import INSTRUCTOR, after, ask, run
from tests.matches.reports import report

pytestmark = pytest.mark.django_db


def words_by_player(league_id: str = "fall") -> dict[str, str]:
    players = list(Agent.objects.filter(league_id=league_id, kind="player").order_by("pk"))
    known = readiness.readiness(players, now=after(1000))
    return {player.code: known[player.pk].word.value for player in players}


def test_readiness_is_one_word_per_agent() -> None:
    made = make.league(players=4)
    for member, passed in ((made.players[0], True), (made.players[1], False), (made.players[2], True)):
        run(ask(member.agent.endpoint), passed=passed)
    ask(made.players[2].agent.endpoint, now=after(10))
    assert words_by_player() == {"P01": "ready", "P02": "wrong_answers", "P03": "checking", "P04": "not_checked"}
    run(ask(made.players[1].agent.endpoint, INSTRUCTOR, now=after(20)), now=after(20))
    assert words_by_player()["P02"] == "ready"


def test_a_check_that_could_not_be_run_keeps_the_earlier_verdict() -> None:
    made = make.league(players=2)
    run(ask(made.players[0].agent.endpoint))
    for number, member in enumerate(made.players):
        check = ask(member.agent.endpoint, INSTRUCTOR, now=after(10 + number))
        [job] = taking.take(now=after(20))
        runs.fail(check_id=check.pk, run=job.run, problem="The site was overloaded.", now=after(21))
    assert words_by_player() == {"P01": "ready", "P02": "not_checked"}


def why_in_hebrew(**words: Sentence) -> str:
    """What a student must mend first, as a reader of Hebrew is told it."""
    [member] = make.league(players=1).players
    check = ask(member.agent.endpoint)
    [job] = taking.take(now=after(0))
    text = "It did not answer within 5 s. (\u2068004 2.7 table 5\u2069)"
    runs.finish(check_id=check.pk, run=job.run, report=report(passed=False, next_step=text, **words), now=after(1))
    with translation.override("he"):
        return readiness.readiness([member.agent], now=after(2))[member.agent.pk].why


def test_what_to_mend_first_is_told_in_the_readers_language() -> None:
    why = say("It did not answer within {limit} s.", limit="5")
    words = say("{why} ({source})", why=why, source="004 2.7 table 5")
    assert why_in_hebrew(next_step_words=words) == "הוא לא ענה תוך 5 שניות. (\u2068004 2.7 table 5\u2069)"


def test_what_to_mend_first_by_an_older_report_stays_in_english() -> None:
    assert why_in_hebrew() == "It did not answer within 5 s. (\u2068004 2.7 table 5\u2069)"


def test_with_cached_reports_readiness_needs_two_queries_for_any_number_of_agents() -> None:
    made = make.league(players=12)
    for member in made.players:
        run(ask(member.agent.endpoint, INSTRUCTOR))
    readiness.readiness([member.agent for member in made.players])
    for count in (2, 12):
        agents = [member.agent for member in made.players[:count]]
        with CaptureQueriesContext(connection) as seen:
            readiness.readiness(agents)
        assert len(seen) == 2


def test_a_check_as_referee_does_not_change_the_readiness_of_the_player_there() -> None:
    made = make.league(players=1)
    run(ask(made.players[0].agent.endpoint, role="referee"))
    assert words_by_player() == {"P01": "not_checked"}


def test_a_league_that_demands_a_check_leaves_out_players_that_have_not_passed() -> None:
    made = make.league(players=4, require_check=True)
    ready, failed, also_ready, _unchecked = made.players
    for member, passed in ((ready, True), (failed, False), (also_ready, True)):
        run(ask(member.agent.endpoint), passed=passed)
    opening.close_registration(league_id="fall")
    assert made.league.left_out == {"P02": "wrong_answers", "P04": "not_checked"}
    assert list(Match.objects.values_list("player_a__code", "player_b__code")) == [("P01", "P03")]
    assert [member.fresh().state for member in made.players] == ["REGISTERED", "SHUTDOWN", "REGISTERED", "SHUTDOWN"]
    assert made.events()[-2:] == ["left_out", "schedule_made"]
    lifecycle.start_round(league_id="fall")
    make.open_round("fall")
    make.look()
    make.report(made.match("R1M1"), "P01")
    assert made.league.state == "COMPLETED"
    assert [row["player_id"] for row in queries.standings_rows(sight.everything(made.league))] == ["P01", "P03"]


def test_closing_with_too_few_passed_players_names_the_others() -> None:
    made = make.league(players=3, require_check=True)
    run(ask(made.players[0].agent.endpoint))
    with pytest.raises(ActionRefused) as refused:
        opening.close_registration(league_id="fall")
    assert str(refused.value) == (
        "Fall has 1 of at least 2 players that passed the check; not ready: P02, P03. "
        "Wait until more have passed, or turn require_check off."
    )
    assert (made.league.state, made.league.left_out) == ("REGISTRATION", {})


def test_a_league_that_demands_no_check_lets_everybody_play() -> None:
    made = make.league(players=3)
    run(ask(made.players[0].agent.endpoint), passed=False)
    opening.close_registration(league_id="fall")
    assert (made.league.left_out, Match.objects.count()) == ({}, 3)


def test_a_check_with_another_game_says_nothing_about_this_one() -> None:
    made = make.league(players=1)
    run(ask(made.players[0].agent.endpoint, game_type="tic_tac_toe"))
    assert words_by_player() == {"P01": "not_checked"}
    run(ask(made.players[0].agent.endpoint, now=after(10)), now=after(10))
    assert words_by_player() == {"P01": "ready"}
