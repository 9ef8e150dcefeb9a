"""Illegal choices, suspended players, later attempts and the last message (ruling, sections 6 to 8)."""

import pytest

from league_sdk.asking.call_result import CallResult
from tests.league_sdk.judging.scripted import (
    DECLINED,
    JOIN,
    NOT_LISTENING,
    RECEIVED,
    RESET,
    SILENCE,
    A,
    B,
    ScriptedMatch,
    at,
    brief,
    choice,
    faults,
)

SENTENCE = 'parity_choice must be exactly "even" or "odd".'


# -- illegal choices --------------------------------------------------------------------------------------


async def test_an_illegal_choice_is_asked_again_at_once() -> None:
    scripted = ScriptedMatch(moves={A: [choice("evens"), choice("even")]})
    played = await scripted.play()
    assert (played.status, played.winner, played.faults) == ("WIN", A, ())
    assert [(one.at, one.type) for one in scripted.to(A)] == [
        (0, "GAME_INVITATION"),
        (1, "CHOOSE_PARITY_CALL"),
        (3, "GAME_ERROR"),
        (3, "CHOOSE_PARITY_CALL"),
        (5, "GAME_OVER"),
    ]
    error = scripted.to(A, "GAME_ERROR")[0].message
    names = (
        "error_code",
        "error_name",
        "message",
        "action_required",
        "game_state",
        "retryable",
        "retry_info",
        "context",
    )
    assert {name: error[name] for name in names} == {
        "error_code": "E004",
        "error_name": "INVALID_PARITY_CHOICE",
        "message": SENTENCE,
        "action_required": "CHOOSE_PARITY_RESPONSE",
        "game_state": "COLLECTING_CHOICES",
        "retryable": True,
        "retry_info": {"retry_count": 1, "max_retries": 3, "next_retry_at": at(3)},
        "context": {"field": "parity_choice", "seen": '"evens"', "expected": '"even" or "odd"'},
    }


async def test_a_player_with_illegal_choices_only_loses_after_the_retries() -> None:
    scripted = ScriptedMatch(moves={A: [choice(value) for value in ("evens", 7, ["even", "odd"], "heads")]})
    played = await scripted.play()
    assert (played.status, played.winner, faults(played)) == (
        "TECHNICAL_LOSS",
        B,
        [(A, "E004", "CHOOSE_PARITY_CALL", 4)],
    )
    assert played.reason == (
        "P01 answered CHOOSE_PARITY_CALL with no legal move (tries: 4): "
        'parity_choice must be exactly "even" or "odd". Technical loss'
    )
    assert played.details["choices"] == {A: None, B: "odd"}
    errors = [one.message for one in scripted.to(A, "GAME_ERROR")]
    assert [(one["retry_count"], one["retryable"]) for one in errors] == [(0, True), (1, True), (2, True), (3, False)]


async def test_silence_and_illegal_choices_share_the_retries_and_only_silence_waits() -> None:
    scripted = ScriptedMatch(moves={A: [SILENCE, choice("x"), SILENCE, choice("x")]})
    played = await scripted.play()
    assert [one.at for one in scripted.to(A, "CHOOSE_PARITY_CALL")] == [1, 32, 34, 66]
    assert faults(played) == [(A, "E004", "CHOOSE_PARITY_CALL", 4)]


# -- suspended players ------------------------------------------------------------------------------------


async def test_a_suspended_player_is_invited_once_without_retries() -> None:
    scripted = ScriptedMatch(joins={B: [SILENCE]}, brief=brief(b={"suspended": True}))
    played = await scripted.play()
    assert (played.winner, faults(played)) == (A, [(B, "E001", "GAME_INVITATION", 1)])
    assert [(one.at, one.type) for one in scripted.to(B)] == [
        (0, "GAME_INVITATION"),
        (5, "GAME_ERROR"),
        (5, "GAME_OVER"),
    ]
    error = scripted.to(B, "GAME_ERROR")[0].message
    assert (error["retry_count"], error["max_retries"], error["retry_info"]["next_retry_at"]) == (0, 0, None)


async def test_a_suspended_player_that_joins_has_all_its_retries() -> None:
    scripted = ScriptedMatch(moves={B: [SILENCE, RESET, SILENCE, choice("odd")]}, brief=brief(b={"suspended": True}))
    played = await scripted.play()
    assert (played.status, played.faults, scripted.log.joined) == ("WIN", (), [A, B])


async def test_the_opponent_of_a_suspended_player_keeps_its_retries() -> None:
    scripted = ScriptedMatch(joins={A: [SILENCE, JOIN]}, brief=brief(b={"suspended": True}))
    assert (await scripted.play()).faults == ()


# -- later attempts ---------------------------------------------------------------------------------------


async def test_a_player_that_had_joined_counts_as_joined_although_it_refuses() -> None:
    scripted = ScriptedMatch(joins={A: [DECLINED]}, brief=brief(attempt=2, a={"joined_before": True}))
    played = await scripted.play()
    assert (played.status, played.winner, scripted.log.joined) == ("WIN", A, [A, B])
    assert scripted.types(A) == ["GAME_INVITATION", "CHOOSE_PARITY_CALL", "GAME_OVER"]
    assert {one.message["conversation_id"] for one in scripted.sent} == {"conv-r1m1-002"}
    assert scripted.to(A, "GAME_OVER")[0].message["attempt"] == 2


@pytest.mark.parametrize(
    "refusal",
    [
        CallResult(error_code="E002", problem="the player answered with an error", body={"error": {"code": -32000}}),
        CallResult(message={"status": "REJECTED"}, body={"status": "REJECTED"}),
        CallResult(message={"status": "already in a match"}, body={"status": "already in a match"}),
    ],
)
async def test_a_player_that_had_joined_may_refuse_a_repeated_invitation(refusal: CallResult) -> None:
    played = await ScriptedMatch(joins={A: [refusal]}, brief=brief(attempt=2, a={"joined_before": True})).play()
    assert (played.status, played.winner, played.faults) == ("WIN", A, ())


async def test_joined_before_is_ignored_in_the_first_attempt() -> None:
    scripted = ScriptedMatch(joins={A: [DECLINED]}, brief=brief(a={"joined_before": True}))
    assert (await scripted.play()).winner == B


async def test_an_unreachable_player_is_absent_although_it_had_joined() -> None:
    scripted = ScriptedMatch(joins={A: [NOT_LISTENING] * 4}, brief=brief(attempt=2, a={"joined_before": True}))
    assert faults(await scripted.play()) == [(A, "E009", "GAME_INVITATION", 4)]


async def test_a_busy_player_is_freed_of_the_lost_attempt_and_invited_once_more() -> None:
    scripted = ScriptedMatch(joins={B: [DECLINED, JOIN]}, brief=brief(attempt=3))
    played = await scripted.play()
    assert (played.status, played.winner) == ("WIN", A)
    assert scripted.types(B) == ["GAME_INVITATION", "GAME_OVER", "GAME_INVITATION", "CHOOSE_PARITY_CALL", "GAME_OVER"]
    freed, last = (one.message for one in scripted.to(B, "GAME_OVER"))
    assert (freed["attempt"], last["attempt"]) == (2, 3)
    assert freed["game_result"] == {
        "status": "CANCELLED",
        "winner_player_id": None,
        "drawn_number": None,
        "number_parity": None,
        "choices": {A: None, B: None},
        "reason": "the referee of the earlier attempt was lost; the match is played again",
    }
    assert scripted.types(A) == ["GAME_INVITATION", "CHOOSE_PARITY_CALL", "GAME_OVER"]


async def test_a_player_that_refuses_twice_loses() -> None:
    scripted = ScriptedMatch(joins={B: [DECLINED, DECLINED]}, brief=brief(attempt=2))
    played = await scripted.play()
    assert (played.status, played.winner, faults(played)) == ("TECHNICAL_LOSS", A, [(B, "E002", "GAME_INVITATION", 1)])
    assert scripted.types(B) == ["GAME_INVITATION", "GAME_OVER", "GAME_INVITATION", "GAME_OVER"]


# -- GAME_OVER --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("answers", "sends"),
    [
        ([RECEIVED], 1),
        ([NOT_LISTENING, RECEIVED], 2),
        ([NOT_LISTENING, NOT_LISTENING], 2),
        ([RESET], 1),
        ([SILENCE], 1),
        ([CallResult(error_code="E002", problem="HTTP 404")], 1),
    ],
)
async def test_game_over_is_sent_again_after_a_failed_connect_only(answers: list[CallResult], sends: int) -> None:
    scripted = ScriptedMatch(ends={B: answers})
    played = await scripted.play()
    assert (len(scripted.to(A, "GAME_OVER")), len(scripted.to(B, "GAME_OVER"))) == (1, sends)
    assert (played.status, played.winner) == ("WIN", A)


async def test_game_over_is_sent_to_both_players_at_once() -> None:
    scripted = ScriptedMatch(ends={A: [SILENCE]}, brief=brief(game_over_timeout_s=4))
    await scripted.play()
    assert [(one.player_id, one.at, one.limit_s) for one in scripted.sent if one.type == "GAME_OVER"] == [
        (A, 3, 4),
        (B, 3, 4),
    ]


# -- the transcript ---------------------------------------------------------------------------------------


async def test_the_transcript_has_every_message_with_times() -> None:
    scripted = ScriptedMatch()
    await scripted.play()
    rows = [
        (
            one["sender"],
            one["recipient"],
            one["message_type"],
            one["method"],
            one["elapsed_ms"],
            one["limit_ms"],
        )
        for one in scripted.entries()
    ]
    assert sorted(rows) == sorted(
        row
        for player in (A, B)
        for row in (
            ("REF01", player, "GAME_INVITATION", "handle_game_invitation", None, None),
            (player, "REF01", "GAME_JOIN_ACK", "", 1000, 5000),
            ("REF01", player, "CHOOSE_PARITY_CALL", "choose_parity", None, None),
            (player, "REF01", "CHOOSE_PARITY_RESPONSE", "", 2000, 30000),
            ("REF01", player, "GAME_OVER", "notify_match_result", None, None),
            (player, "REF01", "reply to GAME_OVER", "", 0, 5000),
        )
    )
    assert [one["n"] for one in scripted.entries()] == list(range(12))
