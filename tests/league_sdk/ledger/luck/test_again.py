"""Where everyone would be if the matches of a table were played again."""

import subprocess
import sys
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from league_sdk.ledger.luck import strengths
from league_sdk.ledger.luck.again import enough, play_again
from league_sdk.ledger.luck.figures import Luck, Question
from league_sdk.ledger.standings import Result, Scoring, table
from league_sdk.rules.game import Chances
from tests.bench import luck as bench
from tests.paths import ROOT
from tests.sizes import examples

PLAYERS = ("P01", "P02", "P03", "P04")
CERTAIN_DRAW: Chances = (0.0, 1.0, 0.0)
EVEN_CHANCES: Chances = (0.5, 0.0, 0.5)


def won(winner: str, loser: str) -> Result:
    return Result(1, winner, loser, "WIN", winner)


LADDER = tuple(won(a, b) for at, a in enumerate(PLAYERS) for b in PLAYERS[at + 1 :])
"""Every player has won against all after it."""


def question_of(results: tuple[Result, ...] = LADDER, **more: object) -> Question:
    return replace(Question(PLAYERS, results, Scoring(), (None,) * len(results), seed="test"), **more)


def answer(question: Question) -> Luck:
    luck = play_again(question)
    assert luck is not None
    return luck


def test_the_same_question_has_the_same_answer_in_a_process_of_its_own() -> None:
    question = question_of()
    process = subprocess.run(
        [sys.executable, "-m", "league_sdk.ledger.luck"],
        input=question.to_json(),
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
    )
    assert Luck.read(process.stdout) == answer(question) == answer(question)
    assert answer(question) != answer(replace(question, seed="another"))


def test_too_few_matches_say_nothing() -> None:
    assert play_again(question_of(LADDER[:3])) is None
    assert play_again(question_of((), chances=())) is None
    assert [enough(players, matches) for players, matches in ((2, 9), (3, 2), (3, 3), (30, 29), (30, 30))] == [
        False, False, True, False, True,
    ]  # fmt: skip


def test_a_ladder_of_four_could_be_chance_and_the_same_ladder_ten_times_could_not() -> None:
    once = answer(question_of())
    assert (once.table_could_be_chance, once.is_game_of_chance, once.matches, once.kept) == (True, False, 6, 0)
    ten_times = answer(question_of(LADDER * 10))
    # The two in the middle are not shown to be better or worse than the average.
    assert not ten_times.table_could_be_chance
    assert [(one.place, one.low, one.high, one.could_be_chance) for one in ten_times.players.values()] == [
        (1, 1, 1, False), (2, 2, 2, True), (3, 3, 3, True), (4, 4, 4, False),
    ]  # fmt: skip
    assert ten_times.players["P01"].best == pytest.approx(1.0, abs=0.05)
    assert ten_times.players["P04"].better == pytest.approx(0.0, abs=0.05)


def test_a_game_of_chance_says_what_its_matches_are_worth() -> None:
    chances = (EVEN_CHANCES, EVEN_CHANCES, CERTAIN_DRAW, EVEN_CHANCES, CERTAIN_DRAW, CERTAIN_DRAW)
    luck = answer(question_of(chances=chances))
    assert (luck.is_game_of_chance, luck.table_could_be_chance) == (True, True)
    # P01: two even chances of 3 points and a certain draw.
    first = luck.players["P01"]
    assert (first.expected, first.spread) == (4.0, pytest.approx((2 * 2.25) ** 0.5))
    assert {one.best for one in luck.players.values()} == {0.25}
    assert {one.better for one in luck.players.values()} == {None}
    assert all(one.could_be_chance for one in luck.players.values())


def test_what_was_decided_without_play_stays_and_says_nothing_of_strength() -> None:
    lost = tuple(Result(1, "P04", other, "TECHNICAL_LOSS", other) for other in PLAYERS[:3]) * 5
    luck = answer(question_of((*LADDER[:3], *LADDER[3:5] * 2, *lost), chances=(None,) * 22))
    assert (luck.matches, luck.kept) == (7, 15)
    # Five technical wins put each other player out of its reach. Only three of its matches were played to their end.
    assert (luck.players["P04"].low, luck.players["P04"].high) == (4, 4)
    assert luck.players["P04"].could_be_chance
    assert luck.players["P04"].best is not None


def test_a_player_without_a_match_played_to_its_end_is_not_the_best() -> None:
    played = tuple(won(a, b) for a, b in (("P01", "P02"), ("P01", "P03"), ("P02", "P03")) * 2)
    luck = answer(question_of((*played, Result(1, "P04", "P01", "TECHNICAL_LOSS", "P01")), chances=(None,) * 7))
    assert luck.players["P04"].best is None
    assert sum(one.best or 0.0 for one in luck.players.values()) == pytest.approx(1.0)


def test_corrections_hold_in_every_replay() -> None:
    ahead = answer(question_of(points={"P04": 100}))
    assert (ahead.players["P04"].low, ahead.players["P04"].high, ahead.players["P04"].first) == (1, 1, 1.0)
    behind = answer(question_of(points={"P04": 100}, out={"P04": "disqualified"}))
    assert (behind.players["P04"].place, behind.players["P04"].low, behind.players["P04"].high) == (4, 4, 4)


def test_results_of_unknown_players_are_ignored() -> None:
    assert answer(question_of((*LADDER, won("P99", "P01")), chances=(None,) * 7)) == answer(question_of())


results = st.lists(
    st.tuples(st.sampled_from(PLAYERS), st.sampled_from(PLAYERS), st.sampled_from("ABDT")), min_size=1, max_size=12
)
points = st.dictionaries(st.sampled_from(PLAYERS), st.integers(-500, 500))
out = st.dictionaries(st.sampled_from(PLAYERS), st.sampled_from(["withdrawn", "disqualified"]))


@given(results, points, out, st.tuples(*[st.integers(-5, 100)] * 4))
@settings(max_examples=examples(60))
def test_places_are_those_of_the_table(
    drawn: list[tuple[str, str, str]], points: dict[str, int], out: dict[str, str], scoring: tuple[int, int, int, int]
) -> None:
    """With chances of 0 and 1 every replay is the table itself."""
    played, sure = [], []
    for a, b, letter in drawn:
        if a == b:
            continue
        status = {"D": "DRAW", "T": "TECHNICAL_LOSS"}.get(letter, "WIN")
        played.append(Result(1, a, b, status, None if letter == "D" else b if letter == "B" else a))
        sure.append({"A": (1.0, 0.0, 0.0), "B": (0.0, 0.0, 1.0), "D": CERTAIN_DRAW, "T": None}[letter])
    question = Question(PLAYERS, tuple(played), Scoring(*scoring), tuple(sure), points, out)
    rows = table(dict.fromkeys(PLAYERS, ""), played, question.scoring, points=points, out=out)
    luck = play_again(question)
    if luck is None:
        return
    expected = {row.player_id: row.tied_rank for row in rows}
    assert {player_id: (one.place, one.low, one.high) for player_id, one in luck.players.items()} == {
        player_id: (place, place, place) for player_id, place in expected.items()
    }
    assert {one.player_id: one.points for one in rows} == pytest.approx(
        {player_id: one.expected for player_id, one in luck.players.items()}
    )


def test_many_points_for_a_match_do_not_mix_up_the_order() -> None:
    scoring = Scoring(win=1000, draw=-1000, loss=-1000, technical_loss=-1000)
    luck = answer(question_of(LADDER * 4, scoring=scoring, chances=((1.0, 0.0, 0.0),) * 24))
    assert [one.place for one in luck.players.values()] == [1, 2, 3, 4]
    assert [one.low for one in luck.players.values()] == [1, 2, 3, 4]


# Leagues of known strengths ---------------------------------------------------------------------

_SMALL = [one for one in bench.SCENARIOS if one.players <= 13]
_REDUCED = [replace(one, players=12) for one in bench.SCENARIOS if one.players == 30 and not one.rounds]
TESTED = {f"{one.name}, {one.players} players": one for one in [*_SMALL, *_REDUCED]}
"""Scenarios with few players, so that a test is quick."""
SAMPLED = ("all equal, half are draws, 12 players", "middling differences, 12 players")


@pytest.mark.parametrize(
    "name", [name if name in SAMPLED else pytest.param(name, marks=pytest.mark.exhaustive) for name in TESTED]
)
def test_intervals_cover_the_places_of_a_league_that_is_played_again(name: str) -> None:
    found = bench.run(TESTED[name], leagues=25, seed=1, max_replays=300)
    assert found.covered >= bench.MIN_COVERED


def test_intervals_are_too_narrow_if_strengths_are_taken_as_known(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shows that the test above can fail: the uncertainty of the strengths and their prior matter."""
    monkeypatch.setattr(strengths, "SPREADS", (3.2, 4.5))
    monkeypatch.setattr(strengths, "solve_upper", lambda columns, right: [0.0] * len(right))
    equal = TESTED["all equal, no draws, 12 players"]
    assert bench.run(equal, leagues=25, seed=1, max_replays=300).covered < 0.8
