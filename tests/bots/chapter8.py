"""A player written to 004 chapter 8 (and the field lists of chapter 4) and to nothing else.

An independent judge of what the league sends: it imports nothing of this project, plays as the chapter
says, and writes one JSON line per message received (``{"at", "method", "params"}``), per answer sent
(``{"at", "answer_to", "result" | "error"}``), per deviation from the chapter (``{"deviation", ...}``) and per
remark that is no deviation (``{"note"}``). Fields that the chapter does not know are no deviation.

    python tests/bots/chapter8.py --league http://127.0.0.1:8000/mcp --name Alpha --port 0 --log alpha.jsonl

Prints ``READY <endpoint> <player_id>`` once registered. Exit code 3: the registration was not accepted;
4: the league never answered.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import signal
import sys
import threading
from pathlib import Path
from typing import Any

from aiohttp import ClientError, ClientSession, ClientTimeout, TCPConnector, web
from chapter8_judge import PARITIES, Judge
from chapter8_shapes import RESPONSE, SHAPES, is_whole, misfits, now

REGISTER_TRIES = 120  # half a second apart: the chapter starts the league first, a test may not
NOT_ACCEPTED, NO_LEAGUE = 3, 4


def stamp() -> str:
    return now().strftime("%Y-%m-%dT%H:%M:%SZ")


class Player:
    """One strict player: its server, its registration and its log."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.options = options
        # Line buffered, so that a test may read while we play.
        self.log = Path(options.log).open("w", encoding="utf-8", buffering=1)  # noqa: SIM115
        self.auth_token = ""
        self.registered = asyncio.Event()
        self.judge = Judge(self.deviation, self.note, always_in_time=not options.delay_choice)
        self.endpoint = ""

    def write(self, **line: Any) -> None:
        self.log.write(json.dumps({"at": stamp(), **line}, ensure_ascii=False) + "\n")

    def deviation(self, what: str, **facts: Any) -> None:
        self.log.write(json.dumps({"deviation": what, "at": stamp(), **facts}, ensure_ascii=False) + "\n")

    def note(self, what: str, **facts: Any) -> None:
        self.write(note=what, **facts)

    # -- registration (004 8.4) ---------------------------------------------------------------------------

    async def register(self, port: int) -> int:
        """Register as 8.4.1 and hold the answer against 8.4.2; returns an exit code, 0 when accepted."""
        o = self.options
        self.endpoint = f"http://{o.register_host}:{port}/mcp"
        params = {
            "protocol": "league.v2",
            "message_type": "LEAGUE_REGISTER_REQUEST",
            "sender": f"player:{o.name}",
            "timestamp": stamp(),
            "conversation_id": f"conv-player-{o.name}-reg-001",
            "player_meta": {
                "display_name": o.name,
                "version": "1.0.0",
                "game_types": ["even_odd"],
                "contact_endpoint": self.endpoint,
            },
        }
        if o.league_id:
            params["league_id"] = o.league_id
        body = {"jsonrpc": "2.0", "method": "register_player", "params": params, "id": 1}
        reply = await self.post(body)
        if reply is None:
            print("NO ANSWER from the league", flush=True)
            return NO_LEAGUE
        result = reply.get("result")
        if reply.get("jsonrpc") != "2.0" or reply.get("id") != 1 or not isinstance(result, dict):
            self.deviation("the registration's reply is not a JSON-RPC result for id 1", seen=reply)
        wrong = misfits(result, RESPONSE, "result.")
        for item in wrong:
            self.deviation(item.pop("deviation"), method="register_player", **item)
        if isinstance(result, dict) and result.get("conversation_id") != params["conversation_id"]:
            self.deviation("another conversation_id than the request's", seen=result.get("conversation_id"))
        if not isinstance(result, dict) or result.get("status") != "ACCEPTED":
            print(f"REJECTED {reply}", flush=True)
            return NOT_ACCEPTED
        self.judge.player_id = str(result.get("player_id"))
        self.judge.league_id = str(result.get("league_id"))
        self.auth_token = str(result.get("auth_token"))
        self.registered.set()
        print(f"READY {self.endpoint} {self.judge.player_id}", flush=True)
        return 0

    async def post(self, body: dict[str, Any]) -> dict[str, Any] | None:
        """Send the registration; a refused connection is tried again, an answer is final."""
        # A player on another machine calls from there.
        connector = TCPConnector(local_addr=(self.options.host, 0))
        async with ClientSession(timeout=ClientTimeout(total=10), connector=connector) as session:
            for _ in range(REGISTER_TRIES):
                try:
                    async with session.post(self.options.league, json=body) as response:
                        text = await response.text()
                        status, kind = response.status, response.content_type
                except (ClientError, TimeoutError):
                    await asyncio.sleep(0.5)
                    continue
                try:
                    reply = json.loads(text)
                except ValueError:
                    reply = {"text": text[:500]}
                self.write(registered=True, status=status, reply=reply)
                if status != 200 or kind != "application/json":
                    self.deviation("the reply is not 200 application/json", seen=[status, kind])
                return reply if isinstance(reply, dict) else {"reply": reply}
        return None

    # -- the server (004 8.6 to 8.10) ---------------------------------------------------------------------

    async def handle(self, request: web.Request) -> web.Response:
        """One POST: log, judge, answer as the chapter shows."""
        try:
            body = json.loads(await request.read())
        except ValueError:
            body = None
        if request.content_type != "application/json":
            self.deviation("the call is not application/json", seen=request.content_type)
        if not isinstance(body, dict) or not isinstance(body.get("method"), str):
            self.deviation("the call is not a JSON-RPC request", seen=body)
            return self.answer("", None, error={"code": -32600, "message": "Invalid request"})
        method, params, rpc_id = body["method"], body.get("params"), body.get("id")
        self.write(method=method, params=params, id=rpc_id)
        if body.get("jsonrpc") != "2.0":
            self.deviation('jsonrpc is not "2.0"', method=method, seen=body.get("jsonrpc"))
        if method == "ping":  # 004 5.12.2, the only call without an envelope
            return self.answer(method, rpc_id, result={"status": "ok"})
        if not is_whole(rpc_id):
            self.deviation("id is not an integer", method=method, seen=rpc_id)
        if method not in SHAPES:
            self.deviation("a method the chapter does not know", method=method)
            return self.answer(method, rpc_id, error={"code": -32601, "message": "Method not found"})
        if not isinstance(params, dict):
            self.deviation("params is not an object", method=method, seen=params)
            return self.answer(method, rpc_id, error={"code": -32602, "message": "Invalid params"})
        # A call may overtake the answer to our registration.
        await self.registered.wait()
        self.judge.check(method, params)
        if method == "handle_game_invitation":
            return self.answer(method, rpc_id, result=self.join(params))
        if method == "choose_parity":
            result = self.choose(params)
            await asyncio.sleep(self.options.delay_choice)
            return self.answer(method, rpc_id, result=result | {"timestamp": stamp()})
        return self.answer(method, rpc_id, result={"status": "received"})

    def answer(self, method: str, rpc_id: Any, **outcome: Any) -> web.Response:
        self.write(answer_to=method, id=rpc_id, **outcome)
        return web.json_response({"jsonrpc": "2.0", **outcome, "id": rpc_id})

    def message(self, message_type: str, params: dict[str, Any], **fields: Any) -> dict[str, Any]:
        """An answer with the envelope of 8.7.2 and 8.7.3."""
        return {
            "protocol": "league.v2",
            "message_type": message_type,
            "sender": f"player:{self.judge.player_id}",
            "timestamp": stamp(),
            "conversation_id": params.get("conversation_id"),
            "auth_token": self.auth_token,
            "match_id": params.get("match_id"),
            "player_id": self.judge.player_id,
            **fields,
        }

    def join(self, params: dict[str, Any]) -> dict[str, Any]:
        return self.message("GAME_JOIN_ACK", params, arrival_timestamp=stamp(), accept=True)

    def choose(self, params: dict[str, Any]) -> dict[str, Any]:
        """Our choice; the same one when asked again in the same conversation."""
        match = self.judge.matches.get(str(params.get("match_id")))
        choice = self.options.choice
        if choice == "alternate":
            choice = PARITIES[(match.round_id if match else 0) % 2]
        if match is not None:
            match.choice = choice
        return self.message("CHOOSE_PARITY_RESPONSE", params, parity_choice=choice)


def watch_parent(stop: asyncio.Event, loop: asyncio.AbstractEventLoop) -> None:
    """End when stdin ends: a parent that was killed with -9 closes its end of the pipe."""

    def read() -> None:
        # os.read and not sys.stdin: a daemon thread must not hold its lock at interpreter exit.
        while os.read(0, 4096):
            pass
        loop.call_soon_threadsafe(stop.set)

    threading.Thread(target=read, daemon=True).start()


async def main(options: argparse.Namespace) -> int:
    """Serve, register, and play until told to stop; returns the exit code."""
    loop, stop = asyncio.get_running_loop(), asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    if options.exit_with_parent:
        watch_parent(stop, loop)
    player = Player(options)
    app = web.Application()
    app.router.add_post("/mcp", player.handle)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0)
    await runner.setup()
    site = web.TCPSite(runner, options.host, options.port)
    await site.start()
    stopping = asyncio.create_task(stop.wait())
    registering = asyncio.create_task(player.register(runner.addresses[0][1]))
    await asyncio.wait({stopping, registering}, return_when=asyncio.FIRST_COMPLETED)
    code = registering.result() if registering.done() else 0
    if code == 0:
        await stopping
    registering.cancel()
    stopping.cancel()
    await runner.cleanup()
    return code


def parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="A player that knows 004 chapter 8 and nothing else.")
    parser.add_argument("--league", required=True, help="the league manager's /mcp address")
    parser.add_argument("--name", required=True)
    parser.add_argument("--port", type=int, required=True, help="0 picks a free one")
    parser.add_argument("--log", required=True, help="the JSON lines file, written anew")
    parser.add_argument("--host", default="127.0.0.1", help="the address to listen on")
    parser.add_argument("--register-host", default="localhost", help="the host named in contact_endpoint")
    parser.add_argument("--choice", choices=[*PARITIES, "alternate"], default="even")
    parser.add_argument("--league-id", default="")
    parser.add_argument("--delay-choice", type=float, default=0.0, help="seconds")
    parser.add_argument("--exit-with-parent", action="store_true", help="end when stdin ends")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(asyncio.run(main(parse(sys.argv[1:]))))
