"""Who is champion, as every place says it (ruling, section 14): nobody, if no match that counts was won or drawn."""

from __future__ import annotations

import io
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from matches.league import results
from matches.league.corrections import applying
from matches.models import Broadcast, Event, League
from matches.papers import evidence
from matches.papers.tables import write
from matches.view import sight, summaries
from tests import factories as make
from tests.matches.correcting import make_correction

pytestmark = pytest.mark.django_db
SENTENCE = "There is no champion: no match that counts was won or drawn."


def played_out(*, count: int = 4, decide: str = "void") -> make.MadeLeague:
    """A league that is over: its matches were all cancelled (``void``), or nobody came to any (``absent``)."""
    made = make.league(players=count)
    for _round in range(count - 1):
        make.next_round(made)
        for match_id, state in made.states().items():
            if state != "ASSIGNED":
                continue
            match = made.match(match_id)
            if decide == "void":
                results.cancel(league_id="fall", match_id=match_id, why="the room was on fire")
            else:
                make.report(match, None, **make.no_answer_from(match, match.player_a.code, match.player_b.code))
    return made


def completed_message() -> dict[str, Any]:
    return Broadcast.objects.filter(message_type="LEAGUE_COMPLETED").order_by("-pk")[0].payload


def table(name: str) -> list[str]:
    out = io.BytesIO()
    write(name, League.objects.get(pk="fall"), out, people=True)
    return out.getvalue().decode("utf-8-sig").splitlines()


@pytest.mark.parametrize("decide", ["void", "absent"])
def test_a_league_in_which_nothing_was_won_or_drawn_has_no_champion_anywhere(decide: str) -> None:
    made = played_out(decide=decide)
    league = made.league
    assert league.state == "COMPLETED"
    message = completed_message()
    assert (message["champion"], message["champions"]) == (None, [])
    assert [row["tied_rank"] for row in message["final_standings"]] == [1, 1, 1, 1]
    event = Event.objects.get(kind="league_completed")
    assert (event.data["champion"], event.data["champions"]) == (None, [])
    for summary in (summaries.summary(sight.public(league)), summaries.summaries([league])["fall"]):
        assert (summary.champion, list(summary.champions)) == (None, [])
    client = Client()
    row = client.get("/api/leagues/fall").json()
    assert (row["champion"], row["champions"]) == (None, [])
    for page in ("/leagues/fall/", "/leagues/fall/screen/", "/leagues/fall/story/"):
        text = client.get(page).content.decode()
        assert SENTENCE in text, page
        assert "Champions" not in text, page
        assert 'class="podium"' not in text, page
    for sheet in evidence.sheets(league):
        assert evidence.line(sheet)[evidence.COLUMNS.index("rank")] is None


def test_points_that_a_correction_gave_make_no_champion_where_nothing_was_played() -> None:
    made = played_out()
    make_correction("points", player_id="P03", points=5, reason="helped the others", by="x")
    summary = summaries.summary(sight.public(made.league))
    assert (summary.champion, list(summary.champions)) == (None, [])


def test_a_correction_that_voids_everything_leaves_no_champion_in_the_list_of_leagues() -> None:
    made = make.league(players=2)
    make.next_round(made)
    make.finish_round(made)
    assert [one["player_id"] for one in summaries.summaries([made.league])["fall"].champions] == ["P01"]
    correction = make_correction("void", match_id="R1M1", reason="the room was on fire", by="x")
    assert list(summaries.summaries([made.league])["fall"].champions) == []
    applying.undo(league_id="fall", number=correction.number, reason="it was not", by="x")
    assert [one["player_id"] for one in summaries.summaries([made.league])["fall"].champions] == ["P01"]


def test_whoever_is_disqualified_is_no_champion() -> None:
    made = make.league(players=2)
    make.next_round(made)
    make.finish_round(made)
    for code in ("P01", "P02"):
        make_correction("disqualify", player_id=code, matches_become="keep", reason="a trick", by="x")
    assert list(summaries.summary(sight.public(made.league)).champions) == []


def test_a_champion_without_points_is_a_champion_where_a_win_gives_none() -> None:
    made = make.league(players=2, win_points=0, loss_points=-1)
    make.next_round(made)
    make.finish_round(made)
    assert [one["player_id"] for one in completed_message()["champions"]] == ["P01"]
    assert "Champion" in Client().get("/leagues/fall/").content.decode()


def test_tied_players_share_their_place_in_the_table_of_evidence() -> None:
    made = make.league(players=4)
    make.next_round(made)
    make.finish_round(made, None)
    header, *lines = table("evidence")
    places = [line.split(",")[header.split(",").index("rank")] for line in lines]
    assert places == ["1", "1", "1", "1"]


def test_the_evidence_sheet_says_that_there_is_no_place() -> None:
    played_out()
    client = Client()
    client.force_login(User.objects.create_superuser("root"))
    text = client.get("/admin/matches/league/fall/papers/evidence/").content.decode()
    assert "none, as no match that counts was won or drawn" in text
