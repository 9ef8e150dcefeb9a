"""An agent that fills its transcript: no entry becomes too long for a report."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass

from league_sdk.protocol.notes import Code, note
from league_sdk.protocol.transcript import MAX_ENTRY_CHARS
from tests.bots.hostile.base import Agent, Behaviour, Call, Talk, result
from tests.bots.hostile.playing import error
from tests.league_sdk.judging.hostile_match import A
from tests.league_sdk.judging.test_judging_hostile import against

FOUR_BYTES = "\U0001f409"
TOOL = "\x01" * 80
"""A name each letter of which takes six bytes of JSON; it is in every request and every note."""
KIND = FOUR_BYTES * 80
"""Its Content-Type, and the id of its answer."""
REFUSED = -(10**150)
"""An error code: a note repeats it."""
LAST = 23
"""The number of the request that it answers with a choice."""


@dataclass
class Wordy(Agent):
    """An agent at a long address, which is in every request, too."""

    asked_times: int = 0
    tool_times: int = 0

    async def start(self) -> str:
        """Listen; the address."""
        self.url = (await super().start()).removesuffix("mcp") + "p" * 99
        return self.url


async def wordy(talk: Talk, call: Call) -> None:
    """Knows one tool of a long name, objects to it in every way there is, and plays well in the end."""
    agent = talk.agent
    assert isinstance(agent, Wordy)
    agent.asked_times += 1
    if call.method == "tools/list":
        takes = {FOUR_BYTES * 640: {"type": "object"}}
        body = result(call, {"tools": [{"name": TOOL, "inputSchema": {"properties": takes}}]})
        await talk.say(body, kind=KIND)
        return
    if TOOL not in (call.method, call.params.get("name")):
        await talk.say(error(call, "Method not found", REFUSED), kind=KIND)
        return
    agent.tool_times += 1
    if agent.asked_times >= LAST:
        # Everything about the answer that can be odd is, and each oddity is a note.
        names = ("sender", "match_id", "player_id", "message_type", "timestamp", "arrival_timestamp")
        played = dict.fromkeys(names, FOUR_BYTES * 44) | {"parity_choice": "odd", "pad": FOUR_BYTES * 640}
        reply = {"jsonrpc": "2.0", "id": KIND, "error": 0, "result": {"payload": played}}
        await talk.say(json.dumps([reply], ensure_ascii=False).encode(), kind=KIND)
    elif agent.tool_times <= 12:
        words = f"got an unexpected keyword argument 'field_{agent.tool_times}'"
        await talk.say(error(call, words, REFUSED), kind=KIND)
    elif agent.tool_times == 13:
        wrong = {"loc": ["id"], "type": "string_type", "msg": "valid string"}
        refusal = {"jsonrpc": "2.0", "id": call.id, "error": {"code": REFUSED, "data": [wrong]}}
        await talk.say(json.dumps(refusal).encode(), kind=KIND)
    else:
        body = json.dumps({"error": {"code": REFUSED}}).encode()
        await talk.say(body, kind=KIND, status="404 Not Found")


async def test_a_long_transcript_does_not_keep_a_result_from_being_reported() -> None:
    async with asyncio.timeout(30):
        ended = await against(Behaviour("wordy", wordy.__doc__ or "", wordy), agent=Wordy)
    assert (ended.verdict[0] in ("WIN", "DRAW"), ended.verdict[2]) == (True, [])
    assert max(len(json.dumps(entry, ensure_ascii=False)) for entry in ended.entries) < MAX_ENTRY_CHARS
    notes = [entry["notes"] for entry in ended.entries if entry["sender"] == A and len(entry["notes"]) > 1]
    assert [one[-1] for one in notes] == [note(Code.WIRE_LEFT_OUT).to_json()]
