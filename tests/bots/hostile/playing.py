"""Hostile in the game: other people's matches and tokens, words that are no moves, names that are no names."""

from __future__ import annotations

import json
from typing import Any

from tests.bots.base import Asked, Talk
from tests.bots.hostile.base import JOIN, behaviour, message, post, result
from tests.bots.words import rpc, rpc_error

SCRIPT = "</script><script>alert(1)</script><img src=x onerror=alert(1)>"
RIGHT_TO_LEFT = "\u202eevil\u2066\u200f"


async def fields(talk: Talk, asked: Asked, **changes: Any) -> None:
    """A good answer, some of its fields changed."""
    await talk.say(result(asked, message(asked, **changes)))


def error(asked: Asked, said: str, code: int = -32000) -> bytes:
    """A JSON-RPC error as bytes."""
    return json.dumps(rpc_error(code, said, asked.id)).encode()


@behaviour()
async def wrong_match(talk: Talk, asked: Asked) -> None:
    """Answers for another match."""
    await fields(talk, asked, match_id="R9M9")


@behaviour()
async def opponents_name(talk: Talk, asked: Asked) -> None:
    """Answers in its opponent's name."""
    other = asked.params["opponent_id"]
    await fields(talk, asked, player_id=other, sender=f"player:{other}")


@behaviour()
async def opponents_token(talk: Talk, asked: Asked) -> None:
    """Answers with its opponent's token."""
    await fields(talk, asked, auth_token=talk.agent.stolen)


@behaviour()
async def posts_with_a_made_up_token(talk: Talk, asked: Asked) -> None:
    """Posts a choice for its opponent under a token that it made up, then answers."""
    other = asked.params["opponent_id"]
    forged = message(asked, player_id=other, auth_token="tok_" + "0" * 32, parity_choice="odd")
    body = rpc("CHOOSE_PARITY_RESPONSE", forged)
    talk.agent.told.append(await post(asked.params["referee_endpoint"], body))
    await fields(talk, asked)


@behaviour()
async def posts_for_its_opponent(talk: Talk, asked: Asked) -> None:
    """Posts a choice in its opponent's name under the token that it was called with, and says no more."""
    other = asked.params["opponent_id"]
    forged = message(asked, player_id=other, sender=f"player:{other}", auth_token=asked.params["auth_token"])
    body = rpc("CHOOSE_PARITY_RESPONSE", forged | {"parity_choice": "odd"})
    talk.agent.told.append(await post(asked.params["referee_endpoint"], body))
    await talk.never()


@behaviour()
async def posts_a_hundred_times(talk: Talk, asked: Asked) -> None:
    """Answers by a hundred POSTs, each with another choice that is none."""
    for number in range(100):
        forged = message(asked, auth_token=asked.params["auth_token"], parity_choice=f"maybe {number}")
        body = {"jsonrpc": "2.0", "method": "CHOOSE_PARITY_RESPONSE", "params": forged, "id": number}
        talk.agent.told.append(await post(asked.params["referee_endpoint"], body))
    await talk.never()


@behaviour()
async def script_as_its_choice(talk: Talk, asked: Asked) -> None:
    """A script and characters that turn the line round, as its choice."""
    await fields(talk, asked, parity_choice=RIGHT_TO_LEFT + SCRIPT)


@behaviour()
async def script_beside_its_choice(talk: Talk, asked: Asked) -> None:
    """A right choice, and a script in every other field."""
    named = dict.fromkeys(("message_type", "sender", "display_name", "match_id", SCRIPT), RIGHT_TO_LEFT + SCRIPT)
    await fields(talk, asked, **named)


@behaviour()
async def script_as_an_error(talk: Talk, asked: Asked) -> None:
    """An error whose sentence is a script with a token in it."""
    await talk.say(error(asked, f"{RIGHT_TO_LEFT}{SCRIPT} tok_{'6' * 32}"))


@behaviour()
async def no_move_at_all(talk: Talk, asked: Asked) -> None:
    """Plays what is not in the game."""
    await fields(talk, asked, parity_choice="heads")


@behaviour()
async def both_choices(talk: Talk, asked: Asked) -> None:
    """A list of both."""
    await fields(talk, asked, parity_choice=["even", "odd"])


@behaviour()
async def wrong_id(talk: Talk, asked: Asked) -> None:
    """A right answer to a call with another id."""
    await talk.say(json.dumps({"jsonrpc": "2.0", "result": message(asked), "id": [asked.id] * 500}).encode())


@behaviour()
async def result_and_error(talk: Talk, asked: Asked) -> None:
    """An answer and an error in one."""
    both = {"jsonrpc": "2.0", "result": message(asked), "error": {"code": 1, "message": "no"}, "id": asked.id}
    await talk.say(json.dumps(both).encode())


@behaviour()
async def asks_back(talk: Talk, asked: Asked) -> None:
    """Answers a call with the same call."""
    await talk.say(json.dumps({"jsonrpc": "2.0", "method": asked.method, "params": asked.params, "id": 1}).encode())


@behaviour()
async def knows_no_words(talk: Talk, asked: Asked) -> None:
    """Does not know the method, whatever it is called."""
    await talk.say(error(asked, "Method not found", -32601))


@behaviour()
async def wants_a_session_for_ever(talk: Talk, asked: Asked) -> None:
    """A session is missing, however many it is given."""
    if asked.method == "initialize":
        await talk.say(result(asked, {"protocolVersion": "2025-06-18"}), more="Mcp-Session-Id: x\r\n")
    else:
        await talk.say(error(asked, "Missing session ID"), status="400 Bad Request")


@behaviour()
async def objects_to_every_field(talk: Talk, asked: Asked) -> None:
    """One more field is too many, each time it is asked."""
    field = f"field_{len(talk.agent.heard)}"
    await talk.say(error(asked, f"got an unexpected keyword argument '{field}'", -32602))


@behaviour()
async def nine_hundred_tools(talk: Talk, asked: Asked) -> None:
    """Is a server of tools, each of which could be meant and none of which answers."""
    if asked.method == "tools/list":
        tools = [{"name": f"choose_parity_{number}", "description": "move"} for number in range(900)]
        await talk.say(result(asked, {"tools": tools}))
    else:
        await talk.say(error(asked, "Unknown tool", -32602))


@behaviour(at=JOIN)
async def refuses_to_play(talk: Talk, asked: Asked) -> None:
    """Says no to the invitation."""
    await fields(talk, asked, accept=False)


@behaviour(at=JOIN)
async def joins_with_a_riddle(talk: Talk, asked: Asked) -> None:
    """Neither yes nor no."""
    await fields(talk, asked, accept="perhaps", status={"a": 1})
