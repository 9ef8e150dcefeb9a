"""The audience's pages: their queries, unreadable requests, headlines, themes."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime

import pytest
from django.test import Client
from django.utils import timezone

from league_sdk.ledger.kinds import EventKind
from league_sdk.protocol.states import ResultStatus
from matches.audience import pages
from matches.audience.pages import PageKey
from matches.league import lifecycle, losses, opening, play
from matches.league.effects import record
from matches.league.reports import Verdict
from matches.models import Event, League, Match, Message
from tests import factories as make
from tests.matches.audience.query_counts import assert_same_query_count
from tests.matches.audience.tags import Tags
from tests.sizes import sampled

pytestmark = pytest.mark.django_db


def many_leagues(count: int) -> str:
    for number in range(count):
        League.objects.create(league_id=f"l{number}", display_name=f"League {number}", created_at=timezone.now())
    return "/"


def many_players(count: int) -> str:
    """A league of that many players, all of them playing in a round, with results and events; the path of its board."""
    make.open_league("board")
    make.referee(room=1000, progress=False)
    now = timezone.now()
    make.insert_players("board", count)
    make.start_league("board")
    finish_half(now)
    Event.objects.bulk_create(
        Event(league_id="board", seq=1000 + number, kind="paused", at=now) for number in range(count)
    )
    return "/leagues/board/"


def finish_half(now: datetime) -> None:
    """Every other match of the first round is won by its first player."""
    for match in Match.objects.select_related("round").filter(round__number=1).order_by("pk")[::2]:
        Match.objects.filter(pk=match.pk).update(
            state="FINISHED", status="WIN", winner=match.player_a, finished_at=now, details={"drawn_number": 8}
        )
        record(
            "board",
            EventKind.MATCH_FINISHED,
            **Verdict(ResultStatus.WIN, match.player_a.code, "", {"drawn_number": 8}, []).outcome(match),
        )


def many_messages(count: int) -> str:
    made = make.running_league("long", players=2)
    match = made.match("R1M1")
    Message.objects.bulk_create(
        Message(match=match, attempt=1, n=number, entry=make.entry(number)) for number in range(count)
    )
    return "/leagues/long/matches/R1M1/"


@pytest.mark.parametrize("fill", [many_leagues, many_players, many_messages])
def test_a_page_makes_as_many_queries_for_few_rows_as_for_many(client: Client, fill: Callable[[int], str]) -> None:
    assert_same_query_count(client, fill)


@pytest.mark.parametrize(
    ("content_type", "body"),
    [
        ("multipart/form-data; boundary=x", b"at=" + b"x" * 1100),
        ("application/x-www-form-urlencoded", b"a=1&" * 1200),
    ],
)
@pytest.mark.parametrize(("path", "status"), [("/check/nobody", 404), ("/language/", 400)])
def test_an_unreadable_body_causes_no_server_error(path: str, status: int, content_type: str, body: bytes) -> None:
    browser = Client(enforce_csrf_checks=True)
    browser.cookies["csrftoken"] = "a" * 32
    answer = browser.post(path, body, content_type=content_type, headers={"x-csrftoken": "a" * 32})
    assert answer.status_code == status


def test_a_site_without_leagues_says_so(client: Client) -> None:
    text = client.get("/").content.decode()
    assert text.count("There is no league yet. The instructor creates one, and it appears here.") == 1


HEADLINES = {
    "REGISTRATION": "Registration is open: 4 players so far.",
    "SCHEDULED": "The schedule is made: round 1 starts when the instructor starts it.",
    "ANNOUNCING": "Round 1 is being announced to the players.",
    "RUNNING": "Round 1 is being played: 2 matches to go.",
    "HELD": "1 match is held: it is tried again by itself, or the instructor decides.",
    "BETWEEN": "Round 1 is over: round 2 starts when the instructor starts it.",
    "PAUSED": "Paused: no match starts until the instructor resumes the league.",
    "STOPPED": "The league was stopped.",
}


def test_the_headline_says_what_happens_or_why_nothing_happens() -> None:
    made = make.league(players=4)
    headlines = {}

    def note(state: str) -> None:
        context = pages.context_of(PageKey("board", "fall"))
        assert context is not None
        headlines[state] = context["league"].headline

    note("REGISTRATION")
    opening.close_registration(league_id="fall")
    note("SCHEDULED")
    lifecycle.start_round(league_id="fall")
    note("ANNOUNCING")
    make.open_round("fall")
    make.look()
    note("RUNNING")
    Match.objects.filter(match_id="R1M1").update(lost_attempts=2)
    losses.lose_attempt(matches=Match.objects.filter(match_id="R1M1"), why="test")
    note("HELD")
    play.release(league_id="fall", match_id="R1M1")
    make.finish_round(made)
    note("BETWEEN")
    lifecycle.pause(league_id="fall")
    note("PAUSED")
    lifecycle.stop(league_id="fall")
    note("STOPPED")
    assert headlines == HEADLINES


@pytest.mark.parametrize(("chosen", "theme"), [("dark", "dark"), ("light", "light"), ('"><script>', ""), ("", "")])
def test_the_page_itself_names_the_theme_of_the_cookie(client: Client, chosen: str, theme: str) -> None:
    client.cookies["theme"] = chosen
    text = client.get("/").content.decode()
    assert re.findall(r'<html[^>]* data-theme="(\w*)"', text) == ([theme] if theme else [])


@pytest.mark.parametrize(
    "path", sampled(["/", "/leagues/fall/", "/leagues/fall/screen/", "/leagues/fall/charts/", "/check"], every=2)
)
def test_no_script_blocks_the_first_paint(client: Client, path: str) -> None:
    make.running_league()
    scripts = [attrs for tag, attrs in Tags(client.get(path).content.decode()).found if tag == "script"]
    assert scripts
    assert [one for one in scripts if not (one.get("type") == "module" or "defer" in one or "async" in one)] == []
