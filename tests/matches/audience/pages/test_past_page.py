"""The replay and the embedded table as pages: contents, caching, queries."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from typing import Any

import pytest
from django.http import HttpResponse
from django.test import Client
from django.utils import timezone

from agents_registry.models import Agent
from league_sdk.ledger.kinds import EventKind
from matches.audience import pages
from matches.audience.pages import PageKey, past
from matches.league import lifecycle
from matches.league.effects import record
from matches.models import Event, League
from matches.words import events as words_events
from tests import factories as make

pytestmark = pytest.mark.django_db
PAGE = "/leagues/fall/replay/"
PARTS = f"{PAGE}fragments/"


@pytest.fixture
def made() -> make.MadeLeague:
    """Four players; round 1 is over, round 2 is being played."""
    made = make.running_league(players=4)
    make.finish_round(made)
    make.next_round(made)
    return made


def shown(client: Client, at: object, **query: object) -> dict[str, Any]:
    """The replay at a moment, as its script reads it."""
    answer = client.get(PARTS, {"at": at, **query})
    assert answer.status_code == 200
    return answer.json()


def points(html: str) -> list[str]:
    """The column of points of a table."""
    return re.findall(r'c-points" data-tint>(-?\d+)<', html)


def test_the_replay_of_every_event_shows_its_board_and_sentence(client: Client, made: make.MadeLeague) -> None:
    events = list(made.league.events.order_by("seq"))
    moments = [shown(client, event.seq) for event in events]
    assert [moment["at"] for moment in moments] == [event.seq for event in events]
    assert [moment["text"] for moment in moments] == [words_events.happened(event.kind, event.data) for event in events]
    tables = [points(moment["fragments"]["standings"]) for moment in moments]
    assert tables[0] == []
    first_result = next(n for n, event in enumerate(events) if event.kind == "match_finished")
    assert [tables[first_result - 1], tables[first_result], tables[first_result + 1]] == [
        ["0"] * 4,
        ["3", "0", "0", "0"],
        ["3", "3", "0", "0"],
    ]
    now = pages.fragments(PageKey("board", "fall"), "en")
    assert now is not None
    assert {name: moments[-1]["fragments"][name] for name in past.SHOWN} == {name: now[name] for name in past.SHOWN}


def test_the_replay_page_without_javascript_shows_the_same_fragments(client: Client, made: make.MadeLeague) -> None:
    for at in (1, 8, made.league.event_seq):
        text = client.get(PAGE, {"at": at}).content.decode()
        moment = shown(client, at)
        assert [name for name, html in moment["fragments"].items() if html.strip() not in text] == []
        assert f'name="at" min="1" max="{made.league.event_seq}" value="{at}"' in text


# For an event, the events to which the buttons beside the slider lead.
STEPS = {
    1: {"next": 2, "next-round": 7},
    2: {"first": 1, "round-before": 1, "before": 1, "next": 3, "next-round": 7},
    8: {"first": 1, "round-before": 7, "before": 7, "next": 9, "next-round": 12},
    12: {"first": 1, "round-before": 7, "before": 11, "next": 13, "next-round": 13},
    13: {"first": 1, "round-before": 12, "before": 12},
}


def test_the_steps_lead_to_events_and_rounds(client: Client, made: make.MadeLeague) -> None:
    begun = list(Event.objects.filter(kind="round_started").order_by("seq").values_list("seq", flat=True))
    assert (begun, made.league.event_seq) == ([7, 12], 13)
    for at, expected in STEPS.items():
        steps = client.get(PAGE, {"at": at}).context["replay"].steps
        urls = {step.name: step.url for step in steps if step.url}
        assert urls == {name: f"{PAGE}?at={seq}" for name, seq in expected.items()} | {"last": PAGE}


@pytest.mark.parametrize(
    ("moment", "at"),
    [
        ("x", 13),
        ("0", 1),
        ("99", 13),
        ("9" * 5000, 13),
        *(pytest.param(*case, marks=pytest.mark.exhaustive) for case in (("", 13), ("-5", 1), ("\x00", 13))),
    ],
)
def test_any_requested_moment_is_clamped_to_the_leagues_events(
    client: Client, made: make.MadeLeague, moment: str, at: int
) -> None:
    assert client.get(PAGE, {"at": moment}).context["replay"].at == at


def test_nothing_after_the_freeze_is_on_the_slider_of_the_public(admin_client: Client, client: Client) -> None:
    made = make.league_before_freeze()
    make.next_round(made)
    frozen = made.league.frozen_seq
    assert shown(client, 99)["at"] == frozen
    assert client.get(PAGE).context["replay"].track.last == frozen
    assert client.get(PARTS, {"at": 99, "as": "staff"}).status_code == 403
    assert shown(admin_client, 99, **{"as": "staff"})["at"] == made.league.event_seq
    assert "as=staff&" in admin_client.get(PAGE, {"as": "staff"}).context["replay"].address


def cache_control(client: Client, at: int, version: str) -> str:
    return client.get(PARTS, {"at": at, "v": version}).headers["Cache-Control"]


def test_only_past_moments_with_the_right_version_are_cached(client: Client, made: make.MadeLeague) -> None:
    version = client.get(PAGE).context["replay"].version
    assert cache_control(client, 5, version) == "private, max-age=3600, immutable"
    assert cache_control(client, 5, "other") == "no-cache"
    assert cache_control(client, made.league.event_seq, version) == "no-cache"
    Agent.objects.filter(code="P01").update(display_name="Another name")
    assert cache_control(client, 5, version) == "no-cache"


def test_a_cached_moment_does_not_keep_an_old_name_of_the_league(client: Client, made: make.MadeLeague) -> None:
    version = client.get(PAGE).context["replay"].version
    League.objects.update(display_name="Another name")
    assert "Another name" in shown(client, 5)["fragments"]["header"]
    assert cache_control(client, 5, version) == "no-cache"


def test_an_unchanged_moment_is_answered_with_304(client: Client, made: make.MadeLeague) -> None:
    answer = client.get(PARTS, {"at": 5})
    again: HttpResponse = client.get(PARTS, {"at": 5}, headers={"If-None-Match": answer.headers["ETag"]})
    assert (again.status_code, again.content) == (304, b"")


def test_the_replays_version_does_not_reveal_hidden_changes(client: Client) -> None:
    made = make.league_before_freeze()
    make.next_round(made)
    before = client.get(PAGE).content
    make.finish_round(made)
    Agent.objects.filter(code="P01").update(display_name="Another name")
    assert client.get(PAGE).content == before


class Elements(HTMLParser):
    """How many elements a page has."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.count = 0
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.count += 1


def test_a_long_history_needs_no_more_queries_and_elements_than_a_short_one(client: Client) -> None:
    make.running_league(players=4)
    query_counts, element_counts = [], []
    for count in (3, 300, 5000):
        seq = League.objects.get().event_seq
        now = timezone.now()
        Event.objects.bulk_create(
            Event(league_id="fall", seq=seq + number, kind="paused", at=now) for number in range(1, count + 1)
        )
        League.objects.update(event_seq=seq + count)
        with make.counting_queries(query_counts):
            text = client.get(PAGE, {"at": seq + 2}).content.decode()
        element_counts.append(Elements(text[: text.index('class="board"')]).count)
    assert len(set(query_counts)) == 1
    assert len(set(element_counts)) == 1


def test_each_of_100_rounds_has_a_mark_and_12_have_a_label(client: Client) -> None:
    make.open_league("fall")
    for number in range(1, 101):
        record("fall", EventKind.ROUND_STARTED, round_id=number)
    marks = client.get(PAGE).context["replay"].marks
    assert (len(marks), marks[0].x, marks[-1].x) == (100, "1.00%", "100.00%")
    assert [mark.label for mark in marks if mark.label] == [1, 10, 19, 28, 37, 46, 55, 64, 73, 82, 91, 100]
    hebrew_marks = client.get(PAGE, headers={"Accept-Language": "he"}).context["replay"].marks
    assert (hebrew_marks[0].x, hebrew_marks[-1].x) == ("99.00%", "0.00%")


def test_the_replay_of_a_league_without_events_is_shown(client: Client) -> None:
    League.objects.create(league_id="fall", display_name="Fall", created_at=timezone.now())
    assert client.get(PAGE).status_code == 200
    assert shown(client, 1)["at"] == 0


def test_the_replay_does_not_show_events_that_are_only_for_the_desk(client: Client) -> None:
    make.open_league("fall")
    record("fall", EventKind.ROLE_GIVEN, user="teacher@school.example", role="instructor")
    lifecycle.stop(league_id="fall")
    assert shown(client, 2)["text"] == "The league was opened."


def test_the_replay_refuses_post(client: Client, made: make.MadeLeague) -> None:
    assert [client.post(path).status_code for path in (PAGE, PARTS, "/leagues/fall/embed/")] == [405] * 3


def test_the_replay_shows_all_fragments_of_the_board_except_charts_notices_and_the_figures_of_the_end() -> None:
    assert {*pages.KINDS["board"].fragments} - {*past.SHOWN} == {"ranks", "cross", "notices", "evening"}


# The embedded table -------------------------------------------------------------------------------


def test_only_the_embedded_table_may_be_framed(client: Client, made: make.MadeLeague) -> None:
    assert "X-Frame-Options" not in client.get("/leagues/fall/embed/").headers
    assert client.get(PAGE).headers["X-Frame-Options"] == "DENY"


def test_the_embedded_table_equals_that_of_the_board_and_is_live(client: Client, made: make.MadeLeague) -> None:
    text = client.get("/leagues/fall/embed/").content.decode()
    board = pages.fragments(PageKey("board", "fall"), "en")
    assert board is not None
    assert board["standings"].strip() in text
    assert 'data-socket="/ws/leagues/fall/?language=en"' in text
    assert "<nav" not in text and "<script>" not in text


@pytest.mark.parametrize(("theme", "chosen"), [("dark", "dark"), ("light", "light"), ('"><script>', ""), ("", "")])
def test_the_embedded_table_takes_a_theme(client: Client, made: make.MadeLeague, theme: str, chosen: str) -> None:
    text = client.get("/leagues/fall/embed/", {"theme": theme}).content.decode()
    (root,) = re.findall(r"<html[^>]*>", text)
    assert re.findall(r'data-theme="(\w*)"', root) == ([chosen] if chosen else [])


def test_the_code_to_copy_is_on_the_replay_page(client: Client, made: make.MadeLeague) -> None:
    text = client.get(PAGE).content.decode()
    (code,) = re.findall(r"<textarea[^>]*>(.*?)</textarea>", text)
    assert 'src="http://testserver/leagues/fall/embed/"' in code
    assert code.startswith("&lt;iframe ") and code.endswith("&lt;/iframe&gt;")
