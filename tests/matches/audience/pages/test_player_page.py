"""The player page: its figures, what it must not show, its queries."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from agents_registry.models import Agent, RosterEntry
from matches.audience import pages
from matches.audience.pages import PageKey
from matches.audience.pages.player import choices
from matches.audience.pages.times import Dot, span
from matches.league import lifecycle, opening
from matches.models import Match, Message
from tests import factories as make
from tests.matches.audience.hostile import HOSTILE
from tests.matches.audience.query_counts import assert_same_query_count
from tests.matches.correcting import make_correction
from tests.matches.reports import clause
from tests.matches.view.test_readiness_wall import store_check

pytestmark = pytest.mark.django_db
PATH = "/leagues/fall/players/P01/"


def shown(player_id: str = "P01", *, staff: bool = False) -> dict[str, Any]:
    """The context of a player's page."""
    context = pages.context_of(PageKey("player", "fall", player_id, staff))
    assert context is not None
    return context


def transcript(*answers: tuple[str, str, Any, Any, str]) -> list[dict[str, Any]]:
    """A transcript: sender, type, milliseconds taken and allowed, problem."""
    return [
        make.entry(
            n, sender=sender, message_type=kind, elapsed_ms=elapsed, limit_ms=limit, problem=problem, body={"n": n}
        )
        for n, (sender, kind, elapsed, limit, problem) in enumerate(answers)
    ]


def match_of_p01(made: make.MadeLeague, round_number: int) -> Match:
    """P01's match of a round."""
    matches = Match.objects.filter(league_id="fall", round__number=round_number)
    match_id = next(one.match_id for one in matches if "P01" in (one.player_a.code, one.player_b.code))
    return made.match(match_id)


def opponent_of(match: Match) -> str:
    return match.player_b.code if match.player_a.code == "P01" else match.player_a.code


def details(match: Match, choice: str) -> dict[str, Any]:
    return {"drawn_number": 8, "number_parity": "even", "choices": {"P01": choice, opponent_of(match): "odd"}}


def three_rounds() -> tuple[make.MadeLeague, list[Match]]:
    """P01, of four players, wins its first match, loses the second by silence, and plays its third now."""
    made = make.running_league(players=4)
    first = match_of_p01(made, 1)
    first_transcript = transcript(
        ("P01", "GAME_JOIN_ACK", 10, 5000, ""),
        ("player:P01", "CHOOSE_PARITY_RESPONSE", 30, 30_000, ""),
        (opponent_of(first), "GAME_JOIN_ACK", 4000, 5000, ""),
        ("P01", "GAME_JOIN_ACK", 1, 5000, "connection refused"),
        ("P01", "GAME_JOIN_ACK", HOSTILE, {}, ""),
        ("P01", "reply to GAME_OVER", 4999, 5000, ""),
        ("P01", HOSTILE, 4, 5000, ""),
    )
    make.report(
        first,
        "P01",
        transcript=first_transcript,
        result={"winner": "P01", "score": {}, "details": details(first, "even")},
    )
    make.finish_round(made)
    make.next_round(made)
    second = match_of_p01(made, 2)
    changes = make.no_answer_from(second, "P01")
    changes["faults"][0] |= {"cause": "DEADLINE", "limit_s": 5}
    late = transcript(*[("P01", "GAME_JOIN_ACK", 5000, 5000, "no answer") for _ in range(2)])
    make.report(second, opponent_of(second), transcript=late, **changes)
    make.finish_round(made)
    make.next_round(made)
    return made, [first, second, match_of_p01(made, 3)]


def test_the_player_page_has_record_matches_choices_rivals_and_faults() -> None:
    _, (first, second, third) = three_rounds()
    context = shown()
    record = context["player"].record
    assert {name: getattr(record, name) for name in ("played", "wins", "technical_losses", "points", "form")} == {
        "played": 2,
        "wins": 1,
        "technical_losses": 1,
        "points": 3,
        "form": ["W", "T"],
    }
    lines = [(line.match_id, line.opponent.player_id, line.choice, line.letter) for line in context["matches"]]
    assert lines == [
        (first.match_id, opponent_of(first), "even", "W"),
        (second.match_id, opponent_of(second), "", "T"),
        (third.match_id, opponent_of(third), "", ""),
    ]
    assert (context["next"].match_id, context["next"].state) == (third.match_id, "ASSIGNED")
    assert context["choices"] == [("even", 1, 1, 1), ("odd", 0, 0, 1)]
    groups = [(one.letters, [player.player_id for player in one.opponents]) for one in context["rivals"].groups]
    assert groups == [("W", [opponent_of(first)]), ("LT", [opponent_of(second)])]
    assert [(one.match_id, one.cause, one.sentence) for one in context["faults"]] == [
        (second.match_id, "deadline", "P01 did not answer GAME_INVITATION in 5 s (tries: 4)")
    ]


def test_the_player_page_times_only_the_players_own_answers() -> None:
    three_rounds()
    lanes = shown()["times"]
    assert [(one.name, len(one.answers), one.late, one.median, one.slowest, one.limit_label) for one in lanes] == [
        ("join", 3, 2, "10 ms", "10 ms", "5 s"),
        ("choice", 1, 0, "30 ms", "30 ms", "30 s"),
    ]
    assert lanes[0].dots == [Dot("27.0", late=False), *[Dot("100", late=True)] * 2]
    assert [tick.label for tick in lanes[1].ticks] == ["1 ms", "10 ms", "100 ms", "1 s"]


def test_a_running_match_shows_neither_choices_nor_times(client: Client) -> None:
    _, (_, _, third) = three_rounds()
    entries = transcript(("P01", "CHOOSE_PARITY_RESPONSE", 7777, 30_000, ""))
    make.progress(
        third,
        state="COLLECTING_CHOICES",
        joined=["P01", opponent_of(third)],
        locked_in=["P01"],
        transcript=entries,
    )
    context = shown()
    assert (context["matches"][2].choice, context["next"].state) == ("", "COLLECTING_CHOICES")
    assert [len(one.answers) for one in context["times"]] == [3, 1]
    assert "7.78" not in client.get(PATH).content.decode()


def test_a_time_is_written_in_ms_or_s() -> None:
    assert [span(n) for n in (0, 999, 1000, 1500, 30_000, 61_234)] == [
        "0 ms",
        "999 ms",
        "1 s",
        "1.5 s",
        "30 s",
        "61.23 s",
    ]


def test_many_different_choices_share_the_last_bar() -> None:
    bars = choices((str(n % 11), n < 11) for n in range(22))
    assert (bars[-1].choice, len(bars)) == ("others", 9)
    assert [(bar.times, bar.won, bar.longest) for bar in bars] == [(2, 1, 6)] * 8 + [(6, 3, 6)]


def test_the_player_page_lists_corrections_of_its_matches(client: Client) -> None:
    _, (first, _, _) = three_rounds()
    make_correction("void", match_id=first.match_id, reason="The referee was wrong", by="instructor")
    for player_id, count in (("P01", 1), (opponent_of(first), 1)):
        context = shown(player_id)
        assert [one["match_id"] for one in context["corrections"]] == [first.match_id] * count
    assert "The referee was wrong" in client.get(PATH).content.decode()
    assert shown()["matches"][0].letter == "C"


def test_only_the_staff_sees_the_report_of_a_players_check(client: Client) -> None:
    made = make.league(players=2)
    agent = made.players[0].agent
    check = store_check(
        agent, passed=False, clauses=(clause("join.accepts", "fails"),), next_step=f"Mend {agent.endpoint}"
    )
    public = client.get(PATH).content.decode()
    assert 'data-ready="wrong_answers"' in public
    assert [secret for secret in (str(check.pk), agent.endpoint, "8101") if secret in public] == []
    assert client.get(f"{PATH}?as=staff").status_code == 403
    client.force_login(User.objects.create_superuser("instructor", password="x" * 12))
    staff = client.get(f"{PATH}?as=staff").content.decode()
    assert f'href="/check/{check.pk}"' in staff
    assert f"Mend {agent.endpoint}" in staff


def test_the_player_page_does_not_name_the_owner(client: Client) -> None:
    made, _ = three_rounds()
    entry = RosterEntry.objects.create(league_id="fall", name="Dana Real", email="dana@school.example", code="dana4711")
    Agent.objects.filter(pk=made.players[0].agent.pk).update(owner=entry)
    frames = pages.fragments(PageKey("player", "fall", "P01"), "en")
    assert frames is not None
    text = client.get(PATH).content.decode() + "".join(frames.values())
    private = ("Dana Real", "dana@school.example", "dana4711", "127.0.0.1:81", "localhost:81", made.players[0].token)
    assert [secret for secret in private if secret in text] == []


def test_the_player_page_of_a_frozen_board_does_not_change() -> None:
    made = make.league_before_freeze()
    lifecycle.start_league(league_id="fall")
    before = pages.fragments(PageKey("player", "fall", "P01"), "en")
    make.open_round("fall")
    make.finish_round(made, 1)
    store_check(made.players[0].agent)
    Agent.objects.filter(code="P01").update(display_name="Renamed", state="SUSPENDED")
    assert pages.fragments(PageKey("player", "fall", "P01"), "en") == before
    context = shown()
    assert ([line.hidden for line in context["matches"]], context["next"]) == ([False, True, True], None)
    assert [line.letter for line in shown(staff=True)["matches"]][1] != ""


def test_a_player_that_was_left_out_has_a_page() -> None:
    made = make.league(players=3, require_check=True)
    for member in made.players[:2]:
        store_check(member.agent)
    opening.close_registration(league_id="fall")
    context = shown("P03")
    assert (context["player"].left_out, context["player"].record, context["matches"]) == (True, None, [])


def league_with_matches(count: int) -> str:
    """A league whose first player has ``count`` matches with transcripts; the path of this player's page."""
    made = make.league("many", players=2)
    now = timezone.now()
    others = make.insert_players("many", count, letter="X")
    one = made.league.rounds.create(number=1, state="RUNNING", started_at=now)
    player = made.players[0].agent
    matches = Match.objects.bulk_create(
        Match(league_id="many", round=one, match_id=f"R1M{n}", player_a=player, player_b=other, attempt=1)
        for n, other in enumerate(others)
    )
    Message.objects.bulk_create(
        Message(match=match, attempt=1, n=0, entry=make.entry(0, sender="P01", message_type="GAME_JOIN_ACK"))
        for match in matches
    )
    return "/leagues/many/players/P01/"


def test_the_page_makes_as_many_queries_for_few_matches_as_for_many(client: Client) -> None:
    assert_same_query_count(client, league_with_matches)


def test_the_player_page_reads_messages_with_one_query() -> None:
    three_rounds()
    with CaptureQueriesContext(connection) as captured:
        shown()
    assert len([query for query in captured if "matches_message" in query["sql"]]) == 1
