"""The feed of a league's events: in order, each once, and public ones only."""

from __future__ import annotations

import base64
import re
from typing import Any

import pytest
from django.db import transaction
from django.test import Client
from django.utils import timezone
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from league_sdk.ledger.kinds import EventKind
from matches.events.registry import PUBLIC
from matches.league import freeze, lifecycle, losses, notices
from matches.league.effects import record
from matches.models import Event, League, Match
from tests import factories as make
from tests.sizes import examples

pytestmark = pytest.mark.django_db
PATH = "/api/leagues/fall/events"


def get(client: Client, **query: Any) -> dict[str, Any]:
    """A part of the feed."""
    answer = client.get(PATH, query)
    assert answer.status_code == 200, answer.content
    return answer.json()


def numbers(feed: dict[str, Any]) -> list[int]:
    return [event["seq"] for event in feed["events"]]


def test_a_league_from_its_first_event(client: Client) -> None:
    made = make.running_league(players=2)
    match = made.match("R1M1")
    make.report(match, "P01", reason="<b>whatever a referee says</b>")
    feed = get(client)
    assert [(event["seq"], event["kind"], event["text"], event["data"]) for event in feed["events"]] == [
        (1, "league_created", "The league was opened.", {}),
        (2, "player_registered", "P01 Player 1 registered.", {"player_id": "P01", "name": "Player 1"}),
        (3, "player_registered", "P02 Player 2 registered.", {"player_id": "P02", "name": "Player 2"}),
        (4, "schedule_made", "Registration closed. Players: 2, rounds: 1.", {"players": 2, "rounds": 1}),
        (5, "round_started", "Round 1 started.", {"round_id": 1}),
        (6, "round_opened", "The matches of round 1 may begin.", {"round_id": 1}),
        (
            7,
            "match_finished",
            "R1M1: P01 won · 8 even.",
            {
                "match_id": "R1M1",
                "round_id": 1,
                "players": [match.player_a.code, match.player_b.code],
                "status": "WIN",
                "winner_id": "P01",
                "attempt": 1,
                "referee_id": "REF01",
            },
        ),
        (8, "round_completed", "Round 1 is over.", {"round_id": 1}),
        (
            9,
            "league_completed",
            "The league is over. Champion: Player 1.",
            {
                "champion": {"player_id": "P01", "display_name": "Player 1", "points": 3},
                "champions": [{"player_id": "P01", "display_name": "Player 1", "points": 3}],
            },
        ),
    ]
    assert (feed["league_id"], feed["more"], feed["reset"]) == ("fall", False, False)
    assert all(re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", event["at"]) for event in feed["events"])


OPERATIONS = st.lists(st.tuples(st.booleans(), st.integers(1, 5)), min_size=1, max_size=12)


@given(operations=OPERATIONS)
@settings(max_examples=examples(20), suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture])
def test_a_reader_that_goes_on_from_its_token_gets_every_event_once(
    client: Client, operations: list[tuple[bool, int]]
) -> None:
    with transaction.atomic():
        make.open_league("fall")
        read: list[int] = []
        token = ""
        for happens, count in [*operations, (False, 500)]:
            if happens:
                for number in range(count):
                    # Events for the desk only are between the public ones.
                    record("fall", EventKind.START_CALLED_OFF if number % 2 else EventKind.PAUSED)
            else:
                feed = get(client, since=token, limit=count)
                assert feed["reset"] is False
                read += numbers(feed)
                token = feed["next"]
                unread = Event.objects.filter(kind__in=PUBLIC, seq__gt=max(read, default=0))
                assert feed["more"] == unread.exists()
        assert read == list(
            Event.objects.exclude(kind=EventKind.START_CALLED_OFF).order_by("seq").values_list("seq", flat=True)
        )
        transaction.set_rollback(True)


def new_league_of_the_same_id() -> None:
    """The league is deleted; another league has its id, and events with the same numbers."""
    League.objects.all().delete()
    make.open_league("fall")
    record("fall", EventKind.PAUSED)


def demo_starts_again() -> None:
    """The league starts again with its first event, as the demo does."""
    Event.objects.all().delete()
    record("fall", EventKind.DEMO_AFRESH)


def restored_backup() -> None:
    """The league is restored from a backup made before its last event, and another event has happened since."""
    Event.objects.filter(seq=2).delete()
    Event.objects.create(league_id="fall", seq=2, kind="paused", at=timezone.now())


@pytest.mark.parametrize("change", [new_league_of_the_same_id, demo_starts_again, restored_backup])
def test_a_feed_starts_again_when_the_league_was_reset_or_restored(client: Client, change: Any) -> None:
    make.open_league("fall")
    record("fall", EventKind.PAUSED)
    token = get(client)["next"]
    assert (get(client, since=token)["events"], get(client, since=token)["reset"]) == ([], False)
    change()
    feed = get(client, since=token)
    assert feed["reset"] is True
    assert numbers(feed) == list(Event.objects.order_by("seq").values_list("seq", flat=True))
    assert get(client, since=feed["next"])["reset"] is False


def test_a_token_of_an_empty_feed_is_good_for_later_events(client: Client) -> None:
    make.open_league("fall")
    Event.objects.all().delete()
    empty = get(client)
    assert (empty["events"], empty["more"]) == ([], False)
    record("fall", EventKind.PAUSED)
    assert [event["kind"] for event in get(client, since=empty["next"])["events"]] == ["paused"]


def test_a_notice_that_is_withdrawn_does_not_reset_the_feed(client: Client) -> None:
    make.open_league("fall")
    notice = notices.say(league_id="fall", text="We begin", by="ada")
    feed = get(client)
    notices.withdraw(league_id="fall", number=notice.pk)
    again = get(client, since=feed["next"])
    assert (again["reset"], again["events"]) == (False, [])


def test_the_feed_of_a_frozen_league_ends_with_the_freeze_and_goes_on_after_it(client: Client) -> None:
    made = make.league_before_freeze()
    lifecycle.start_league(league_id="fall")
    frozen = get(client)
    assert frozen["events"][-1]["kind"] == "frozen"
    make.open_round("fall")
    make.finish_round(made)
    assert get(client) == frozen
    assert get(client, since=frozen["next"])["events"] == []
    freeze.lift(league_id="fall")
    later = get(client, since=frozen["next"])
    assert later["reset"] is False
    assert numbers(frozen) + numbers(later) == list(range(1, made.league.event_seq + 1))


def test_the_feed_has_no_events_that_are_for_the_desk_only(client: Client) -> None:
    make.running_league(players=2)
    record("fall", EventKind.ROLE_GIVEN, user="teacher@school.example", role="instructor")
    why = "http://10.0.0.7:8001/mcp did not answer"
    losses.lose_attempt(matches=Match.objects.filter(match_id="R1M1"), why=why)
    feed = get(client)
    assert [event["kind"] for event in feed["events"]][-2:] == ["round_opened", "attempt_lost"]
    assert feed["events"][-1]["data"] == {
        "match_id": "R1M1",
        "attempt": 1,
        "referee_id": "REF01",
        "cause": "REFEREE",
    }
    assert "teacher" not in str(feed)


def _encoded(text: str) -> str:
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


@pytest.mark.parametrize(
    "token",
    ["x", "12", "é", "\x00", _encoded("12"), _encoded("-1.0123456789abcdef"), _encoded("9" * 40 + "." + "a" * 16)],
)
def test_an_invalid_token_is_refused_with_a_sentence(client: Client, token: str) -> None:
    make.open_league("fall")
    answer = client.get(PATH, {"since": token})
    # A NUL in a query is read as an unknown character.
    seen = token[:40].replace("\x00", "\ufffd")
    sentence = f'since is not a token of this feed: it was "{seen}". Send next of the answer before, or leave it out.'
    assert (answer.status_code, answer.json()) == (422, {"error": sentence, "field": "since"})


@pytest.mark.parametrize(
    ("query", "field"), [({"limit": 0}, "limit"), ({"limit": 501}, "limit"), ({"limit": "x"}, "limit")]
)
def test_a_limit_out_of_range_is_refused(client: Client, query: dict[str, Any], field: str) -> None:
    make.open_league("fall")
    answer = client.get(PATH, query)
    assert (answer.status_code, answer.json()["field"]) == (422, field)
    assert answer.json()["error"].startswith("limit: ")


def test_the_feed_of_an_unknown_league_is_404(client: Client) -> None:
    assert client.get("/api/leagues/nowhere/events").status_code == 404


def test_the_feed_costs_the_same_for_3_events_and_for_300(client: Client) -> None:
    make.open_league("fall")
    token = get(client)["next"]
    costs: list[int] = []
    for more, count in ((3, 3), (297, 300)):
        for _ in range(more):
            record("fall", EventKind.PAUSED)
        with make.counting_queries(costs):
            assert len(get(client, since=token, limit=500)["events"]) == count
    assert costs[0] == costs[1] <= 4


def test_the_feed_is_documented(client: Client) -> None:
    operation = client.get("/api/openapi.json").json()["paths"]["/api/leagues/{league_id}/events"]["get"]
    assert [(one["name"], "description" in one or "description" in one["schema"]) for one in operation["parameters"]][
        1
    ] == ("since", True)
    assert sorted(operation["responses"]) == ["200", "400", "404", "422", "503"]
