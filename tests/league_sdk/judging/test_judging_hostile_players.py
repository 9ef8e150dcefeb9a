"""Players whose answers try to harm the referee, the match, or the secrecy before the draw."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from league_sdk.asking.call_result import CallResult
from league_sdk.asking.mailbox import MAX_UNREAD_ANSWERS
from league_sdk.judging.match.brief import Seat
from league_sdk.protocol.agents_time import AGENTS_TIME
from tests.bots.hostile.base import Behaviour, Call, Talk
from tests.league_sdk.asking.test_callbacks import EVEN, Posting
from tests.league_sdk.judging.hostile_match import play
from tests.league_sdk.judging.scripted import SILENCE, A, B, ScriptedMatch, choice


@pytest.mark.parametrize(
    ("said_type", "shown"),
    [
        *((said, "CHOOSE_PARITY_RESPONSE") for said in ("\u202eREEFER", "two\nlines", "", 7, ["x"])),
        ("x" * 100, "x" * 40),
    ],
)
async def test_a_message_type_is_shown_only_if_it_is_printable_and_cut_short(said_type: Any, shown: str) -> None:
    answer = choice("even")
    scripted = ScriptedMatch(moves={A: [replace(answer, message={**answer.message, "message_type": said_type})]})
    await scripted.play()
    types = [entry["message_type"] for entry in scripted.entries() if entry["sender"] == A]
    assert types == ["GAME_JOIN_ACK", shown, "reply to GAME_OVER"]


class Flooding(Posting):
    """A player that posts one more illegal choice whenever it is told that the last one was illegal."""

    async def _tell(self, seat: Seat, message: dict[str, Any], *, limit_s: float) -> CallResult:
        if message["message_type"] == "GAME_ERROR" and len(self.receipts) < 200:
            wrong = EVEN | {"parity_choice": f"no {len(self.receipts)}"}
            self.receipts.append(self.mailbox.deliver(seat.player_id, "CHOOSE_PARITY_RESPONSE", wrong))
        return await super()._tell(seat, message, limit_s=limit_s)


async def test_endless_illegal_choices_do_not_keep_a_match_open() -> None:
    scripted = Flooding({(A, "CHOOSE_PARITY_CALL", 1): [EVEN | {"parity_choice": "no"}]}, moves={A: [SILENCE]})
    played = await scripted.play()
    assert (played.status, played.winner, [fault.error_code for fault in played.faults]) == (
        "TECHNICAL_LOSS",
        B,
        ["E004"],
    )
    # Three retries, and what had been posted before the verdict.
    assert len(scripted.to(A, "GAME_ERROR")) <= 4 + MAX_UNREAD_ANSWERS


async def test_a_reply_without_an_answer_is_hidden_before_the_draw() -> None:
    pending = CallResult(error_code="E001", problem="its reply {'mine': 'odd'} holds no answer", http_status=200)
    scripted = ScriptedMatch(moves={A: [pending, choice("odd")], B: [choice("odd", 20.0)]})
    await scripted.play()
    assert scripted.drawn_after is not None
    before = [entry for one in scripted.published[: scripted.drawn_after] for entry in one["entries"]]
    assert [entry for entry in before if "mine" in str(entry)] == []
    assert [entry for entry in scripted.entries() if "mine" in str(entry)] != []


@pytest.mark.parametrize(
    "said", [[{"a": "b"}] * 4500, "x" * 50_000, [[[[1]]]] * 4000], ids=["objects", "text", "lists"]
)
async def test_a_few_large_refusals_end_the_search_and_are_no_delay_of_ours(said: Any) -> None:
    async def act(talk: Talk, one: Call) -> None:
        error = {"code": -32601, "message": "Method not found", "data": said}
        await talk.say(json.dumps({"jsonrpc": "2.0", "id": one.id, "error": error}).encode())

    before_s = AGENTS_TIME.total_s
    ended = await play(Behaviour("is_verbose", "It refuses at length.", act), max_retries=0)
    assert ended.verdict == ("TECHNICAL_LOSS", B, [(A, "E002", "WRONG_MESSAGE", 1)])
    assert sum("parity" in method.lower() for method in ended.hostile.methods) == 3
    assert "its refusals were so long that no other way of asking was tried" in ended.notes("CHOOSE_PARITY_RESPONSE")
    assert AGENTS_TIME.total_s > before_s
