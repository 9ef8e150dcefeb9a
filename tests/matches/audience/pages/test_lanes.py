"""The time line of a match: pairs of calls and answers, deadlines, and silences."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from league_sdk.protocol.masking import without_addresses
from matches.audience.pages.lanes import begin_of, rows_of

PLAYERS = ("P01", "P02")
BEGIN = datetime(2025, 1, 15, 10, 15, tzinfo=UTC)


def at(seconds: float) -> str:
    return (BEGIN + timedelta(seconds=seconds)).isoformat()


def call(n: int, player: str, seconds: float, kind: str = "CHOOSE_PARITY_CALL", **changes: Any) -> dict[str, Any]:
    """A message of the referee to a player."""
    body = {"deadline": (BEGIN + timedelta(seconds=int(seconds) + 30)).strftime("%Y-%m-%dT%H:%M:%SZ")}
    return {
        "n": n,
        "attempt": 1,
        "at": at(seconds),
        "sender": "REF01",
        "recipient": player,
        "message_type": kind,
        "method": "choose_parity",
        "elapsed_ms": None,
        "limit_ms": None,
        "http_status": None,
        "problem": "",
        "notes": [],
        "body": body,
    } | changes


def answer_entry(n: int, player: str, seconds: float, elapsed_ms: int | None, **changes: Any) -> dict[str, Any]:
    """The transcript entry of the answer."""
    answer = {
        "sender": player,
        "recipient": "REF01",
        "message_type": "CHOOSE_PARITY_RESPONSE",
        "method": "",
        "elapsed_ms": elapsed_ms,
        "limit_ms": 30_000,
        "http_status": 200,
        "body": {"result": {"parity_choice": "even"}},
    }
    return call(n, player, seconds) | answer | changes


NO_ANSWER = {"http_status": None, "body": None, "problem": "no answer within 30 s"}


# A class in `waits` is w, a player's lane (a, b) and a part of a wait for this player: start (s), middle (m), end (e).
# The class with x says that the wait ended without an answer.


def rows(*entries: dict[str, Any], steps: Any = (), in_play: bool = False) -> list[Any]:
    return rows_of(entries, steps, PLAYERS, begun=begin_of(entries, steps), in_play=in_play)


def message_rows(found: list[Any]) -> list[tuple[Any, ...]]:
    return [(row.key, row.lane, row.verdict, row.timing) for row in found if row.kind == "message"]


def test_each_answer_belongs_to_the_call_of_its_own_player() -> None:
    lane_rows = rows(
        call(0, "P01", 0), call(1, "P02", 0), answer_entry(2, "P02", 0.2, 200), answer_entry(3, "P01", 1.5, 1500)
    )
    assert message_rows(lane_rows) == [
        ("1-0", "a", "", ""),
        ("1-1", "b", "", ""),
        ("1-2", "b", "ok", "200 ms of 30 s"),
        ("1-3", "a", "ok", "1.5 s of 30 s"),
    ]
    assert [row.waits for row in lane_rows] == ["was", "wam wbs", "wam wbe", "wae"]
    assert [getattr(row, "used", None) for row in lane_rows] == [None, None, 1, 5]


@pytest.mark.parametrize(
    ("changes", "verdict", "words"),
    [
        ({}, "ok", "12 ms of 30 s"),
        ({"problem": "no choice in it"}, "wrong", "12 ms of 30 s"),
        ({"elapsed_ms": 30_500}, "late", "30.5 s: too late by 500 ms"),
        ({"elapsed_ms": 30_000} | NO_ANSWER, "never", "no answer in 30 s"),
        ({"http_status": None, "body": None, "problem": "connection refused"}, "never", "no answer"),
        ({"elapsed_ms": None, "notes": ["came after the verdict"]}, "aside", ""),
        ({"elapsed_ms": "12", "limit_ms": []}, "ok", "12 ms of 30 s"),
    ],
)
def test_answers_in_time_wrong_late_and_missing_are_distinguished(
    changes: dict[str, Any], verdict: str, words: str
) -> None:
    lane_rows = rows(call(0, "P01", 0), answer_entry(1, "P01", 0.012, 12) | changes)
    assert message_rows(lane_rows)[1] == ("1-1", "a", verdict, words)


def test_a_players_lane_is_hollow_while_no_answer_comes() -> None:
    lane_rows = rows(call(0, "P01", 0), call(1, "P02", 0), answer_entry(2, "P01", 30, 30_000) | NO_ANSWER)
    assert [(row.kind, row.waits) for row in lane_rows] == [
        ("message", "was wax"),
        ("message", "wam wax"),
        ("silence", "wam wax"),
        ("message", "wae wax"),
    ]


def test_a_callback_is_timed_from_the_call_that_it_answers() -> None:
    posted = answer_entry(1, "P01", 4, 0, limit_ms=None, http_status=None, notes=["answered by a POST of its own"])
    assert message_rows(rows(call(0, "P01", 0), posted))[1] == ("1-1", "a", "ok", "4 s of 30 s")


def test_an_unanswered_call_is_open_only_while_the_match_runs() -> None:
    entries = (call(0, "P01", 0), call(1, "P02", 0), answer_entry(2, "P01", 0.1, 100))
    assert [verdict for _, _, verdict, _ in message_rows(rows(*entries))] == ["", "", "ok"]
    lane_rows = rows(*entries, in_play=True)
    assert [verdict for _, _, verdict, _ in message_rows(lane_rows)] == ["", "open", "ok"]
    assert (lane_rows[1].limit, lane_rows[1].waits, lane_rows[2].waits) == ("of 30 s", "wam wbs", "wae wbm")


def test_a_player_that_has_locked_in_is_not_waited_for() -> None:
    entries = (call(0, "P01", 0), call(1, "P02", 0))
    lane_rows = rows_of(entries, (), PLAYERS, begun=None, in_play=True, locked_in=["P02"])
    assert [(verdict, words) for _, _, verdict, words in message_rows(lane_rows)] == [
        ("open", ""),
        ("locked", "has locked in"),
    ]
    assert [row.waits for row in lane_rows] == ["was", "wam"]


def test_an_answer_followed_by_a_game_error_is_wrong() -> None:
    complaint = {"message": 'parity_choice must be exactly "even" or "odd".'}
    lane_rows = rows(
        call(0, "P02", 0), answer_entry(1, "P02", 0.1, 100), call(2, "P02", 0.1, "GAME_ERROR", body=complaint),
        answer_entry(3, "P02", 0.2, 100), call(4, "P02", 0.3), answer_entry(5, "P02", 0.4, 100),
        call(6, "P02", 0.5, "GAME_OVER"),
    )  # fmt: skip
    assert [(row.verdict, row.problem) for row in lane_rows if row.incoming] == [
        ("wrong", complaint["message"]),
        ("ok", ""),
        ("ok", ""),
    ]


@pytest.mark.parametrize(
    ("body", "choice"),
    [
        ({"result": {"parity_choice": "odd"}}, "odd"),
        ({"jsonrpc": "2.0", "id": 7, "result": {"move_data": {"choice": 3}}}, "3"),
        ({"parity_choice": "even"}, "even"),
        ({"result": {"parity_choice": "x" * 50}}, "x" * 20),
        ({"result": {"parity_choice": ["odd"]}}, "odd"),
        ({"result": {"parity_choice": True}}, ""),
        ("odd", ""),
        (None, ""),
    ],
)
def test_the_move_is_shown_beside_its_answer(body: Any, choice: str) -> None:
    entries = (call(0, "P01", 0), answer_entry(1, "P01", 0.1, 100, body=body))
    lane_rows = rows_of(entries, (), PLAYERS, begun=None, in_play=False, choice_field="parity_choice")
    assert [row.choice for row in lane_rows] == ["", choice]


def test_a_long_silence_is_labelled_and_drawn_in_limited_size() -> None:
    lane_rows = rows(call(0, "P01", 0), answer_entry(1, "P01", 1, 1000), call(2, "P01", 3.1), call(3, "P01", 3000))
    assert [(row.kind, getattr(row, "label", None), row.gap) for row in lane_rows] == [
        ("message", None, 0),
        ("message", None, 2),
        ("silence", "2.1 s pass", 2),
        ("message", None, 0),
        ("silence", "49 min 56 s pass", 5),
        ("message", None, 0),
    ]
    assert [row.offset for row in lane_rows if row.kind == "message"] == ["+0.000", "+1.000", "+3.100", "+3000.000"]


STEPS = [
    {"state": "READY", "at": at(-60)},
    {"state": "ASSIGNED", "at": at(0)},
    {"state": "WAITING_FOR_PLAYERS", "at": at(0.1)},
    {"state": "COLLECTING_CHOICES", "at": at(1)},
    {"state": "FINISHED", "at": at(3)},
]


def test_steps_are_in_the_lane_of_the_league_manager_or_the_referee() -> None:
    lane_rows = rows(call(0, "P01", 0.2), answer_entry(1, "P01", 0.9, 700), call(2, "P01", 1.1), steps=STEPS)
    assert [getattr(row, "key", None) or (row.state, row.lane) for row in lane_rows if row.kind != "silence"] == [
        ("READY", "l"),
        ("ASSIGNED", "given"),
        ("WAITING_FOR_PLAYERS", "r"),
        "1-0",
        "1-1",
        ("COLLECTING_CHOICES", "r"),
        "1-2",
        ("FINISHED", "reported"),
    ]
    assert next(row for row in lane_rows if getattr(row, "state", None) == "ASSIGNED").offset == "+0.000"


def test_a_wrong_clock_of_a_referee_does_not_change_the_order() -> None:
    lane_rows = rows(call(0, "P01", 7200), answer_entry(1, "P01", 7200.5, 500), steps=STEPS)
    assert [getattr(row, "key", None) or row.state for row in lane_rows if row.kind != "silence"] == [
        "READY", "ASSIGNED", "WAITING_FOR_PLAYERS", "COLLECTING_CHOICES", "1-0", "1-1", "FINISHED",
    ]  # fmt: skip


def test_a_match_without_a_message_was_ended_by_the_league_manager() -> None:
    assert [row.lane for row in rows(steps=[{"state": "FINISHED", "at": at(3)}])] == ["l"]


def test_addresses_in_texts_are_masked() -> None:
    seen = 'found at http://10.0.0.7:8101/mcp, not "https://me.example/x?y=1".'
    assert without_addresses(seen) == 'found at [address] not "[address]".'


JUNK: list[Any] = [None, True, -1, 10**30, 1.5, float("nan"), "", "P01", "player:P02", [], {}, {"deadline": "soon"}]


@given(
    st.lists(
        st.fixed_dictionaries(
            {},
            optional=dict.fromkeys(
                ["sender", "recipient", "message_type", "method", "elapsed_ms", "limit_ms", "http_status", "problem",
                 "body"],
                st.sampled_from(JUNK),
            ),
        ),
        max_size=6,
    )
)  # fmt: skip
def test_no_transcript_of_a_referee_breaks_the_time_line(changes: list[dict[str, Any]]) -> None:
    entries = [call(n, "P01", n) | change for n, change in enumerate(changes)]
    lane_rows = rows(*entries, in_play=True)
    assert [row.key for row in lane_rows if row.kind == "message"] == [f"1-{n}" for n in range(len(entries))]
