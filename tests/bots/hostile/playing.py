"""Hostile in the game: wrong matches, stolen or forged tokens, illegal moves, scripts in fields."""

from __future__ import annotations

import json
from typing import Any

from tests.bots.base import Call, Talk
from tests.bots.hostile.base import JOIN, behaviour, message, post, result
from tests.bots.words import rpc, rpc_error

SCRIPT = "</script><script>alert(1)</script><img src=x onerror=alert(1)>"
RIGHT_TO_LEFT = "\u202eevil\u2066\u200f"


async def fields(talk: Talk, call: Call, **changes: Any) -> None:
    """Send a good answer with changed fields."""
    await talk.say(result(call, message(call, **changes)))


def error(call: Call, text: str, code: int = -32000) -> bytes:
    """A JSON-RPC error as bytes."""
    return json.dumps(rpc_error(code, text, call.id)).encode()


@behaviour()
async def wrong_match(talk: Talk, call: Call) -> None:
    """Answers for another match."""
    await fields(talk, call, match_id="R9M9")


@behaviour()
async def opponents_name(talk: Talk, call: Call) -> None:
    """Answers in its opponent's name."""
    other = call.params["opponent_id"]
    await fields(talk, call, player_id=other, sender=f"player:{other}")


@behaviour()
async def opponents_token(talk: Talk, call: Call) -> None:
    """Answers with its opponent's token."""
    await fields(talk, call, auth_token=talk.agent.stolen)


@behaviour()
async def posts_with_a_made_up_token(talk: Talk, call: Call) -> None:
    """Posts a choice in its opponent's name with a made-up token, then answers."""
    other = call.params["opponent_id"]
    forged = message(call, player_id=other, auth_token="tok_" + "0" * 32, parity_choice="odd")
    body = rpc("CHOOSE_PARITY_RESPONSE", forged)
    talk.agent.post_replies.append(await post(call.params["referee_endpoint"], body))
    await fields(talk, call)


@behaviour()
async def posts_for_its_opponent(talk: Talk, call: Call) -> None:
    """Posts a choice in its opponent's name with the token in the referee's call, and never answers."""
    other = call.params["opponent_id"]
    forged = message(call, player_id=other, sender=f"player:{other}", auth_token=call.params["auth_token"])
    body = rpc("CHOOSE_PARITY_RESPONSE", forged | {"parity_choice": "odd"})
    talk.agent.post_replies.append(await post(call.params["referee_endpoint"], body))
    await talk.stay_silent()


@behaviour()
async def posts_a_hundred_times(talk: Talk, call: Call) -> None:
    """Answers by a hundred POSTs, each with another invalid choice."""
    for number in range(100):
        forged = message(call, auth_token=call.params["auth_token"], parity_choice=f"maybe {number}")
        body = {"jsonrpc": "2.0", "method": "CHOOSE_PARITY_RESPONSE", "params": forged, "id": number}
        talk.agent.post_replies.append(await post(call.params["referee_endpoint"], body))
    await talk.stay_silent()


@behaviour()
async def script_as_its_choice(talk: Talk, call: Call) -> None:
    """Chooses a script with characters that reverse the text direction."""
    await fields(talk, call, parity_choice=RIGHT_TO_LEFT + SCRIPT)


@behaviour()
async def script_beside_its_choice(talk: Talk, call: Call) -> None:
    """A valid choice, and a script in other fields."""
    named = dict.fromkeys(("message_type", "sender", "display_name", "match_id", SCRIPT), RIGHT_TO_LEFT + SCRIPT)
    await fields(talk, call, **named)


@behaviour()
async def script_as_an_error(talk: Talk, call: Call) -> None:
    """A JSON-RPC error whose message is a script with a token in it."""
    await talk.say(error(call, f"{RIGHT_TO_LEFT}{SCRIPT} tok_{'6' * 32}"))


@behaviour()
async def no_move_at_all(talk: Talk, call: Call) -> None:
    """Chooses what the game does not have."""
    await fields(talk, call, parity_choice="heads")


@behaviour()
async def both_choices(talk: Talk, call: Call) -> None:
    """Chooses a list of even and odd."""
    await fields(talk, call, parity_choice=["even", "odd"])


@behaviour()
async def wrong_id(talk: Talk, call: Call) -> None:
    """A good answer with a JSON-RPC id that is a long list."""
    await talk.say(json.dumps({"jsonrpc": "2.0", "result": message(call), "id": [call.id] * 500}).encode())


@behaviour()
async def result_and_error(talk: Talk, call: Call) -> None:
    """A result and an error in one answer."""
    both = {"jsonrpc": "2.0", "result": message(call), "error": {"code": 1, "message": "no"}, "id": call.id}
    await talk.say(json.dumps(both).encode())


@behaviour()
async def asks_back(talk: Talk, call: Call) -> None:
    """Answers a call with the same call."""
    await talk.say(json.dumps({"jsonrpc": "2.0", "method": call.method, "params": call.params, "id": 1}).encode())


@behaviour()
async def knows_no_words(talk: Talk, call: Call) -> None:
    """Answers every method as unknown."""
    await talk.say(error(call, "Method not found", -32601))


@behaviour()
async def wants_a_session_for_ever(talk: Talk, call: Call) -> None:
    """Asks for a session in every answer, though it has given one."""
    if call.method == "initialize":
        agreed = {"protocolVersion": "2025-06-18", "capabilities": {}}
        await talk.say(result(call, agreed), more="Mcp-Session-Id: x\r\n")
    else:
        await talk.say(error(call, "Missing session ID"), status="400 Bad Request")


@behaviour()
async def objects_to_every_field(talk: Talk, call: Call) -> None:
    """Objects to another unexpected field at every call."""
    field = f"field_{len(talk.agent.methods)}"
    await talk.say(error(call, f"got an unexpected keyword argument '{field}'", -32602))


@behaviour()
async def nine_hundred_tools(talk: Talk, call: Call) -> None:
    """An MCP server with nine hundred tools that could be meant, none of which works."""
    if call.method == "tools/list":
        tools = [{"name": f"choose_parity_{number}", "description": "move"} for number in range(900)]
        await talk.say(result(call, {"tools": tools}))
    else:
        await talk.say(error(call, "Unknown tool", -32602))


@behaviour(at=JOIN)
async def refuses_to_play(talk: Talk, call: Call) -> None:
    """Declines the invitation."""
    await fields(talk, call, accept=False)


@behaviour(at=JOIN)
async def joins_with_a_riddle(talk: Talk, call: Call) -> None:
    """Answers the invitation with neither yes nor no."""
    await fields(talk, call, accept="perhaps", status={"a": 1})
