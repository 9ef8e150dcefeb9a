"""Results and progress as referees report them at POST /mcp (004 4.6.2; ruling sections 7 and 10)."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from agents_registry.models import Agent
from league_sdk.protocol.transcript import REDACTED
from matches.league import lifecycle, losses
from matches.models import Match, Message
from matches.view import sight
from tests import factories as make
from tests import wire

pytestmark = pytest.mark.django_db
SECRET = "tok_" + "a" * 32


@pytest.fixture
def made() -> make.MadeLeague:
    """Two players, two referees, R1M1 in play."""
    return make.running_league(players=2, referees=2)


def params_of(who: make.RegisteredAgent, match: Match, winner: str | None, **changes: Any) -> dict[str, Any]:
    fields = make.result_fields(match, winner) | changes
    return make.message_from(
        who, "MATCH_RESULT_REPORT", **{name: one for name, one in fields.items() if one is not None}
    )


def report(
    client: Client,
    made: make.MadeLeague,
    winner: str | None = "P01",
    who: make.RegisteredAgent | None = None,
    **changes: Any,
) -> dict[str, Any]:
    """Report a result of R1M1; returns the answer without its envelope."""
    match = made.match("R1M1")
    judge = who or made.referee_of("R1M1")
    answer = wire.ask(client, "report_match_result", params_of(judge, match, winner, **changes))
    head = {
        "protocol": "league.v2",
        "message_type": "MATCH_RESULT_ACK",
        "sender": "league_manager:LM01",
        "conversation_id": "conv-of-the-test",
        "league_id": "fall",
        "match_id": "R1M1",
    }
    assert {key: answer.pop(key) for key in head} == head
    del answer["timestamp"]
    return answer


def points(made: make.MadeLeague) -> dict[str, int]:
    return {row.player_id: row.points for row in sight.everything(made.league).standings}


ACCEPTED = {"status": "ACCEPTED", "reason": None}
DUPLICATE = {"status": "ACCEPTED", "duplicate": True, "reason": "a result is on record; the first one stands"}


@pytest.mark.parametrize("method", ["report_match_result", "MATCH_RESULT_REPORT", "mcp_message"])
def test_a_result_is_accepted_and_counts(client: Client, made: make.MadeLeague, method: str) -> None:
    params = params_of(made.referee_of("R1M1"), made.match("R1M1"), "P02")
    answer = wire.ask(client, method, params)
    assert (answer["status"], answer["reason"]) == ("ACCEPTED", None)
    match = made.match("R1M1")
    assert (match.state, match.status, match.winner.code, match.details) == (
        "FINISHED",
        "WIN",
        "P02",
        {"drawn_number": 8, "choices": {"P01": "even", "P02": "odd"}},
    )
    assert points(made) == {"P02": 3, "P01": 0}
    assert match.lifecycle[-1]["state"] == "FINISHED"
    assert (match.lease_until, match.finished_at is None) == (None, False)


@pytest.mark.parametrize(
    ("winner", "changes", "status", "expected"),
    [
        (None, {}, "DRAW", {"P01": 1, "P02": 1}),
        (None, {"result": {"winner": "DRAW", "score": {}}}, "DRAW", {"P01": 1, "P02": 1}),
        ("P01", {"status": "TECHNICAL_LOSS"}, "TECHNICAL_LOSS", {"P01": 3, "P02": 0}),
        (
            None,
            {"result": {"winner": None, "score": {"P01": 0, "P02": 0}, "details": {"choices": {"P01": "odd"}}}},
            "TECHNICAL_LOSS",
            {"P01": 0, "P02": 0},
        ),
        (None, {"status": "CANCELLED"}, "CANCELLED", {"P01": 0, "P02": 0}),
        ("P01", {"result": {"winner": "P01", "score": {"P01": 99, "P02": 98}}}, "WIN", {"P01": 3, "P02": 0}),
    ],
    ids=["draw", "DRAW as winner", "technical loss", "both absent", "cancelled", "points are the league's own"],
)
def test_every_kind_of_result_gets_its_status_and_the_leagues_points(
    client: Client, made: make.MadeLeague, winner: str | None, changes: dict[str, Any], status: str, expected: Any
) -> None:
    assert report(client, made, winner, **changes) == ACCEPTED
    assert (made.match("R1M1").status, points(made)) == (status, expected)


@pytest.mark.parametrize("second", ["P01", "P02", None])
def test_a_second_report_changes_nothing(client: Client, made: make.MadeLeague, second: str | None) -> None:
    report(client, made, "P01")
    before = Match.objects.values().get()
    assert report(client, made, second) == DUPLICATE
    assert (Match.objects.values().get(), points(made)) == (before, {"P01": 3, "P02": 0})
    assert made.events().count("match_finished") == 1


def test_the_report_of_a_referee_that_does_not_judge_the_match_is_e013(client: Client, made: make.MadeLeague) -> None:
    judge = made.referee_of("R1M1")
    other = next(one for one in made.referees if one != judge)
    data = wire.refused(client, "report_match_result", params_of(other, made.match("R1M1"), "P01"))
    assert (data["error_code"], data["message"]) == ("E013", f"{other.agent.code} does not judge R1M1.")
    assert made.match("R1M1").state == "ASSIGNED"


def test_reports_and_progress_of_a_referee_that_may_not_judge_are_refused(
    client: Client, made: make.MadeLeague
) -> None:
    stranger = make.referee("Stranger", port=8009, trusted=False)
    match = made.match("R1M1")
    assert wire.refused(client, "report_match_result", params_of(stranger, match, "P01"))["error_code"] == "E013"
    answer = progress(client, stranger, make.progress_item(match))
    assert [one["status"] for one in answer["matches"]] == ["lost"]
    assert made.match("R1M1").state == "ASSIGNED"


def test_a_referee_that_is_no_longer_trusted_may_still_report_its_match(client: Client, made: make.MadeLeague) -> None:
    judge = made.referee_of("R1M1")
    Agent.objects.filter(pk=judge.agent.pk).update(trusted=False)
    assert report(client, made) == ACCEPTED


def lose(match: Match) -> None:
    losses.lose_attempt(matches=Match.objects.filter(pk=match.pk), why="test")


def test_the_report_of_a_lost_attempt_is_ignored(client: Client, made: make.MadeLeague) -> None:
    judge = made.referee_of("R1M1")
    lose(made.match("R1M1"))
    over = {"status": "IGNORED", "reason": "attempt 1 is over"}
    assert report(client, made, attempt=1) == over
    Agent.objects.filter(pk=judge.agent.pk).update(state="SUSPENDED")
    make.look()
    assert made.referee_of("R1M1") != judge
    expected = {"status": "IGNORED", "reason": "attempt 1 was lost; the match went on without it"}
    assert report(client, made, attempt=1, who=judge) == expected
    assert report(client, made, attempt=1) == over
    assert report(client, made, "P02", attempt=2) == ACCEPTED
    assert report(client, made, attempt=1, who=judge) == expected
    assert points(made) == {"P02": 3, "P01": 0}


def test_a_report_before_the_match_is_handed_out_is_ignored(client: Client) -> None:
    made = make.league(players=2)
    lifecycle.start_league(league_id="fall")
    assert report(client, made, attempt=None) == {"status": "IGNORED", "reason": "attempt 0 is over"}


def test_a_report_without_attempt_counts_for_the_assigned_referee(client: Client, made: make.MadeLeague) -> None:
    lose(made.match("R1M1"))
    make.look()
    params = params_of(made.referee_of("R1M1"), made.match("R1M1"), "P01", attempt=None, round_id="1")
    assert wire.ask(client, "report_match_result", params)["status"] == "ACCEPTED"
    assert made.match("R1M1").attempt == 2


def test_a_report_for_a_stopped_league_is_ignored(client: Client, made: make.MadeLeague) -> None:
    lifecycle.stop(league_id="fall")
    assert report(client, made) == {"status": "IGNORED", "reason": "attempt 1 is over"}


def test_no_details_of_a_report_break_the_pages(client: Client, made: make.MadeLeague) -> None:
    details = {"drawn_number": [1], "number_parity": ["even"], "choices": ["odd"], "reason": 5}
    assert report(client, made, result={"winner": "P01", "score": 3, "details": details}) == ACCEPTED
    for path in ("/leagues/fall/", "/leagues/fall/matches/R1M1/", "/", "/api/leagues/fall/matches/R1M1"):
        assert client.get(path).status_code == 200


# Progress -----------------------------------------------------------------------------------------


def progress(client: Client, who: make.RegisteredAgent, *items: dict[str, Any]) -> dict[str, Any]:
    return wire.ask(client, "report_progress", make.message_from(who, "REPORT_PROGRESS", matches=list(items)))


def progress_of_r1m1(client: Client, made: make.MadeLeague, **changes: Any) -> str:
    """Have the referee of R1M1 report its progress; returns the status in the answer, ``ok`` or ``lost``."""
    match = made.match("R1M1")
    item = make.progress_item(match, **changes)
    answer = progress(client, made.referee_of("R1M1"), item)
    assert answer == {
        "matches": [
            {"league_id": "fall", "match_id": "R1M1", "attempt": item["attempt"], "status": status}
            for status in (answer["matches"][0]["status"],)
        ]
    }
    return str(answer["matches"][0]["status"])


def test_a_match_does_not_go_back_to_an_earlier_state(client: Client, made: make.MadeLeague) -> None:
    seen = []
    for state in ("COLLECTING_CHOICES", "WAITING_FOR_PLAYERS", "DRAWING_NUMBER", "COLLECTING_CHOICES"):
        assert progress_of_r1m1(client, made, state=state) == "ok"
        seen.append(made.match("R1M1").state)
    assert seen == ["COLLECTING_CHOICES", "COLLECTING_CHOICES", "DRAWING_NUMBER", "DRAWING_NUMBER"]
    steps = [step["state"] for step in made.match("R1M1").lifecycle]
    assert steps == ["ASSIGNED", "COLLECTING_CHOICES", "DRAWING_NUMBER"]


def test_who_joined_and_who_locked_in_is_stored_and_a_view_is_not(client: Client, made: make.MadeLeague) -> None:
    progress_of_r1m1(client, made, joined=["P01", "P09", 5])
    progress_of_r1m1(
        client, made, state="COLLECTING_CHOICES", joined=["P02"], locked_in=["P02", "P02", "X"], view={"a": 1}
    )
    match = made.match("R1M1")
    assert (match.joined, match.locked_in, match.view) == (["P01", "P02"], ["P02"], {})


def test_a_progress_report_may_be_ok_for_one_match_and_lost_for_another(client: Client) -> None:
    made = make.running_league(players=4)
    in_play, ended = made.match("R1M1"), made.match("R1M2")
    make.report(ended, "P03")
    items = [
        make.progress_item(in_play),
        make.progress_item(in_play, attempt=2),
        make.progress_item(ended),
        make.progress_item(in_play, match_id="R9M9"),
        make.progress_item(in_play, league_id="nowhere"),
    ]
    answer = progress(client, made.referees[0], *items)
    assert [one["status"] for one in answer["matches"]] == ["ok", "lost", "lost", "lost", "lost"]


def test_a_heartbeat_renews_the_lease_and_brings_a_suspended_referee_back(
    client: Client, made: make.MadeLeague
) -> None:
    now = timezone.now()
    judge = made.referee_of("R1M1")
    Match.objects.filter(match_id="R1M1").update(lease_until=now, state="WAITING_FOR_PLAYERS")
    Agent.objects.filter(pk=judge.agent.pk).update(state="SUSPENDED", heard_at=None)
    assert progress_of_r1m1(client, made) == "ok"
    lease = (made.match("R1M1").lease_until - now).total_seconds()
    assert 8 <= lease < 60
    assert (judge.fresh().state, judge.fresh().heard_at is None) == ("ACTIVE", False)


def entries() -> list[tuple[int, int, Any]]:
    return [(one.attempt, one.n, one.entry["body"]) for one in Message.objects.order_by("attempt", "n")]


def test_a_transcript_entry_that_is_sent_again_is_not_stored_again(client: Client, made: make.MadeLeague) -> None:
    progress_of_r1m1(client, made, transcript=[make.entry(0, body="a"), make.entry(1, body="b")])
    progress_of_r1m1(client, made, transcript=[make.entry(1, body="other"), make.entry(2, body="c")])
    report(client, made, transcript=[make.entry(2, body="other"), make.entry(3, body="d"), make.entry(3, body="e")])
    assert entries() == [(1, 0, "a"), (1, 1, "b"), (1, 2, "c"), (1, 3, "d")]


def test_transcript_entries_that_cannot_be_shown_are_left_out(client: Client, made: make.MadeLeague) -> None:
    junk: list[Any] = [
        "line",
        {},
        make.entry(0, n=True),
        make.entry(0, n=-1),
        make.entry(0, n=2**31),
        make.entry(0, n=500),
        make.entry(0, at="yesterday"),
        make.entry(0, at="2025-01-15T10:15:00"),
        make.entry(0, at=5),
        make.entry(0, notes=5),
        make.entry(0, body="x" * 9000),
        make.entry(0, body="good"),
    ]
    progress_of_r1m1(client, made, transcript=junk)
    assert entries() == [(1, 0, "good")]
    assert client.get("/leagues/fall/matches/R1M1/").status_code == 200


def test_tokens_in_a_transcript_are_redacted(client: Client, made: make.MadeLeague) -> None:
    body = {"auth_token": SECRET, "note": f"it said {SECRET}", "list": [SECRET], "auth_token_sha256": ["ab"]}
    progress_of_r1m1(client, made, transcript=[make.entry(0, body=body, problem=f"bad {SECRET}", notes=[SECRET])])
    entry = Message.objects.get().entry
    assert (entry["body"], entry["problem"], entry["notes"]) == (
        {"auth_token": REDACTED, "note": f"it said {REDACTED}", "list": [REDACTED], "auth_token_sha256": REDACTED},
        f"bad {REDACTED}",
        [REDACTED],
    )


def test_handing_back_a_match_is_no_lost_attempt(client: Client, made: make.MadeLeague) -> None:
    assert progress_of_r1m1(client, made, state="HANDED_BACK", transcript=[make.entry(0, body="kept")]) == "ok"
    match = made.match("R1M1")
    assert (match.state, match.lost_attempts, match.attempt, match.lease_until) == ("READY", 0, 1, None)
    assert entries() == [(1, 0, "kept")]
    assert progress_of_r1m1(client, made) == "lost"


def test_a_stranger_reports_nothing_of_a_sealed_match_of_the_sites_referee(client: Client) -> None:
    """Anybody may register as a referee at a league's own address, and gets an id that no other referee has."""
    made = make.running_league(players=2)
    match = made.match("R1M1")
    seal = {"status": "WIN", "winner_player_id": "P02", "reason": "", "details": {}, "faults": [], "draw": 3}
    seal |= {"conversation_id": match.conversation_id}
    assert make.progress(match, state="DRAWING_NUMBER", seal=seal) == "sealed"
    address = Agent.objects.get(kind="player", code="P02").endpoint
    meta = {"display_name": "Mallory", "version": "1.0.0", "game_types": ["even_odd"], "max_concurrent_matches": 2}
    meta |= {"contact_endpoint": "http://127.0.0.1:9999/mcp"}
    body = {"message_type": "REFEREE_REGISTER_REQUEST", "protocol": "league.v2", "referee_meta": meta}
    stranger = wire.ask(client, "register_referee", body, path="/leagues/fall/mcp")
    assert (made.referee_of("R1M1").agent.code, stranger["referee_id"]) == ("REF01", "REF02")
    fields = make.result_fields(match, "P02") | {"found_at": {"P02": "/nowhere"}, "proofs": {"P02": "0" * 64}}
    head = {"protocol": "league.v2", "message_type": "MATCH_RESULT_REPORT", "timestamp": wire.STAMP}
    head |= {"sender": "referee:REF02", "conversation_id": "c", "auth_token": stranger["auth_token"]}
    refused = wire.post(client, wire.request("report_match_result", head | fields)).json()
    assert refused.get("error", {}).get("data", {}).get("error_code") == "E013", refused
    # No player counts as told, and the path that the stranger reported is not stored for P02.
    now = made.match("R1M1")
    assert (now.state, "told" in now.seal) == ("DRAWING_NUMBER", False)
    assert Agent.objects.get(kind="player", code="P02").endpoint == address
