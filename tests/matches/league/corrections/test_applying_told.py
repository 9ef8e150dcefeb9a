"""The agents that are told of a correction, the messages that they get, and the number of queries."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from matches.league import freeze, lifecycle, opening
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
    assert list(receivers) == ["P02", "P03", "P04"]
    undo(1)
    assert Broadcast.objects.latest("pk").payload["standings"][0]["player_id"] == "P01"


def test_after_the_end_all_players_are_told_except_those_that_are_out(made: make.MadeLeague) -> None:
    play_to_end(made)
    make_correction("disqualify", player_id="P01", matches_become="lose")
    broadcast = Broadcast.objects.latest("pk")
    receivers = broadcast.deliveries.order_by("agent__code").values_list("agent__code", flat=True)
    assert (broadcast.message_type, list(receivers)) == ("LEAGUE_STANDINGS_UPDATE", ["P02", "P03", "P04"])
    [row] = summaries.league_rows([made.league])
    assert row["champion"]["player_id"] == rows(made)[0].player_id


def test_players_left_out_of_the_schedule_are_told_of_no_correction_after_the_end() -> None:
    made = make.league(players=3, require_check=True)
    for member in made.players[:2]:
        store_check(member.agent)
    opening.close_registration(league_id="fall")
    assert list(made.league.left_out) == ["P03"]
    make.next_round(made)
    play_to_end(made)
    make_correction("set_result", match_id="R1M1", status="DRAW")
    receivers = Broadcast.objects.latest("pk").deliveries.order_by("agent__code").values_list("agent__code", flat=True)
    assert list(receivers) == ["P01", "P02"]


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
