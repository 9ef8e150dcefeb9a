"""The stories about results: which rule makes which, and that they are the same however they are counted."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from league_sdk.ledger.standings import Result, Scoring, table
from matches.events.history import Outcome
from matches.view.stories import Ahead, Lead, Run, Tale, Teller

START = datetime(2026, 1, 1, 18, tzinfo=UTC)
PLAYERS = ["Ada", "Bo", "Cem", "Dot", "Eva", "Fox", "Gil", "Hal"]


def outcome(number: int, result: str, *, seq: int = 0, correction: int | None = None) -> Outcome:
    """A result: ``Ada>Bo`` is a win, ``Ada=Bo`` a draw, ``Ada!Bo`` a win as Bo did not answer, ``Ada?Bo`` cancelled."""
    sign = next(sign for sign in ">=!?" if sign in result)
    first, second = result.split(sign)
    status = {">": "WIN", "=": "DRAW", "!": "TECHNICAL_LOSS", "?": "CANCELLED"}[sign]
    return Outcome(
        match_id=f"R{number}M{seq}",
        round_number=number,
        players=(first, second),
        status=status,
        winner=first if sign in ">!" else None,
        reason="",
        details={},
        faults=(),
        attempt=1,
        referee_id="REF01",
        seq=seq,
        at=START + timedelta(seconds=seq),
        correction=correction,
    )


def teller_of(*rounds: str, players: int = 4, matches_each: int = 99) -> Teller:
    """A teller that has received all results of these rounds; each round is a line such as ``Ada>Bo Cem=Dot``."""
    teller, seq = Teller(PLAYERS[:players], Scoring(), matches_each), 0
    for number, results in enumerate(rounds, start=1):
        for result in results.split():
            seq += 1
            teller.tell(outcome(number, result, seq=seq))
    return teller


def last_story(*rounds: str, players: int = 4, matches_each: int = 99) -> tuple[object, ...] | None:
    """The story of the last result: kind, hero, other, number, run; None if it has none."""
    teller = teller_of(*rounds, players=players, matches_each=matches_each)
    seq = sum(len(results.split()) for results in rounds)
    found = [story for story in teller.stories if story.seq == seq]
    assert len(found) <= 1
    return (found[0].tale, *found[0][5:]) if found else None


def test_nothing_is_told_of_a_first_win_in_a_first_round() -> None:
    assert last_story("Ada>Bo") is None


def test_a_leader_is_beaten() -> None:
    lead = ["Ada>Bo Cem=Dot", "Ada>Cem Bo=Dot"]
    assert last_story(*lead, "Dot>Ada") == (Tale.BEATS_LEADER, "Dot", "Ada", 0, 0)
    assert last_story(*lead, "Dot=Ada") == (Tale.HOLDS_LEADER, "Dot", "Ada", 0, 0)
    # A player that won by a technical loss has not beaten anybody.
    assert last_story(*lead, "Dot!Ada") is None


def test_a_player_that_beats_the_leader_may_take_the_lead_by_it_or_with_a_run() -> None:
    assert last_story("Ada>Bo Cem=Dot", "Bo>Ada Cem>Dot") == (Tale.TAKES_LEAD, "Cem", "Dot", 0, 0)
    run = ["Ada>Bo Cem>Dot", "Ada>Dot Cem>Bo", "Ada>Bo Cem=Dot", "Cem>Ada"]
    assert last_story(*run) == (Tale.TAKES_LEAD, "Cem", "Ada", 1, 0)
    longer = ["Ada>Bo Cem>Dot", "Ada>Dot Cem>Bo", "Ada>Bo Cem>Dot", "Ada>Dot Bo=Dot", "Cem>Ada"]
    assert last_story(*longer) == (Tale.BEATS_LEADER, "Cem", "Ada", 0, 4)


def test_a_lead_that_is_given_is_told_without_a_victory() -> None:
    assert last_story("Ada>Bo Cem=Dot", "Bo=Ada Cem!Dot", "Ada=Bo Cem!Dot") == (Tale.TAKES_LEAD, "Cem", "", 0, 0)


def test_runs_are_told_and_so_is_their_end() -> None:
    three = ["Ada>Bo Cem>Dot", "Ada>Dot Cem>Bo", "Cem>Dot Ada>Bo"]
    assert last_story(*three) == (Tale.RUN, "Ada", "Bo", 3, 3)
    assert last_story(*three, "Dot>Cem", "Bo>Ada") == (Tale.LAST_UNBEATEN, "Bo", "Ada", 0, 0)
    # Two lead together: neither of them is the leader, and neither is the last without a loss.
    assert last_story(*three, "Bo>Ada") == (Tale.ENDS_RUN, "Bo", "Ada", 3, 0)


def test_a_win_without_play_leaves_the_winners_run_and_ends_the_losers() -> None:
    teller = teller_of("Ada>Bo", "Ada!Bo", "Ada>Bo")
    assert teller.runs["Ada"] == Run("Ada", 2, 1, 3)
    assert "Bo" not in teller.runs
    # A player that does not answer has lost, so its run is over, but no opponent ended it.
    assert last_story("Ada>Bo", "Ada>Bo", "Ada>Bo", "Bo!Ada") is None
    assert "Ada" not in teller_of("Ada>Bo", "Ada>Bo", "Bo!Ada").runs


def test_the_last_without_a_loss_falls() -> None:
    rounds = ["Ada>Bo Cem=Dot", "Ada=Cem Bo>Dot", "Ada=Dot Bo>Cem"]
    assert last_story(*rounds, "Dot>Ada") == (Tale.LAST_UNBEATEN, "Dot", "Ada", 0, 0)


def test_an_upset_needs_two_rounds_before_it() -> None:
    rounds = ["Ada>Eva Bo>Fox Cem>Gil Dot>Hal", "Ada>Fox Bo>Eva Cem>Hal Dot>Gil"]
    assert last_story("Ada>Eva Bo>Fox Cem>Gil Dot>Hal", "Eva>Ada", players=8) is None
    assert last_story(*rounds, "Eva>Ada", players=8) == (Tale.UPSET, "Eva", "Ada", 4, 0)
    assert [(gap.outcome.winner, gap.places) for gap in teller_of(*rounds, "Eva>Ada", players=8).upsets] == [("Eva", 4)]


def test_climbing_into_the_first_three_and_a_late_first_win() -> None:
    rounds = ["Ada>Eva Bo>Fox Cem>Gil Dot>Hal", "Ada>Fox Bo>Eva Cem>Dot Gil=Hal", "Ada>Bo Cem>Gil Fox=Eva"]
    assert last_story(*rounds, "Dot>Hal", players=8) == (Tale.CLIMBS, "Dot", "Hal", 3, 0)
    drawn = ["Ada=Bo Cem=Dot"] * 3
    assert last_story(*drawn, "Ada=Bo Dot>Cem")[0] == Tale.TAKES_LEAD
    lost = ["Ada>Bo"] * 3
    assert last_story(*lost, "Bo>Cem") == (Tale.FIRST_WIN, "Bo", "Cem", 4, 0)


def test_first_place_becomes_certain_once_by_points_alone() -> None:
    two = ["Ada>Bo Cem=Dot", "Ada>Cem Bo=Dot"]
    assert last_story(*two, "Ada>Dot", matches_each=4) == (Tale.CERTAIN, "Ada", "Dot", 0, 3)
    # The match of two others may make it certain.
    assert last_story(*two, matches_each=3) == (Tale.CERTAIN, "Ada", "", 0, 0)
    assert last_story(*two, "Ada=Dot", matches_each=4) == (Tale.HOLDS_LEADER, "Dot", "Ada", 0, 0)
    decided = teller_of(*two, "Ada>Dot Bo=Cem", matches_each=3)
    assert [story.tale for story in decided.stories].count(Tale.CERTAIN) == 1
    # Equal points may still be ordered by wins: that is not certain.
    assert teller_of("Ada>Bo Cem>Dot", matches_each=1).sure_of_first_place() is None


def test_a_corrected_result_counts_and_is_not_told_as_news() -> None:
    teller = teller_of("Ada>Bo Cem=Dot", "Ada>Cem Bo=Dot")
    teller.tell(outcome(3, "Dot>Ada", seq=9, correction=1))
    assert (teller.stories, teller.rows["Dot"].points) == ([], 5)


def test_cancelled_matches_and_unknown_players_are_not_told() -> None:
    teller = teller_of("Ada>Bo", "Ada?Bo Zed>Ada")
    assert (teller.rows["Ada"].played, teller.stories) == (1, [])


_RESULT = st.tuples(st.sampled_from(PLAYERS), st.sampled_from(">=!?"), st.sampled_from(PLAYERS))


@given(st.lists(_RESULT.filter(lambda one: one[0] != one[2]), max_size=40), st.sampled_from([1, 4]))
def test_places_are_those_of_the_table(results: list[tuple[str, str, str]], per_round: int) -> None:
    teller = Teller(PLAYERS, Scoring(), 99)
    counted: list[Result] = []
    for seq, result in enumerate(results):
        one = outcome(seq // per_round + 1, "".join(result), seq=seq + 1)
        teller.tell(one)
        counted.append(one.result)
    rows = table(dict.fromkeys(PLAYERS, ""), counted, Scoring())
    assert {row.player_id: row.tied_rank for row in rows} == {player: teller.place(player) for player in PLAYERS}
    leaders = [row.player_id for row in rows if row.leads]
    assert teller.leader() == (leaders[0] if len(leaders) == 1 else None)
    assert len({story.seq for story in teller.stories}) == len(teller.stories)


def test_a_lead_is_counted_to_the_next_player_who_could_have_it() -> None:
    even_points = Scoring(win=3, draw=0)
    leads = []
    for scoring, out, results in (
        (Scoring(), {}, "Ada>Bo"),
        (Scoring(), {"Bo": "disqualified"}, "Ada=Bo"),
        (Scoring(), {"Bo": "disqualified"}, "Bo>Ada Ada=Bo"),
        (even_points, {}, "Ada>Bo Bo>Cem Ada=Cem"),
    ):
        teller = Teller(PLAYERS[: 3 if "Cem" in results else 2], scoring, 99, out)
        for result in results.split():
            teller.tell(outcome(1, result))
        leads.append(teller.leads[1])
    assert leads == [
        Lead("Ada", 3, Ahead(3, 1)),
        Lead("Ada", 1, None),
        Lead("Ada", 1, None),
        Lead("Ada", 3, Ahead(0, 0)),
    ]
