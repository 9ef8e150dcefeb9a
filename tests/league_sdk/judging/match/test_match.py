"""A match from the invitation to GAME_OVER, with scripted players (004 3.2, 8.7; ruling sections 6 to 8)."""

import json
from dataclasses import replace

import pytest

from league_sdk.asking.fault import Fault
from league_sdk.judging.match.ending import Verdict
from league_sdk.protocol import tokens
from league_sdk.protocol.faults import Cause
from league_sdk.protocol.notes import Code, note
from league_sdk.protocol.transcript import Wire
from tests.league_sdk.judging.scripted import (
    DECLINED,
    JOIN,
    NOT_LISTENING,
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

MESSAGES_TO_A_PLAYER = ["GAME_INVITATION", "CHOOSE_PARITY_CALL", "GAME_OVER"]
NOTHING = {"drawn_number": None, "number_parity": None, "choices": {A: None, B: None}}


# -- matches that are played ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("choices", "number", "status", "winner", "reason"),
    [
        (("even", "odd"), 8, "WIN", A, "P01 chose even, number was 8 (even)"),
        (("even", "odd"), 7, "WIN", B, "P02 chose odd, number was 7 (odd)"),
        (("odd", "odd"), 3, "DRAW", None, "both guessed right, number was 3 (odd)"),
        (("odd", "odd"), 4, "DRAW", None, "both guessed wrong, number was 4 (even)"),
    ],
)
async def test_a_match_of_even_odd_ends_by_its_rules(
    choices: tuple[str, str], number: int, status: str, winner: str | None, reason: str
) -> None:
    scripted = ScriptedMatch(moves={A: [choice(choices[0])], B: [choice(choices[1])]}, number=number)
    played = await scripted.play()
    details = {
        "drawn_number": number,
        "number_parity": ("even", "odd")[number % 2],
        "choices": dict(zip((A, B), choices, strict=True)),
    }
    assert played == Verdict(status, winner, reason, details, ())
    assert (scripted.types(A), scripted.types(B)) == (MESSAGES_TO_A_PLAYER, MESSAGES_TO_A_PLAYER)
    over = {"status": status, "winner_player_id": winner, **details, "reason": reason}
    for player in (A, B):
        (last,) = scripted.to(player, "GAME_OVER")
        assert last.message["game_result"] == over
        assert (last.message["attempt"], last.limit_s) == (1, 5)


async def test_both_players_are_asked_at_the_same_moment() -> None:
    scripted = ScriptedMatch(moves={A: [choice("even", 10)], B: [choice("odd", 25)]})
    await scripted.play()
    assert [(one.at, one.player_id, one.type) for one in scripted.sent] == [
        (0, A, "GAME_INVITATION"),
        (0, B, "GAME_INVITATION"),
        (1, A, "CHOOSE_PARITY_CALL"),
        (1, B, "CHOOSE_PARITY_CALL"),
        (26, A, "GAME_OVER"),
        (26, B, "GAME_OVER"),
    ]


async def test_the_public_sees_the_states_in_order() -> None:
    scripted = ScriptedMatch(moves={A: [choice("even", 10)], B: [choice("odd", 25)]})
    await scripted.play()
    shown = [tuple(one[name] for name in ("state", "joined", "locked_in", "view")) for one in scripted.published]
    changes = [now for before, now in zip([None, *shown], shown, strict=False) if now != before]
    view = {"choices": {A: "even", B: "odd"}, "drawn_number": 8}
    assert changes == [
        ("WAITING_FOR_PLAYERS", [], [], {}),
        ("WAITING_FOR_PLAYERS", [A], [], {}),
        ("WAITING_FOR_PLAYERS", [A, B], [], {}),
        ("COLLECTING_CHOICES", [A, B], [], {}),
        ("COLLECTING_CHOICES", [A, B], [A], {}),
        ("COLLECTING_CHOICES", [A, B], [A, B], {}),
        ("DRAWING_NUMBER", [A, B], [A, B], {}),
        ("DRAWING_NUMBER", [A, B], [], view),
    ]


# -- secret choices ---------------------------------------------------------------------------------------


async def test_no_choice_is_public_before_the_draw() -> None:
    """Every state of the log, after every change, up to the moment the number is drawn."""
    rude = choice({"parity_choice": "odd", "i_wanted": "even"})
    scripted = ScriptedMatch(moves={A: [choice("evens"), choice("even")], B: [rude, SILENCE, choice("odd")]}, number=8)
    await scripted.play()
    assert scripted.drawn_after is not None
    before = json.dumps(scripted.published[: scripted.drawn_after])
    assert [word for word in ('"even"', '"odd"', '"evens"', '\\"odd\\"') if word in before] == []
    # The transcript has all choices after the draw, in order and without a gap.
    entries = scripted.entries()
    assert [entry["n"] for entry in entries] == list(range(len(entries)))
    answers = [entry["body"] for entry in entries if entry["message_type"] == "CHOOSE_PARITY_RESPONSE"]
    choices = [answer["result"]["parity_choice"] for answer in answers if answer]
    assert sorted(map(str, choices)) == sorted(["evens", "even", str(rude.message["parity_choice"]), "odd"])


async def test_a_choice_stays_hidden_while_the_other_player_does_not_answer() -> None:
    scripted = ScriptedMatch(moves={B: [SILENCE] * 4})
    await scripted.play()
    last = scripted.to(B, "GAME_ERROR")[-1]
    answers = [
        entry for one in scripted.published[: last.published_before] for entry in one["entries"] if entry["sender"] == A
    ]
    assert [entry["message_type"] for entry in answers] == ["GAME_JOIN_ACK"]
    assert scripted.published[last.published_before - 1]["locked_in"] == [A]
    assert [entry["body"] for entry in scripted.entries() if entry["message_type"] == "CHOOSE_PARITY_RESPONSE"] == [
        {"result": {"message_type": "CHOOSE_PARITY_RESPONSE", "parity_choice": "even"}}, None, None, None, None,
    ]  # fmt: skip


# -- silence ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "limit", "message_type", "tries"),
    [
        ("joins", 5, "GAME_INVITATION", [0, 6, 13, 22]),
        ("moves", 30, "CHOOSE_PARITY_CALL", [1, 32, 64, 98]),
    ],
)
async def test_three_retries_follow_a_silence(kind: str, limit: float, message_type: str, tries: list[float]) -> None:
    scripted = ScriptedMatch(**{kind: {B: [SILENCE] * 4}})
    played = await scripted.play()
    calls = scripted.to(B, message_type)
    assert [(one.at, one.limit_s) for one in calls] == [(moment, limit) for moment in tries]
    assert [one.message["deadline"] for one in calls] == [at(moment + limit) for moment in tries]
    assert [one.message["timestamp"] for one in calls] == [at(moment) for moment in tries]
    assert {one.message["conversation_id"] for one in scripted.sent} == {"conv-r1m1-001"}
    assert (played.status, played.winner, faults(played)) == ("TECHNICAL_LOSS", A, [(B, "E001", message_type, 4)])
    assert played.reason == f"P02 did not answer {message_type} in {limit:g} s (tries: 4). Technical loss"
    ends = [moment + limit for moment in tries]
    assert [(one.at, one.type) for one in scripted.to(B) if one.at >= tries[0]] == [
        (tries[0], message_type), (ends[0], "GAME_ERROR"), (tries[1], message_type), (ends[1], "GAME_ERROR"),
        (tries[2], message_type), (ends[2], "GAME_ERROR"), (tries[3], message_type), (ends[3], "GAME_ERROR"),
        (ends[3], "GAME_OVER"),
    ]  # fmt: skip
    assert "GAME_ERROR" not in scripted.types(A)


async def test_game_error_has_flat_and_nested_fields() -> None:
    scripted = ScriptedMatch(joins={B: [SILENCE] * 4})
    await scripted.play()
    errors = [one.message for one in scripted.to(B, "GAME_ERROR")]
    for message, count, moment, again in zip(errors, (1, 2, 3, 3), (5, 11, 18, 27), (6, 13, 22, None), strict=True):
        next_retry_at = None if again is None else at(again)
        assert message == {
            "protocol": "league.v2",
            "message_type": "GAME_ERROR",
            "sender": "referee:REF01",
            "timestamp": at(moment),
            "conversation_id": "conv-r1m1-001",
            "auth_token": scripted.brief.seats[1].league_token,
            "league_id": "league_2025_even_odd",
            "round_id": 1,
            "match_id": "R1M1",
            "game_id": "R1M1",
            "game_type": "even_odd",
            "player_id": B,
            "affected_player": B,
            "error_code": "E001",
            "error_name": "TIMEOUT_ERROR",
            "error_description": "TIMEOUT_ERROR",
            "legacy_code": "G002",
            "message": "no answer in time",
            "context": {},
            "action_required": "GAME_JOIN_ACK",
            "game_state": "WAITING_FOR_PLAYERS",
            "retryable": True,
            "retry_count": count - 1 if again else count,
            "max_retries": 3,
            "retry_info": {"retry_count": count, "max_retries": 3, "next_retry_at": next_retry_at},
            "consequence": "Technical loss if no valid answer comes within the retries"
            if again
            else "Technical loss: the retries are used up",
        }


@pytest.mark.parametrize("failure", [NOT_LISTENING, RESET])
async def test_a_player_whose_connections_fail_loses_after_seven_seconds(failure: object) -> None:
    scripted = ScriptedMatch(joins={B: [failure] * 4})
    played = await scripted.play()
    assert [one.at for one in scripted.to(B, "GAME_INVITATION")] == [0, 1, 3, 7]
    assert faults(played) == [(B, "E009", "GAME_INVITATION", 4)]
    assert scripted.to(A, "GAME_OVER")[0].at == 7


async def test_an_answer_to_a_later_try_counts() -> None:
    scripted = ScriptedMatch(
        joins={A: [SILENCE, JOIN], B: [RESET, SILENCE, SILENCE, JOIN]}, moves={A: [SILENCE, choice("odd")]}
    )
    played = await scripted.play()
    assert (played.status, played.details["choices"], played.faults) == ("DRAW", {A: "odd", B: "odd"}, ())


async def test_the_retry_delays_are_settings() -> None:
    scripted = ScriptedMatch(
        joins={B: [NOT_LISTENING] * 3}, brief=brief(max_retries=2, retry_base_s=0.5, retry_factor=3)
    )
    await scripted.play()
    assert [one.at for one in scripted.to(B, "GAME_INVITATION")] == [0, 0.5, 2]


@pytest.mark.parametrize(
    ("patience", "tries"),
    [(130, [(1, 30), (32, 30), (64, 30), (98, 30)]), (40, [(1, 30), (32, 9)]), (31, [(1, 30)]), (20, [(1, 20)])],
)
async def test_request_patience_limits_all_tries_together(patience: float, tries: list[tuple[float, float]]) -> None:
    scripted = ScriptedMatch(moves={B: [SILENCE] * 4}, brief=brief(request_patience_s=patience))
    played = await scripted.play()
    calls = scripted.to(B, "CHOOSE_PARITY_CALL")
    assert [(one.at, one.limit_s) for one in calls] == tries
    assert [one.message["deadline"] for one in calls] == [at(moment + limit) for moment, limit in tries]
    assert faults(played) == [(B, "E001", "CHOOSE_PARITY_CALL", len(tries))]
    assert scripted.to(B, "GAME_ERROR")[-1].message["retry_info"]["next_retry_at"] is None


# -- absent players ---------------------------------------------------------------------------------------


async def test_nobody_wins_when_both_players_are_absent() -> None:
    scripted = ScriptedMatch(joins={A: [NOT_LISTENING] * 4, B: [SILENCE] * 4})
    played = await scripted.play()
    assert (played.status, played.winner, played.details) == ("TECHNICAL_LOSS", None, NOTHING)
    assert faults(played) == [(A, "E009", "GAME_INVITATION", 4), (B, "E001", "GAME_INVITATION", 4)]
    assert played.reason == (
        "P01 could not be reached for GAME_INVITATION (tries: 4): nobody listens at its address; "
        "P02 did not answer GAME_INVITATION in 5 s (tries: 4). Technical loss"
    )
    assert scripted.drawn_after is None


@pytest.mark.parametrize("absent", [[A], [B], [A, B]])
async def test_no_show_cancel_cancels_a_match_with_an_absent_player(absent: list[str]) -> None:
    scripted = ScriptedMatch(joins={player: [NOT_LISTENING] * 4 for player in absent}, brief=brief(no_show="cancel"))
    played = await scripted.play()
    assert (played.status, played.winner, played.details) == ("CANCELLED", None, NOTHING)
    assert [one.message["game_result"]["status"] for one in scripted.to(A, "GAME_OVER")] == ["CANCELLED"]


async def test_no_show_cancel_does_not_apply_after_both_have_joined() -> None:
    scripted = ScriptedMatch(moves={A: [SILENCE] * 4}, brief=brief(no_show="cancel"))
    played = await scripted.play()
    assert (played.status, played.winner) == ("TECHNICAL_LOSS", B)


async def test_a_player_that_refuses_the_invitation_is_not_invited_again() -> None:
    scripted = ScriptedMatch(joins={A: [DECLINED]})
    played = await scripted.play()
    assert (played.status, played.winner) == ("TECHNICAL_LOSS", B)
    assert played.faults == (
        Fault(A, "E002", "GAME_INVITATION", 1, Cause.WRONG_MESSAGE, 5, note(Code.REFUSED_INVITATION)),
    )
    assert played.reason == (
        "P01 gave no valid answer to GAME_INVITATION (tries: 1): it refused the invitation. Technical loss"
    )
    assert scripted.types(A) == ["GAME_INVITATION", "GAME_OVER"]


async def test_game_over_of_a_technical_loss_has_no_number() -> None:
    scripted = ScriptedMatch(moves={B: [SILENCE] * 4})
    await scripted.play()
    for player in (A, B):
        assert scripted.to(player, "GAME_OVER")[0].message["game_result"] == {
            "status": "TECHNICAL_LOSS",
            "winner_player_id": A,
            "drawn_number": None,
            "number_parity": None,
            "choices": {A: "even", B: None},
            "reason": "P02 did not answer CHOOSE_PARITY_CALL in 30 s (tries: 4). Technical loss",
        }


# -- whose an address is -----------------------------------------------------------------------------------


@pytest.mark.parametrize("own", [True, False])
@pytest.mark.parametrize("on_the_connection", [True, False])
async def test_an_own_token_in_a_reply_proves_whose_the_address_is(own: bool, on_the_connection: bool) -> None:
    """A POST may come from anywhere, but a reply comes from the address that was called."""
    mine, theirs = "tok_" + "a" * 32, "tok_" + "b" * 32
    seat = {"token_digests": (tokens.digest(mine), "c" * 64), "unproven": (tokens.digest(mine),)}
    join = replace(
        JOIN,
        message=JOIN.message | {"auth_token": mine if own else theirs},
        http_status=200 if on_the_connection else None,
    )
    scripted = ScriptedMatch(joins={A: [join]}, brief=brief(a=seat))
    await scripted.play()
    assert scripted.log.proofs == ({A: tokens.digest(mine)} if own and on_the_connection else {})


@pytest.mark.parametrize(("way", "status"), [("inbox", None), ("bridge", 200)])
async def test_a_token_in_an_answer_over_a_line_proves_no_address(way: str, status: int | None) -> None:
    """Anybody may register another's address and open a line: answers on the line do not come from that address."""
    mine = "tok_" + "a" * 32
    seat = {"token_digests": (tokens.digest(mine),), "unproven": (tokens.digest(mine),)}
    wire = Wire(path="", shape="canonical", method="x", id=1, session=False, status=200, content_type="", way=way)
    join = replace(JOIN, message=JOIN.message | {"auth_token": mine}, http_status=200, wire=(wire,))
    scripted = ScriptedMatch(joins={A: [join]}, brief=brief(a=seat))
    await scripted.play()
    assert scripted.log.proofs == {}
    entries = [one for one in scripted.entries() if one.get("wire")]
    assert [(one["wire"][0]["way"], one["http_status"]) for one in entries] == [(way, status)]


async def test_a_token_that_is_already_proven_is_not_reported() -> None:
    mine = "tok_" + "a" * 32
    join = replace(JOIN, message=JOIN.message | {"auth_token": mine}, http_status=200)
    scripted = ScriptedMatch(joins={A: [join]}, brief=brief(a={"token_digests": (tokens.digest(mine),)}))
    await scripted.play()
    assert scripted.log.proofs == {}
