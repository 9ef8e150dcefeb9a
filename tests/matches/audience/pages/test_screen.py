"""The projector: its scenes in each phase, what it must not show, its queries."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client, override_settings
from django.utils import timezone

from agents_registry.models import Agent, RosterEntry
from matches.audience import pages
from matches.audience.pages import PageKey, screen
from matches.audience.pages.screen import sheets
from matches.league import freeze, lifecycle, opening, screens
from matches.models import League, Match, Notice
from matches.view import sight
from tests import factories as make
from tests.matches.audience.hostile import HOSTILE
from tests.matches.audience.query_counts import assert_same_query_count
from tests.matches.audience.tags import Tags
from tests.matches.audience.test_pages import many_players
from tests.matches.correcting import make_correction
from tests.matches.reports import clause
from tests.matches.view.test_readiness_wall import add_student, league_with_wall, store_check

pytestmark = pytest.mark.django_db


PATH = "/leagues/fall/screen/"
KEY = PageKey("screen", "fall")
STAFF = PageKey("screen", "fall", staff=True)


def shown(key: PageKey = KEY) -> dict[str, Any]:
    """The screen's context."""
    context = pages.context_of(key)
    assert context is not None
    return context


def scenes(key: PageKey = KEY) -> list[str]:
    """The scenes that the screen shows in turn, in order."""
    fragments = pages.fragments(key, "en")
    assert fragments is not None
    return re.findall(r'data-scene="([\w-]+)"', "".join(fragments.values()))


def public_text(client: Client) -> str:
    """All that the public gets: page and frames."""
    frames = pages.fragments(KEY, "en")
    assert frames is not None
    return client.get(PATH).content.decode() + "".join(frames.values())


# Scenes -----------------------------------------------------------------------------------------


def test_the_projector_shows_the_right_scenes_in_each_phase_of_a_league() -> None:
    made = make.league(players=4)
    seen = [scenes()]
    opening.close_registration(league_id="fall")
    seen.append(scenes())
    lifecycle.start_round(league_id="fall")
    make.open_round("fall")
    seen.append(scenes())
    make.finish_round(made)
    seen.append(scenes())
    for _ in range(2):
        make.next_round(made)
        make.finish_round(made)
    seen.append(scenes())
    shown_scenes = [[name for name in names if name != "ranks"] for names in seen]
    assert shown_scenes == [
        ["wall-1"],
        ["wall-1"],
        ["standings-1", "drawings", "news"],
        # Between two rounds there is nothing to watch but the table and what happened.
        ["standings-1", "news"],
        ["champion", "podium", "path-1", "figures", "standings-1"],
    ]


def test_a_stopped_league_keeps_its_table() -> None:
    made = make.running_league(players=4)
    make.finish_round(made)
    lifecycle.stop(league_id="fall")
    assert (shown()["mode"], "standings-1" in scenes()) == ("play", True)


def test_an_empty_league_shows_where_to_register(client: Client) -> None:
    make.open_league("fall")
    text = client.get(PATH).content.decode()
    assert "Nobody has registered yet." in text
    assert 'class="qr"' in text


@pytest.mark.parametrize(
    ("players", "columns"),
    [
        (2, [[2]]),
        (15, [[15]]),
        (16, [[8, 8]]),
        (30, [[15, 15]]),
        (31, [[8, 8], [8, 7]]),
        (100, [[13, 12]] * 4),
    ],
)
def test_the_table_is_split_so_that_it_can_be_read(players: int, columns: list[list[int]]) -> None:
    many_playing(players)
    standings = shown(PageKey("screen", "board"))["standings"]
    assert [[len(rows) for rows in sheet.columns] for sheet in standings] == columns
    ranks = [line.row.rank for sheet in standings for rows in sheet.columns for line in rows]
    assert ranks == list(range(1, players + 1))


def test_sheets_are_filled_evenly() -> None:
    assert sheets([], 5) == []
    assert [len(one) for one in sheets(range(11), 5)] == [4, 4, 3]


def test_matches_in_play_come_first_and_show_no_choice(client: Client) -> None:
    made = make.running_league(players=4)
    make.report(made.match("R1M1"), made.match("R1M1").player_a.code)
    second = made.match("R1M2")
    a, b = second.player_a.code, second.player_b.code
    make.progress(second, state="COLLECTING_CHOICES", joined=[a, b], locked_in=[a], view={"choices": {a: "odd"}})
    context = shown()
    assert ([match.match_id for match in context["drawings"]], context["match_sheets"]) == (["R1M2", "R1M1"], [])
    drawn = re.findall(r'id="drawing-R1M2".*?</li>', public_text(client), re.S)[0]
    assert ("has locked in" in drawn, re.findall(r"\b(?:even|odd)\b", drawn)) == (True, [])


def test_a_large_round_has_16_drawings_and_lists_its_other_matches_in_words() -> None:
    many_playing(60)
    context = shown(PageKey("screen", "board"))
    assert (len(context["drawings"]), [len(sheet) for sheet in context["match_sheets"]]) == (16, [14])
    drawn = {match.match_id for match in context["drawings"]}
    in_sheets = {match.match_id for sheet in context["match_sheets"] for match in sheet}
    assert (len(drawn | in_sheets), drawn & in_sheets) == (30, set())
    # All 15 matches in play have a drawing; the last drawing is of a match that is over.
    assert [match.result is None for match in context["drawings"]] == [True] * 15 + [False]


def test_drawings_keep_their_order_when_a_match_has_more_moves() -> None:
    many_playing(60)
    key = PageKey("screen", "board")
    before = [match.match_id for match in shown(key)["drawings"]]
    Match.objects.filter(match_id=before[3]).update(moves=[["P01", 1]] * 30)
    assert [match.match_id for match in shown(key)["drawings"]] == before


def test_the_instructor_makes_a_match_large() -> None:
    many_playing(60)
    key = PageKey("screen", "board")
    others = [match.match_id for sheet in shown(key)["match_sheets"] for match in sheet]
    screens.feature(league_id="board", match_id=others[-1])
    assert shown(key)["drawings"][0].match_id == others[-1]
    screens.automatic(league_id="board")
    assert len(shown(key)["drawings"]) == 16


def test_screens_follow_the_remote_control_also_while_the_board_is_frozen() -> None:
    make.league_before_freeze()
    screens.turn(league_id="fall", scenes=-2)
    screens.hold(league_id="fall")
    fragments = pages.fragments(KEY, "en")
    assert fragments is not None
    assert re.findall(r'data-turned="(.+?)" data-held-there', fragments["screen_remote"]) == ["-2"]


def test_the_projectors_chart_shows_only_finished_rounds() -> None:
    made = make.running_league(players=4)
    make.finish_round(made)
    assert shown()["ranks"] is None
    make.next_round(made)
    make.finish_round(made)
    chart = shown()["ranks"]
    assert (chart.rounds, [row.values[-1] for row in chart.rows]) == ([1, 2], [1, 2, 2, 4])
    make.next_round(made)
    match = made.match("R3M1")
    make.report(match, match.player_b.code)
    # A result of the round being played does not change the chart; a correction does.
    assert shown()["ranks"] == chart
    leader = chart.rows[0].player_id
    make_correction("disqualify", player_id=leader, reason="Two agents", by="x", matches_become="keep")
    assert shown()["ranks"].rows[-1].player_id == leader
    assert screen.ranks(sight.public(made.league), max_players=3) is None


def test_the_projector_shows_the_latest_notice_to_everybody(client: Client) -> None:
    make.league(players=2)
    now = timezone.now()
    for text, withdrawn_at in (("Old", None), (f"We begin at six {HOSTILE}", None), ("Taken down", now)):
        Notice.objects.create(
            league_id="fall", text=text, made_by="Dr. Real Name", made_at=now, withdrawn_at=withdrawn_at
        )
    agent = Agent.objects.get(code="P01")
    Notice.objects.create(league_id="fall", agent=agent, text="For you alone", made_by="x", made_at=now)
    text = client.get(PATH).content.decode()
    [notice] = re.findall(r'<p dir="auto">([^<]*)', text)
    assert notice.startswith("We begin at six &lt;script&gt;")
    assert [secret for secret in ("For you alone", "Taken down", "Dr. Real Name") if secret in text] == []


# The readiness wall -----------------------------------------------------------------------------


def league_with_roster() -> make.MadeLeague:
    """Two agents, one of them a student's, and two students without an agent."""
    made = make.league(players=2)
    store_check(made.players[0].agent, passed=False, clauses=(clause("http.reached", "fails", came=None),))
    add_student(made.players[0].agent, "DanaReal")
    add_student(None, "NoamReal")
    add_student(None, "TalReal")
    return made


@override_settings(LEAGUE_PUBLIC_URL="http://192.168.7.7:8000")
def test_the_wall_says_where_to_register_and_who_is_missing(client: Client) -> None:
    league_with_roster()
    wall = shown()["wall"]
    assert (wall.total, wall.able, wall.missing) == (4, 0, 2)
    assert wall.counts == [
        ("not_registered", 2),
        ("unreachable", 1),
        ("not_checked", 1),
    ]
    text = client.get(PATH).content.decode()
    assert '<p class="join-url" dir="ltr">192.168.7.7:8000/leagues/fall/join/</p>' in text
    assert 'aria-label="The address to register: http://192.168.7.7:8000/leagues/fall/join/"' in text
    assert "2 students have not registered yet" in text
    assert text.count('class="tile"') == 4


def test_only_the_staffs_wall_shows_names_of_students(client: Client) -> None:
    made = league_with_roster()
    text = public_text(client)
    private = [f"{name}Real" for name in ("Dana", "Noam", "Tal")] + [
        "@school.example",
        *RosterEntry.objects.values_list("code", flat=True),
        made.players[0].agent.endpoint,
        "8101",
        *Agent.objects.values_list("endpoint_key", flat=True),
        made.players[0].token,
    ]
    assert [secret for secret in private if secret in text] == []
    assert client.get(f"{PATH}?as=staff").status_code == 403
    client.force_login(User.objects.create_superuser("instructor", password="x" * 12))
    staff = client.get(f"{PATH}?as=staff").content.decode()
    assert [name for name in ("DanaReal", "NoamReal", "TalReal") if name not in staff] == []
    assert [secret for secret in private[3:] if secret in staff] == []


def test_more_than_100_tiles_are_split_into_two_sheets() -> None:
    league_with_wall(100)
    wall = shown(PageKey("screen", "wall"))["wall"]
    assert [len(sheet) for sheet in wall.sheets] == [75, 75]
    RosterEntry.objects.filter(agents=None).delete()
    wall = shown(PageKey("screen", "wall"))["wall"]
    assert ([len(sheet) for sheet in wall.sheets], wall.size) == ([100], 100)


# Freeze and end ---------------------------------------------------------------------------------


def frozen_and_over() -> make.MadeLeague:
    """Four players, frozen after round 1, played to the end."""
    made = make.league_before_freeze()
    for _ in range(2):
        make.next_round(made)
        make.finish_round(made, 1)
    return made


def test_a_frozen_projector_does_not_change() -> None:
    made = make.league_before_freeze()
    lifecycle.start_league(league_id="fall")
    before = pages.fragments(KEY, "en")
    make.open_round("fall")
    make.finish_round(made, 1)
    make.next_round(made)
    make.finish_round(made, 1)
    assert made.league.state == "COMPLETED"
    assert pages.fragments(KEY, "en") == before
    assert shown(STAFF)["mode"] == "finale"


def test_a_league_frozen_from_round_1_shows_no_readiness_wall() -> None:
    made = make.league(players=4)
    freeze.plan(league_id="fall", from_round=1)
    lifecycle.start_league(league_id="fall")
    before = pages.fragments(KEY, "en")
    store_check(made.players[0].agent)
    make.open_round("fall")
    make.finish_round(made)
    assert (shown()["mode"], pages.fragments(KEY, "en") == before) == ("play", True)


def test_the_reveal_goes_from_the_last_place_up_to_the_champion() -> None:
    frozen_and_over()
    final = [line.row.player_id for sheet in shown(STAFF)["standings"] for line in sheet.columns[0]]
    shown_places = []
    for _ in range(3):
        freeze.unveil(league_id="fall")
        reveal = shown()["reveal"]
        rows = [(line.row.player_id, line.place) for line in reveal.rows]
        shown_places.append([place for _, place in rows])
        newest = next(player_id for player_id, place in rows if place == "newest")
        assert (scenes(), newest) == (["reveal"], final[reveal.veiled])
        assert [player_id for player_id, place in rows if place == "known"] == final[reveal.veiled + 1 :]
    assert shown_places == [
        ["veiled", "veiled", "veiled", "newest"],
        ["veiled", "veiled", "newest", "known"],
        ["veiled", "newest", "known", "known"],
    ]
    freeze.unveil(league_id="fall")
    assert shown()["mode"] == "finale"
    assert [row.player_id for row in (*shown()["champions"], *shown()["podium"])] == final[:3]


def test_all_who_share_the_first_place_are_champions(client: Client) -> None:
    made = make.running_league(players=4)
    make.finish_round(made, None)
    for _ in range(2):
        make.next_round(made)
        make.finish_round(made, None)
    context = shown()
    assert [row.player_id for row in context["champions"]] == ["P01", "P02", "P03", "P04"]
    assert context["podium"] == []
    page = client.get("/leagues/fall/").content.decode()
    assert re.findall(r'champion-word">\s*(\w+)', page) == ["Champions"]
    assert len(re.findall(r"<bdi[^>]*>=1</bdi>", page)) == 4
    assert "The league is over. Champions: Player 1, Player 2, Player 3, Player 4." in page


def test_nobody_is_champion_of_a_table_of_zeros(client: Client) -> None:
    made = make.running_league(players=2)
    match = made.match("R1M1")
    make.report(match, None, **make.no_answer_from(match, "P01", "P02"))
    context = shown()
    assert (context["champions"], [row.place for row in context["podium"]]) == ([], ["=1", "=1"])
    page = client.get("/leagues/fall/").content.decode()
    assert ("champion-word" in page, "data-lead" in page, '<bdi dir="ltr">=1</bdi>' in page) == (False, False, True)


def test_the_reveal_shows_the_rows_around_the_newest() -> None:
    many_playing(30)
    lifecycle.stop(league_id="board")
    League.objects.update(
        frozen_seq=League.objects.get().event_seq,
        frozen={"after": 1, "names": {f"P{n:02d}": "x" for n in range(1, 31)}, "summary": {}, "agents": []},
        unveiled=10,
    )
    league = League.objects.get()
    reveal = screen.reveal_of(sight.public(league))
    assert [line.place for line in reveal.rows] == ["veiled"] * 4 + ["newest"] + ["known"] * 4
    assert (reveal.rows[0].row.rank, reveal.veiled) == (17, 20)


# Queries and controls ----------------------------------------------------------------------------


def many_playing(count: int) -> str:
    many_players(count)
    return "/leagues/board/screen/"


def many_on_the_wall(count: int) -> str:
    league_with_wall(count)
    return "/leagues/wall/screen/"


@pytest.mark.parametrize("fill", [many_playing, many_on_the_wall])
def test_the_screen_makes_as_many_queries_for_few_players_as_for_many(client: Client, fill: Any) -> None:
    assert_same_query_count(client, fill)


def test_the_projector_has_no_controls(client: Client) -> None:
    make.running_league(players=2)
    tags = [tag for tag, _ in Tags(client.get(PATH).content.decode()).found]
    assert [tag for tag in tags if tag in ("button", "input", "select", "nav", "form")] == []
