"""A process of many players, each of which understands one dialect only; some kinds are called, some dial out."""

from __future__ import annotations

import argparse
import asyncio
import json
import random
from collections import Counter, defaultdict
from collections.abc import Callable
from functools import partial
from typing import Any

import aiohttp
from aiohttp import web

from tests.bots import words
from tests.bots.base import ending
from tests.bots.dialling import LOOPS

Message = dict[str, Any]
TYPES = {
    "handle_game_invitation": "GAME_INVITATION",
    "choose_parity": "CHOOSE_PARITY_CALL",
    "parity_choose": "CHOOSE_PARITY_CALL",
    "notify_match_result": "GAME_OVER",
}


FIELDS: Message = {
    name: {} for name in ("match_id", "player_id", "timestamp", "opponent_id", "round_id", "deadline", "game_result")
}
"""The arguments of each tool of a player that is an MCP server."""
RECEIVED = "/received"
"""Here the process tells how many messages of each type each player was sent."""
COMPLETE = {"resultType": "complete"}
DISCOVERED = COMPLETE | {
    "supportedVersions": ["2026-07-28"],
    "capabilities": {"tools": {}},
    "serverInfo": {"name": "bench", "version": "1"},
    "ttlMs": 3_600_000,
    "cacheScope": "public",
}


# Each of these functions is a dialect: the message in a call, or None if the dialect does not know such a call.
def _chapter8(body: Message) -> Message | None:
    known = body["method"] in TYPES and body["method"] != "parity_choose"
    return body["params"] if known else None


def _parity_choose(body: Message) -> Message | None:
    known = body["method"] in TYPES and body["method"] != "choose_parity"
    return body["params"] if known else None


def _message_type(body: Message) -> Message | None:
    return body["params"] if body["method"] in TYPES.values() else None


def _nested(body: Message) -> Message | None:
    return body["params"]["message"] if body["method"] == "handle_message" else None


def _tool(body: Message) -> Message | None:
    return body["params"]["arguments"] if body["method"] == "tools/call" else None


def _handle(body: Message) -> Message | None:
    if body["method"] != "league.handle":
        return None
    message: Message = body["params"]["envelope"] | body["params"]["payload"]
    return message


MIXED: tuple[Callable[[Message], Message | None], ...] = (
    _chapter8,
    _message_type,
    _parity_choose,
    _nested,
    _tool,
    _handle,
)


def answer(body: Message, understand: Callable[[Message], Message | None]) -> Message:
    """The answer of a player that understands one dialect only; ``understand`` takes the message out of a call."""
    message = understand(body)
    if message is None:
        return words.rpc_error(-32601, "Method not found", body["id"])
    result: Message = {"status": "ok"}
    common = {"sender": f"player:{message.get('player_id')}", "timestamp": message["timestamp"]}
    if message["message_type"] == "GAME_INVITATION":
        result = common | {"message_type": "GAME_JOIN_ACK", "match_id": message["match_id"], "accept": True}
    elif message["message_type"] == "CHOOSE_PARITY_CALL":
        result = common | {
            "message_type": "CHOOSE_PARITY_RESPONSE",
            "match_id": message["match_id"],
            "parity_choice": "even",
        }
    return words.rpc_result(result, body["id"])


def mcp_answer(body: Message) -> Message:
    """The answer of a player that is an MCP server of 2026-07-28, with one tool for each message."""
    if body["method"] == "server/discover":
        return words.rpc_result(DISCOVERED, body["id"])
    if body["method"] == "tools/list":
        tools = [{"name": name, "inputSchema": {"type": "object", "properties": FIELDS}} for name in TYPES]
        return words.rpc_result(COMPLETE | {"tools": tools, "ttlMs": 3_600_000, "cacheScope": "public"}, body["id"])
    if body["method"] != "tools/call":
        return words.rpc_error(-32601, "Method not found", body.get("id"))
    result = answer(body, _by_tool)["result"]
    text = {"type": "text", "text": json.dumps(result)}
    return words.rpc_result(COMPLETE | {"content": [text], "structuredContent": result}, body["id"])


def _by_tool(body: Message) -> Message:
    message: Message = {"message_type": TYPES[body["params"]["name"]], "timestamp": ""} | body["params"]["arguments"]
    return message


async def main(options: argparse.Namespace) -> None:
    """Listen for all players, register each in its leagues, and play until standard input ends."""
    stop, leagues = ending(with_parent=True), [one.partition("=")[::2] for one in options.leagues]
    received: dict[str, Counter[str]] = defaultdict(Counter)

    def note(kind: str, number: int | str, body: Message) -> None:
        received[f"{kind} {number}"][str(body.get("params", {}).get("message_type"))] += 1

    async def handle(request: web.BaseRequest) -> web.StreamResponse:
        if request.path == RECEIVED:
            return web.json_response(received)
        kind, number = request.path.strip("/").split("/")[:2]
        note(kind, number, await request.json())
        if kind == "mcp":
            return web.json_response(mcp_answer(await request.json()))
        understand = MIXED[int(number) % len(MIXED)] if kind == "mixed" else _chapter8
        reply = answer(await request.json(), understand)
        _, *think_time_s = kind.split("_")
        if think_time_s and reply.get("result", {}).get("message_type") == "CHOOSE_PARITY_RESPONSE":
            await asyncio.sleep(random.uniform(*map(float, think_time_s)))
        return web.json_response(reply)

    async def respond(body: Message, kind: str, number: int) -> Message:
        note(kind, number, body)
        return answer(body, _chapter8)

    dialling: list[asyncio.Task[str]] = []
    limit = asyncio.Semaphore(options.at_once)
    runner = web.ServerRunner(web.Server(handle, access_log=None))
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    base = f"http://127.0.0.1:{runner.addresses[0][1]}"
    async with aiohttp.ClientSession() as session:

        async def register(league: str, kind: str, number: int) -> None:
            reached = (
                {"delivery": kind} if kind in LOOPS else {"contact_endpoint": f"{base}/{kind}/{number}/{league}/mcp"}
            )
            meta = {"display_name": f"{kind} {number}", **reached}
            body = words.rpc("register_player", {"player_meta": meta})
            async with limit, session.post(f"{options.site}/leagues/{league}/mcp", json=body) as reply:
                answered = await reply.json()
                if answered.get("result", {}).get("status") != "ACCEPTED":
                    raise RuntimeError(f"{league} {number}: {answered}")
            if kind in LOOPS:
                loop, field = LOOPS[kind]
                inbox, by_number = answered["result"]["inbox"], partial(respond, kind=kind, number=number)
                token = answered["result"]["auth_token"]
                dialling.append(asyncio.create_task(loop(inbox[field], token, by_number)))

        for league, kind in leagues:
            await asyncio.gather(*(register(league, kind, number) for number in range(options.count)))
    print(f"READY {base}{RECEIVED}", flush=True)
    await stop.wait()
    for task in dialling:
        task.cancel()
    await asyncio.gather(*dialling, return_exceptions=True)
    await runner.cleanup()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--site", required=True)
    parser.add_argument("--count", type=int, required=True)
    parser.add_argument("--at-once", type=int, default=1, help="registrations")
    leagues_help = "LEAGUE_ID=KIND: plain, mixed, mcp, poll or websocket; plain_1_11 takes 1 to 11 s for a choice"
    parser.add_argument("leagues", nargs="+", help=leagues_help)
    asyncio.run(main(parser.parse_args()))
