"""The agents that are told of a correction, the messages that they get, and the number of queries."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from matches.league import endings, freeze, lifecycle, opening
from matches.league.corrections import queries
from matches.league.corrections.plans import Wish
from matches.models import Broadcast, Delivery, League
from matches.view import sight, summaries
from matches.words.corrections import corrections_of
from matches.words.events import happened
from tests import factories as make
from tests.matches.correcting import (
    UNDO_REASON,
    WHY,
    assigned,
    make_correction,
    play_to_end,
    rows,
    undo,
)
from tests.matches.view.test_readiness_wall import store_check

pytestmark = pytest.mark.django_db


def test_agents_are_told_the_new_table(made: make.MadeLeague) -> None:
    Delivery.objects.all().delete()
    make_correction("disqualify", player_id="P01", matches_become="void")
    broadcast = Broadcast.objects.latest("pk")
    assert (broadcast.message_type, broadcast.round_number) == ("LEAGUE_STANDINGS_UPDATE", 2)
    assert [row["player_id"] for row in broadcast.payload["standings"]][-1] == "P01"
    receivers = broadcast.deliveries.order_by("agent__code").values_list("agent__code", flat=True)
    # Who is taken out is told so, and gets no later table.
    assert (list(receivers), broadcast.payload["out"]) == (["P01", "P02", "P03", "P04"], {"P01": "disqualified"})
    make_correction("points", player_id="P02", points=1)
    assert told() == ["P02", "P03", "P04"]
    undo(2)
    undo(1)
    assert Broadcast.objects.latest("pk").payload["standings"][0]["player_id"] == "P01"
    assert "out" not in Broadcast.objects.latest("pk").payload


def told() -> list[str]:
    """The ids of the players that the newest broadcast goes to."""
    deliveries = Broadcast.objects.latest("pk").deliveries.filter(agent__kind="player")
    return list(deliveries.order_by("agent__code").values_list("agent__code", flat=True))


def ends() -> list[tuple[bool, list[str]]]:
    """Each LEAGUE_COMPLETED so far: whether it corrects an earlier one, and whom it calls champion."""
    payloads = (
        Broadcast.objects.filter(message_type="LEAGUE_COMPLETED").order_by("pk").values_list("payload", flat=True)
    )
    return [(one.get("corrected", False), [row["player_id"] for row in one["champions"]]) for one in payloads]


def test_another_champion_after_the_end_is_told_to_everybody_once(made: make.MadeLeague) -> None:
    play_to_end(made)
    assert ends() == [(False, ["P01"])]
    make_correction("points", player_id="P02", points=1)
    assert ends() == [(False, ["P01"])]
    make_correction("disqualify", player_id="P01", matches_become="lose")
    [row] = summaries.league_rows([made.league])
    champion = rows(made)[0].player_id
    assert row["champion"]["player_id"] == champion != "P01"
    assert ends() == [(False, ["P01"]), (True, [champion])]
    assert told() == ["P01", "P02", "P03", "P04"]
    newest = Broadcast.objects.latest("pk")
    assert newest.payload["out"] == {"P01": "disqualified"}
    # What was not delivered yet is dropped: nobody hears of two champions at once.
    earlier = Delivery.objects.filter(broadcast__message_type="LEAGUE_COMPLETED").exclude(broadcast=newest)
    assert set(earlier.values_list("state", flat=True)) == {"DROPPED"}
    make_correction("points", player_id=champion, points=1)
    assert len(ends()) == 2
    undo(3)
    undo(2)
    assert ends()[2:] == [(True, ["P01"])]


def test_a_champion_that_changes_back_and_forth_is_told_a_few_times(made: make.MadeLeague) -> None:
    play_to_end(made)
    for number in range(1, 9):
        make_correction("points", player_id="P04", points=100)
        undo(number)
    assert len(ends()) == 1 + endings.MAX_CORRECTED_ENDS
    assert Broadcast.objects.latest("pk").message_type == "LEAGUE_STANDINGS_UPDATE"


def test_a_champion_that_changes_by_a_replay_is_told_when_the_match_is_over(made: make.MadeLeague) -> None:
    play_to_end(made)
    last = rows(made)[1].player_id
    make_correction("points", player_id="P01", points=-1)
    count = len(ends())
    make_correction("replay", match_id="R1M1")
    assert len(ends()) == count
    make.report(assigned(made, "R1M1"), "P02")
    assert ends()[-1][1] == [row.player_id for row in rows(made) if row.tied_rank == 1]
    assert last


def test_a_champion_that_changes_by_other_points_is_told(made: make.MadeLeague) -> None:
    play_to_end(made)
    [(_, before)] = ends()
    opening.edit_league(league_id="fall", settings={"win_points": 0, "draw_points": 0, "loss_points": 5})
    champions = [row.player_id for row in rows(made) if row.tied_rank == 1]
    assert (champions != before, ends()[1:]) == (True, [(True, champions)])
    sent = Broadcast.objects.count()
    opening.edit_league(league_id="fall", display_name="Autumn")
    assert Broadcast.objects.count() == sent, "what does not change the table is told to nobody"


def test_a_league_without_a_champion_of_an_earlier_version_gets_one(made: make.MadeLeague) -> None:
    play_to_end(made)
    first = Broadcast.objects.get(message_type="LEAGUE_COMPLETED")
    del first.payload["champions"]
    Broadcast.objects.filter(pk=first.pk).update(payload=first.payload | {"champion": None})
    make_correction("points", player_id="P02", points=100)
    assert Broadcast.objects.latest("pk").payload["champion"]["player_id"] == "P02"


def test_behind_a_freeze_nobody_is_told_and_after_it_everybody_even_who_is_out() -> None:
    made = make.league_before_freeze()
    make.next_round(made)
    make_correction("disqualify", player_id="P01", matches_become="lose")
    assert ends() == []
    play_to_end(made)
    make_correction("points", player_id="P02", points=50)
    sent = Broadcast.objects.count()
    undo(2)
    assert (ends(), Broadcast.objects.count()) == ([], sent)
    freeze.lift(league_id="fall")
    [(corrected, champions)] = ends()
    assert (corrected, champions) == (False, [rows(made)[0].player_id])
    assert told() == ["P01", "P02", "P03", "P04"]


def test_players_left_out_of_the_schedule_are_told_of_no_correction_after_the_end() -> None:
    made = make.league(players=3, require_check=True)
    for member in made.players[:2]:
        store_check(member.agent)
    opening.close_registration(league_id="fall")
    assert list(made.league.left_out) == ["P03"]
    make.next_round(made)
    play_to_end(made)
    make_correction("set_result", match_id="R1M1", status="DRAW")
    assert told() == ["P01", "P02"]


def test_a_freeze_hides_corrections_from_the_public_and_the_agents(client: Any) -> None:
    made = make.league_before_freeze()
    make.next_round(made)
    paths = ("/leagues/fall/", "/leagues/fall/matches/R1M1/", "/api/leagues/fall", "/api/leagues/fall/standings")
    shown = [client.get(path).content for path in paths]
    table, sent = sight.public(made.league).standings, Broadcast.objects.count()
    make_correction("void", match_id="R1M1")
    make_correction("points", player_id="P03", points=9)
    make_correction("withdraw", player_id="P02", matches_become="lose")
    undo(3)
    assert [client.get(path).content for path in paths] == shown
    assert sight.public(made.league).standings == table
    assert corrections_of(sight.public(made.league)) == []
    assert len(corrections_of(sight.everything(made.league))) == 3
    assert Broadcast.objects.count() == sent
    freeze.lift(league_id="fall")
    assert sight.public(made.league).standings == rows(made) != table
    assert [one["number"] for one in corrections_of(sight.public(made.league))] == [3, 2, 1]


def test_a_replay_of_a_frozen_league_is_finished_after_the_freeze() -> None:
    made = make.running_league(players=4)
    freeze.plan(league_id="fall", from_round=2)
    play_to_end(made)
    make_correction("replay", match_id="R1M1")
    freeze.lift(league_id="fall")
    # The players of the replayed match are not shut down yet.
    assert sorted(one.fresh().state for one in made.players) == ["ACTIVE", "ACTIVE", "SHUTDOWN", "SHUTDOWN"]
    make.report(assigned(made, "R1M1"), "P02")
    assert {one.fresh().state for one in made.players} == {"SHUTDOWN"}


# In words ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "changes", "done", "undone"),
    [
        (
            "void",
            {"match_id": "R1M1"},
            "R1M1 P01–P02 was voided by the instructor: wrong game started.",
            "R1M1 P01–P02 is void no more (P01 won), correction #1 was undone: it was the right one.",
        ),
        pytest.param(
            "set_result",
            {"match_id": "R1M1", "status": "TECHNICAL_LOSS", "winner": "P02"},
            "The result of R1M1 P01–P02 was set by the instructor (P02 won (technical)): wrong game started.",
            "The result of R1M1 P01–P02 is as it was, correction #1 was undone: it was the right one.",
            marks=pytest.mark.exhaustive,
        ),
        (
            "replay",
            {"match_id": "R1M1"},
            "R1M1 P01–P02 is played again, as the instructor decided: wrong game started.",
            "R1M1 P01–P02 counts as it did before it was played again, correction #1 was undone: it was the right one.",
        ),
        pytest.param(
            "disqualify",
            {"player_id": "P01", "matches_become": "lose"},
            "P01 was disqualified by the instructor, all its matches are lost: wrong game started.",
            "P01 is in the league again, correction #1 was undone: it was the right one.",
            marks=pytest.mark.exhaustive,
        ),
        (
            "points",
            {"player_id": "P01", "points": -1},
            "P01 had 1 point taken by the instructor: wrong game started.",
            "The points of P01 are as they were, correction #1 was undone: it was the right one.",
        ),
    ],
)
def test_corrections_and_their_undoing_are_told_in_sentences(
    made: make.MadeLeague, kind: str, changes: dict[str, Any], done: str, undone: str
) -> None:
    make_correction(kind, **changes)
    undo(1)
    events = made.league.events.filter(kind__in=("corrected", "correction_undone")).order_by("seq")
    assert [happened(one.kind, one.data) for one in events] == [done, undone]
    [line] = corrections_of(sight.everything(made.league))
    assert (line["sentence"], line["undone"], line["undone_reason"]) == (done, True, UNDO_REASON)


def test_corrections_are_listed_by_match_and_by_player(made: make.MadeLeague) -> None:
    make_correction("void", match_id="R1M1")
    make_correction("points", player_id="P02", points=1)
    view = sight.everything(made.league)
    assert [one["number"] for one in corrections_of(view, match_id="R1M1")] == [1]
    assert [one["number"] for one in corrections_of(view, player_id="P01")] == [1]
    assert [one["number"] for one in corrections_of(view, player_id="P02")] == [2, 1]


def test_a_hostile_reason_is_escaped(client: Any, made: make.MadeLeague) -> None:
    reason = "<script>alert(1)</script> %(player)s %s {0}"
    make_correction("void", match_id="R1M1", reason=reason)
    page = client.get("/leagues/fall/").content.decode()
    assert "<script>alert(1)" not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt; %(player)s %s {0}." in page


def test_a_preview_warns_of_what_the_correction_would_cause(made: make.MadeLeague) -> None:
    def warnings(kind: str, **changes: Any) -> str:
        plan = queries.plan_for(made.league, Wish(kind, WHY, **changes))
        return " ".join(queries.preview(made.league, plan).warnings)

    assert "Round 2 is still on" in warnings("void", match_id="R1M1")
    assert "1 match to come is lost without a call" in warnings("withdraw", player_id="P01", matches_become="keep")
    assert "1 match to come is cancelled" in warnings("withdraw", player_id="P01", matches_become="void")
    assert "does not count: R1M1" in warnings("replay", match_id="R1M1")
    play_to_end(made)
    last = rows(made)[-1].player_id
    assert f"{last} would be champion instead of" in warnings("points", player_id=last, points=500)


def count_queries(work: Callable[[], Any]) -> int:
    with CaptureQueriesContext(connection) as seen:
        work()
    return len(seen)


def test_a_preview_makes_as_many_queries_for_many_matches_as_for_few() -> None:
    query_counts = []
    for players in (4, 10):
        league_id = f"of{players}"
        made = make.league(league_id, players=players)
        lifecycle.start_league(league_id=league_id)
        make.open_round(league_id)
        make.finish_round(made)
        wish = Wish("withdraw", WHY, player_id="P01", matches_become="lose")

        def shown(league: League = made.league, wish: Wish = wish) -> None:
            queries.preview(league, queries.plan_for(league, wish))

        query_counts.append(count_queries(shown))
        League.objects.update(state="STOPPED")
    assert query_counts[0] == query_counts[1]
