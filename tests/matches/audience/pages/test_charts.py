"""The contents of board and charts: ranks and points by round, cross table, answer times, decisions."""

from __future__ import annotations

from typing import Any

import pytest
from django.utils import timezone

from matches.audience import pages
from matches.audience.pages import PageKey, charts, times
from matches.audience.pages.parts import Deadline
from matches.league import freeze, lifecycle
from matches.league.corrections import applying
from matches.models import Broadcast, Delivery, League, Message
from matches.view import rank_history, sight, telling
from tests import factories as make
from tests.matches.correcting import make_correction

pytestmark = pytest.mark.django_db


def two_rounds(**how: Any) -> make.MadeLeague:
    """P01 to P04; of both rounds the first player of each match wins."""
    made = make.running_league(players=4, **how)
    make.finish_round(made)
    make.next_round(made)
    make.finish_round(made)
    return made


def public(league_id: str = "fall") -> sight.View:
    return sight.public(League.objects.get(pk=league_id))


def board(league_id: str = "fall", *, staff: bool = False) -> dict[str, Any]:
    context = pages.context_of(PageKey("board", league_id, staff=staff))
    assert context is not None
    return context


def test_the_last_column_of_the_charts_equals_the_table() -> None:
    two_rounds()
    view = public()
    shown_ranks = rank_history.rank_history(view)
    assert shown_ranks.rounds == [1, 2]
    assert {code: ranks[-1] for code, ranks in shown_ranks.ranks.items()} == {
        row.player_id: row.tied_rank for row in view.standings
    }
    assert {code: points[-1] for code, points in shown_ranks.points.items()} == {
        row.player_id: row.points for row in view.standings
    }
    after_round_1 = {code: (ranks[0], shown_ranks.points[code][0]) for code, ranks in shown_ranks.ranks.items()}
    assert after_round_1 == {"P01": (1, 3), "P02": (3, 0), "P03": (1, 3), "P04": (3, 0)}


def test_points_of_a_correction_count_from_the_round_in_which_it_was_made() -> None:
    made = make.running_league(players=4)
    make.finish_round(made, None)
    make_correction("points", player_id="P02", points=-2, reason="too many calls", by="x")
    make.next_round(made)
    make.finish_round(made, None)
    make_correction("points", player_id="P03", points=5, reason="helped the others", by="x")
    undone = make_correction("points", player_id="P04", points=7, reason="a mistake", by="x")
    applying.undo(league_id="fall", number=undone.number, reason="was a mistake", by="x")
    shown_ranks = rank_history.rank_history(public())
    assert shown_ranks.points == {"P01": [1, 2], "P02": [-1, 0], "P03": [1, 7], "P04": [1, 2]}
    assert shown_ranks.ranks == {"P01": [1, 2], "P02": [4, 4], "P03": [1, 1], "P04": [1, 2]}


@pytest.mark.parametrize("made_in", ["the round over", "the round begun", "the round played", "the end"])
def test_arrows_charts_and_stories_say_the_same_of_points_that_were_corrected(made_in: str) -> None:
    made = make.running_league(players=4)
    make.finish_round(made)
    make.next_round(made)
    make.finish_round(made)

    def correct() -> None:
        make_correction("points", player_id="P04", points=20, reason="helped the others", by="x")

    if made_in == "the round over":
        correct()
    make.next_round(made)
    if made_in == "the round begun":
        correct()
        agree(made)
    make.finish_round(made)
    if made_in in ("the round played", "the end"):
        correct()
    agree(made)


def agree(made: make.MadeLeague) -> None:
    """Check that the board's arrows are the last step of the chart of ranks, and its leader that of the stories."""
    view = public(made.league_id)
    shown, arrows = rank_history.rank_history(view), rank_history.places_gained(view)
    last = {code: ranks[-1] for code, ranks in shown.ranks.items()}
    assert last == {row.player_id: row.tied_rank for row in view.standings}
    assert arrows == {code: ranks[-2] - ranks[-1] for code, ranks in shown.ranks.items()}
    leads = telling.tell_all(view).leads
    for at, number in enumerate(shown.rounds):
        first = [code for code, ranks in shown.ranks.items() if ranks[at] == 1]
        if number in leads:
            assert [leads[number].player_id] == first


def test_a_chart_of_many_rounds_skips_columns_evenly() -> None:
    made = two_rounds()
    make.next_round(made)
    make.finish_round(made)
    whole, some = rank_history.rank_history(public()), rank_history.rank_history(public(), max_columns=2)
    assert (whole.rounds, some.rounds) == ([1, 2, 3], [1, 3])
    assert some.points == {code: points[::2] for code, points in whole.points.items()}


def test_the_charts_of_a_league_without_results_are_none() -> None:
    make.league()
    view = public()
    shown_ranks = rank_history.rank_history(view)
    assert [charts.ranks(view, shown_ranks), charts.race(view, shown_ranks), charts.cross(view)] == [None] * 3
    assert times.of_league(view) == []


def test_chart_lines_follow_the_table_and_are_limited() -> None:
    two_rounds()
    view = public()
    race = charts.race(view, rank_history.rank_history(view), max_lines=3)
    assert race is not None
    assert [row.player_id for row in race.rows] == [row.player_id for row in view.standings][:3]
    assert (race.rounds, race.left_out) == ([1, 2], 1)


def letters_of(cross_table: charts.Cross) -> dict[str, str]:
    """One letter for each cell, by the row's player: x for the player itself, - for no match."""
    return {
        row.player.player_id: "".join(
            "x" if cell is None else "".join(one.letter for one in cell) or "-" for cell in row.cells
        )
        for row in cross_table.rows
    }


def test_a_cell_of_the_cross_table_is_the_result_for_the_rows_player() -> None:
    made = make.running_league(players=4)
    first, second = made.match("R1M1"), made.match("R1M2")
    make.report(first, first.player_a.code)
    make.report(second, **{"winner": None} | make.no_answer_from(second, second.player_a.code, second.player_b.code))
    cross_table = charts.cross(public())
    assert cross_table is not None
    signs = letters_of(cross_table)
    order = list(signs)
    pairs = {(row, other): sign for row, line in signs.items() for other, sign in zip(order, line, strict=True)}
    a, b = first.player_a.code, first.player_b.code
    c, d = second.player_a.code, second.player_b.code
    assert order == ["P01", "P02", "P03", "P04"]
    assert (pairs[a, b], pairs[b, a], pairs[c, d], pairs[d, c]) == ("W", "L", "T", "T")
    assert sorted("".join(signs.values())) == sorted("xxxx" + "-" * 8 + "WLTT")


def test_the_cross_table_of_a_finished_league_is_ordered_by_rank() -> None:
    made = two_rounds()
    make.next_round(made)
    make.finish_round(made, 1)
    view = public()
    cross_table = charts.cross(view)
    assert cross_table is not None and view.moment.state == "COMPLETED"
    assert [row.player.player_id for row in cross_table.rows] == [row.player_id for row in view.standings]


def test_there_is_no_cross_table_for_too_many_players() -> None:
    two_rounds()
    assert charts.cross(public(), max_players=3) == charts.Cross([], too_many=3)


def record_answers(made: make.MadeLeague, match_id: str, *entries: dict[str, Any], attempt: int = 1) -> None:
    """Add entries to the transcript of a match."""
    match = made.match(match_id)
    stored = Message.objects.filter(match=match).count()
    Message.objects.bulk_create(
        Message(match=match, attempt=attempt, n=stored + n, entry=make.entry(n) | entry)
        for n, entry in enumerate(entries)
    )


def answer(player_id: str, elapsed: Any, limit: Any = 5000, **changes: Any) -> dict[str, Any]:
    return {
        "sender": player_id,
        "message_type": "CHOOSE_PARITY_RESPONSE",
        "elapsed_ms": elapsed,
        "limit_ms": limit,
    } | changes


def test_answer_times_count_only_valid_answers_of_matches_with_a_result() -> None:
    made = make.running_league(players=4)
    first, second = made.match("R1M1"), made.match("R1M2")
    a, b = first.player_a.code, first.player_b.code
    make.report(first, a)
    record_answers(
        made,
        "R1M1",
        answer(a, 10),
        answer(f"player:{a}", 30),
        answer(a, 80),
        answer(a, 1, problem="refused"),
        answer(a, 3, message_type="GAME_INVITATION"),
        answer(a, 4, message_type="GAME_JOIN_ACK"),
        answer(b, 5000),
        answer(b, "soon"),
        answer(b, True),
        answer(b, -4),
        answer("P99", 4),
        answer(["P01"], 4),
    )
    record_answers(made, "R1M1", answer(b, 7), attempt=2)
    record_answers(made, "R1M2", answer(second.player_a.code, 7))
    rows = {
        lane.name: [(row.name, row.median, row.slowest, len(row.answers), row.late) for row in lane.rows]
        for lane in times.of_league(public())
    }
    # An invitation is only acknowledged, a choice is thought about: one median of both would describe neither.
    assert rows == {"join": [(a, "4 ms", "4 ms", 1, 0)], "choice": [(a, "30 ms", "80 ms", 3, 0), (b, "", "", 1, 1)]}


def test_charts_of_a_frozen_board_do_not_change() -> None:
    made = make.running_league(players=4)
    make.finish_round(made)
    record_answers(made, "R1M1", answer("P01", 10), answer("P04", 20))
    freeze.plan(league_id="fall", from_round=2)
    lifecycle.start_round(league_id="fall")
    before = pages.fragments(PageKey("charts", "fall"), "en"), pages.fragments(PageKey("board", "fall"), "en")
    make.open_round("fall")
    make.finish_round(made, 1)
    record_answers(made, "R2M1", answer("P01", 1000))
    record_answers(made, "R1M1", answer("P01", 1000), attempt=2)
    make_correction("points", player_id="P02", points=9, reason="hidden for now", by="x")
    League.objects.update(starts_at=timezone.now())
    after = pages.fragments(PageKey("charts", "fall"), "en"), pages.fragments(PageKey("board", "fall"), "en")
    assert after == before
    seen = board(staff=True)
    assert (seen["league"].as_staff, seen["ranks"].rounds) == ("?as=staff", [1, 2])


# The board --------------------------------------------------------------------------------------


def test_decisions_of_the_instructor_are_shown_with_their_reason() -> None:
    made = make.running_league(players=4)
    make.finish_round(made)
    make_correction("points", player_id="P02", points=-2, reason="too many calls", by="x")
    make_correction("set_result", match_id="R1M1", status="DRAW", winner=None, reason="the draw was wrong", by="x")
    make_correction("disqualify", player_id="P03", matches_become="keep", reason="plays under two names", by="x")
    context = board()
    lines = {line.row.player_id: line for line in context["standings"]}
    assert (lines["P02"].given, lines["P02"].why) == ("−2", "too many calls")
    last = lines["P03"]
    assert (last.row.out, last.row.rank, last.why) == ("disqualified", 4, "plays under two names")
    assert [(one.player_id, one.points, one.out) for one in context["decisions"]] == [
        ("P02", "−2", None),
        ("P03", "", "disqualified"),
    ]
    corrected = {"R1M1": "the draw was wrong", "R1M2": ""}
    assert {line.match_id: line.corrected for line in context["results"]} == corrected
    assert {match.match_id: match.result.corrected for match in context["matches"]} == corrected


def test_a_running_match_shows_for_whom_it_waits_and_the_deadline() -> None:
    made = make.running_league(players=4)
    match = made.match("R1M1")
    a, b = match.player_a.code, match.player_b.code

    def shown() -> tuple[str, Any]:
        one = next(one for one in board()["matches"] if one.match_id == "R1M1")
        return one.progress, one.deadline and one.deadline._replace(since=one.deadline.since[:4])

    def deadline(first: str, limit: str) -> Deadline:
        return Deadline(str(timezone.now().year), first, limit, 4)

    assert shown() == ("handed to a referee", None)
    make.progress(match, state="WAITING_FOR_PLAYERS")
    assert shown() == ("waiting for players", deadline("5", "27"))
    make.progress(made.match("R1M1"), state="WAITING_FOR_PLAYERS", joined=[a])
    assert shown() == (f"waiting for {b}", deadline("5", "27"))
    make.progress(made.match("R1M1"), state="COLLECTING_CHOICES", joined=[a, b])
    assert shown() == ("collecting choices", deadline("30", "127"))
    make.progress(made.match("R1M1"), state="COLLECTING_CHOICES", joined=[a, b], locked_in=[b])
    assert shown() == (f"{b} has locked in", deadline("30", "127"))
    make.progress(made.match("R1M1"), state="COLLECTING_CHOICES", joined=[a, b], locked_in=[a, b])
    assert shown() == ("both have locked in", deadline("30", "127"))


def test_a_player_that_misses_an_older_broadcast_is_behind() -> None:
    make.running_league(players=4)
    news = Broadcast.objects.create(
        league_id="fall", message_type="LEAGUE_STANDINGS_UPDATE", payload={}, created_at=timezone.now()
    )
    waiting = Delivery.objects.filter(agent__code="P02")
    Delivery.objects.exclude(pk__in=waiting).update(state="SETTLED")
    assert waiting.filter(state="PENDING").exists()
    behind = {line.row.player_id: line.behind for line in board()["standings"]}
    assert behind == dict.fromkeys(["P01", "P02", "P03", "P04"], False)
    Delivery.objects.create(broadcast=news, agent=Delivery.objects.filter(agent__code="P01")[0].agent, state="SETTLED")
    behind = {line.row.player_id: line.behind for line in board()["standings"]}
    assert behind == {"P01": False, "P02": True, "P03": False, "P04": False}


def test_sparklines_share_one_scale() -> None:
    two_rounds()
    context = board()
    assert context["columns"].spark_box == "0 -6 3 6"
    lines = {line.row.player_id: line.spark for line in context["standings"]}
    points = rank_history.rank_history(public()).points
    assert lines == {code: f"0,0 1,{-one} 2,{-two}" for code, (one, two) in points.items()}


def test_final_places_are_marked_while_the_board_is_being_unveiled() -> None:
    made = make.running_league(players=4)
    make.finish_round(made)
    freeze.plan(league_id="fall", from_round=2)
    for _round in (2, 3):
        make.next_round(made)
        make.finish_round(made, 1)
    freeze.unveil(league_id="fall")
    rows = board()["standings"]
    assert [row.unveiled for row in rows] == [False, False, False, True]
    assert [row.delta for row in rows] == [0, 0, 0, 0]
    assert [bool(row.spark) for row in rows] == [True, True, True, False]
