"""Players that speak one dialect each, in one process: what a mixed league costs is measured with them."""

from __future__ import annotations

import argparse
import asyncio
import random
from collections.abc import Callable
from typing import Any

import aiohttp
from aiohttp import web

from tests.bots import words
from tests.bots.base import ending

Message = dict[str, Any]
TYPES = {
    "handle_game_invitation": "GAME_INVITATION",
    "choose_parity": "CHOOSE_PARITY_CALL",
    "parity_choose": "CHOOSE_PARITY_CALL",
    "notify_match_result": "GAME_OVER",
}


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
    found: Message = body["params"]["envelope"] | body["params"]["payload"]
    return found


MIXED: tuple[Callable[[Message], Message | None], ...] = (
    _chapter8,
    _message_type,
    _parity_choose,
    _nested,
    _tool,
    _handle,
)


def answer(body: Message, listen: Callable[[Message], Message | None]) -> Message:
    """What a player says that listens in one way only."""
    message = listen(body)
    if message is None:
        return words.rpc_error(-32601, "Method not found", body["id"])
    said: Message = {"status": "ok"}
    common = {"sender": f"player:{message.get('player_id')}", "timestamp": message["timestamp"]}
    if message["message_type"] == "GAME_INVITATION":
        said = common | {"message_type": "GAME_JOIN_ACK", "match_id": message["match_id"], "accept": True}
    elif message["message_type"] == "CHOOSE_PARITY_CALL":
        said = common | {
            "message_type": "CHOOSE_PARITY_RESPONSE",
            "match_id": message["match_id"],
            "parity_choice": "even",
        }
    return words.rpc_result(said, body["id"])


async def main(options: argparse.Namespace) -> None:
    """Listen for all players, register each in its leagues, and play until standard input ends."""
    stop, leagues = ending(with_parent=True), [one.partition("=")[::2] for one in options.leagues]

    async def handle(request: web.BaseRequest) -> web.StreamResponse:
        how, number = request.path.strip("/").split("/")[:2]
        listen = MIXED[int(number) % len(MIXED)] if how == "mixed" else _chapter8
        said = answer(await request.json(), listen)
        _, *span = how.split("_")
        if span and said.get("result", {}).get("message_type") == "CHOOSE_PARITY_RESPONSE":
            await asyncio.sleep(random.uniform(*map(float, span)))
        return web.json_response(said)

    runner = web.ServerRunner(web.Server(handle, access_log=None))
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    base = f"http://127.0.0.1:{runner.addresses[0][1]}"
    async with aiohttp.ClientSession() as session:
        for league, how in leagues:
            for number in range(options.count):
                meta = {"display_name": f"{how} {number}", "contact_endpoint": f"{base}/{how}/{number}/mcp"}
                body = words.rpc("register_player", {"player_meta": meta})
                async with session.post(f"{options.league}/leagues/{league}/mcp", json=body) as reply:
                    status = (await reply.json())["result"]["status"]
                    if status != "ACCEPTED":
                        raise RuntimeError(f"{league} {number}: {status}")
    print("READY", flush=True)
    await stop.wait()
    await runner.cleanup()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--league", required=True)
    parser.add_argument("--count", type=int, required=True)
    parser.add_argument("leagues", nargs="+", help="league id = plain, mixed, or plain_1_11: 1 to 11 s for a choice")
    asyncio.run(main(parser.parse_args()))
