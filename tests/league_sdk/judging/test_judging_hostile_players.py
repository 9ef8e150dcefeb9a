"""Players that answer to do harm: to the referee, to the match, to what is public before the draw."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from league_sdk.dialects.answers import read_answer
from league_sdk.judging.brief import Seat
from league_sdk.judging.heard import Heard
from league_sdk.judging.mailbox import MOST_WAITING
from league_sdk.protocol import rpc
from tests.league_sdk.judging.scripted import SILENCE, A, B, Table, choice
from tests.league_sdk.judging.test_callbacks import EVEN, Posting


def tool_result(text: str) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 1, "result": {"content": [{"type": "text", "text": text}]}}


@pytest.mark.parametrize(
    "text",
    [
        '{"accept": true, "message_type": "\\ud800"}',
        '{"accept": true, "message_type": "\\u0000"}',
        '{"accept": true, "seen": NaN}',
        '{"accept": true, "deep": ' + "[" * 400 + "]" * 400 + "}",
    ],
)
async def test_text_inside_a_reply_is_read_as_strictly_as_the_reply(text: str) -> None:
    body = rpc.loads(json.dumps(tool_result(text)).encode())
    assert read_answer(body, rpc_id=1).message.get("accept") is None


@pytest.mark.parametrize("said_type", ["\u202eREEFER", "two\nlines", "", 7, ["x"], "x" * 100])
async def test_what_it_calls_its_answer_is_shown_only_when_it_is_a_plain_word(said_type: Any) -> None:
    heard = choice("even")
    table = Table(moves={A: [replace(heard, message={**heard.message, "message_type": said_type})]})
    await table.play()
    shown = {entry["message_type"] for entry in table.entries() if entry["sender"] == A}
    plain = {"GAME_JOIN_ACK", "CHOOSE_PARITY_RESPONSE", "reply to GAME_OVER", "GAME_OVER"}
    assert shown <= plain | {"7", "x" * 40}, shown


class Flooding(Posting):
    """A player that posts one more illegal choice whenever it is told that the last one was illegal."""

    async def _tell(self, seat: Seat, message: dict[str, Any], *, limit_s: float) -> Heard:
        if message["message_type"] == "GAME_ERROR" and len(self.told) < 200:
            wrong = EVEN | {"parity_choice": f"no {len(self.told)}"}
            self.told.append(self.mailbox.deliver(seat.player_id, "CHOOSE_PARITY_RESPONSE", wrong))
        return await super()._tell(seat, message, limit_s=limit_s)


async def test_illegal_choices_without_end_do_not_keep_a_match_open() -> None:
    table = Flooding({(A, "CHOOSE_PARITY_CALL", 1): [EVEN | {"parity_choice": "no"}]}, moves={A: [SILENCE]})
    played = await table.play()
    assert (played.status, played.winner, [fault.error_code for fault in played.faults]) == (
        "TECHNICAL_LOSS",
        B,
        ["E004"],
    )
    # Three retries, and what had been posted before the verdict.
    assert len(table.to(A, "GAME_ERROR")) <= 4 + MOST_WAITING


async def test_what_a_reply_said_beside_the_answer_is_not_public_before_the_draw() -> None:
    pending = Heard(error_code="E001", problem="its reply {'mine': 'odd'} holds no answer", http_status=200)
    table = Table(moves={A: [pending, choice("odd")], B: [choice("odd", 20.0)]})
    await table.play()
    assert table.drawn_after is not None
    before = [entry for one in table.published[: table.drawn_after] for entry in one["entries"]]
    assert [entry for entry in before if "mine" in str(entry)] == []
    assert [entry for entry in table.entries() if "mine" in str(entry)] != []
