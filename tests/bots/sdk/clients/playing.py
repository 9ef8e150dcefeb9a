"""What the clients in Python share: each reads the league, plays it by tools, and prints what it saw as lines of JSON.

The programs run in the environment of their SDK, so this file needs nothing but Python.
"""

import asyncio
import json
import os
from datetime import UTC, datetime

LEAGUE_URL, LEAGUE_ID, NAME = os.environ["LEAGUE"], os.environ["LEAGUE_ID"], os.environ["NAME"]
STANDINGS = f"league://{LEAGUE_ID}/standings"


def show(**seen):
    """Print one line for the test."""
    print(json.dumps(seen), flush=True)


def answer(params, mine):
    """The result of a call by the referee or the league manager."""
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    own = {
        "GAME_INVITATION": ("GAME_JOIN_ACK", {"arrival_timestamp": now, "accept": True}),
        "CHOOSE_PARITY_CALL": ("CHOOSE_PARITY_RESPONSE", {"parity_choice": "even"}),
    }
    if params["message_type"] not in own:
        return {"status": "ok"}
    message_type, fields = own[params["message_type"]]
    me = {"player_id": mine["player_id"], "auth_token": mine["auth_token"]}
    head = {"protocol": "league.v2", "message_type": message_type, "sender": f"player:{mine['player_id']}"}
    return head | me | {name: params[name] for name in ("conversation_id", "match_id")} | {"timestamp": now} | fields


async def register(call):
    """Register by a tool, without an address."""
    mine = await call("register_player", {"display_name": NAME, "league_id": LEAGUE_ID, "delivery": "poll"})
    show(registered=mine["player_id"])
    return mine


async def play(call, mine):
    """Fetch messages and answer them until the league is over."""
    after, seen, token = "", [], {"auth_token": mine["auth_token"]}
    while "LEAGUE_COMPLETED" not in seen:
        found = await call("next_message", {"after": after} | token)
        after = found["next"]
        for request in [message["request"] for message in found["messages"]]:
            seen.append(request["params"]["message_type"])
            response = {"jsonrpc": "2.0", "id": request["id"], "result": answer(request["params"], mine)}
            await call("submit_response", {"response": response} | token)
    show(received=seen)


async def take_part(client, change):
    """All that a client does: list, read, register, play, and hear of a change of the standings.

    Args:
        client: has the coroutines ``lists``, ``read``, ``prompt`` and ``call`` of its SDK.
        change: an event that is set when the server says that the standings have changed.
    """
    show(**await client.lists())
    show(prompt=await client.prompt("how_to_play", {}))
    show(before=json.loads(await client.read(STANDINGS)))
    mine = await register(client.call)
    await play(client.call, mine)
    await asyncio.wait_for(change.wait(), 30)
    show(change=STANDINGS)
    show(after=json.loads(await client.read(STANDINGS)))
