"""A strict player, written to 004 chapter 8 (and the field lists of chapter 4) and to nothing else.

It judges independently what the league sends: it shares code with other bots, and uses nothing of this project but
the helper that stops a server. It plays as the chapter says, and writes one JSON line for the reply to its registration
(``{"at", "registered", "reply"}``), per message received (``{"at", "method", "params"}``), per answer sent
(``{"at", "answer_to", "result" | "error"}``), per deviation from the chapter (``{"deviation", ...}``) and per remark
that is not a deviation (``{"note"}``). Fields that the chapter does not know are not deviations.

    python -m tests.bots.chapter8 --league http://127.0.0.1:8000/mcp --name Alpha --port 0 --log alpha.jsonl

Prints ``READY <endpoint> <player_id>`` once registered. Exit code 3: the registration was not accepted;
4: the league never answered.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from pathlib import Path
from typing import Any

from aiohttp import ClientError, ClientSession, ClientTimeout, TCPConnector, web

from tests.bots import words
from tests.bots.base import Log, bound, ending, listening, options
from tests.bots.chapter8_judge import PARITIES, Judge
from tests.bots.chapter8_shapes import RESPONSE, SHAPES, is_whole, misfits
from tests.bots.dialling import LOOPS, forward_to
from tests.bots.words import stamp

REGISTER_TRIES = 120  # half a second apart: a test may start the player before the league
NOT_ACCEPTED, NO_LEAGUE = 3, 4


class Player:
    """One strict player: its server, its registration and its log."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.options = options
        self.log = Log(options.log)
        self.auth_token = ""
        self.registered = asyncio.Event()
        self.judge = Judge(self.deviation, self.note, always_in_time=not options.delay_choice)
        self.endpoint = ""
        self.inbox: dict[str, str] = {}

    def write(self, **line: Any) -> None:
        self.log.write(at=stamp(), **line)

    def deviation(self, what: str, **facts: Any) -> None:
        self.log.write(deviation=what, at=stamp(), **facts)

    def note(self, what: str, **facts: Any) -> None:
        self.write(note=what, **facts)

    # -- registration (004 8.4) ---------------------------------------------------------------------------

    async def register(self, port: int) -> int:
        """Register as in 8.4.1 and check the answer against 8.4.2; returns an exit code, 0 when accepted."""
        o = self.options
        self.endpoint = f"http://{o.register_host}:{port}/mcp"
        about = words.meta(o.name, self.endpoint)
        if o.dial:
            del about["contact_endpoint"]
            about["delivery"] = o.dial
        params = words.registration("player", o.name, f"conv-player-{o.name}-reg-001", about)
        if o.league_id:
            params["league_id"] = o.league_id
        if o.token:
            params["auth_token"] = o.token
        reply = await self.post(words.rpc("register_player", params))
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
        self.inbox = result.get("inbox", {})
        print(f"READY {self.endpoint} {self.judge.player_id}", flush=True)
        return 0

    async def dial(self) -> None:
        """Fetch the messages in the inbox and hand them to our own server, which the league cannot reach."""
        loop, field = LOOPS[self.options.dial]
        why = await loop(self.inbox[field], self.auth_token, forward_to(self.endpoint))
        self.note("the line has ended", why=why)

    async def post(self, body: dict[str, Any]) -> dict[str, Any] | None:
        """Send the registration until it is answered, at most REGISTER_TRIES times; None if it never is."""
        # Call from ``--host``, as a player on another machine does.
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
        """Log, check and answer one POST as the chapter shows."""
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
        # A call may arrive before the answer to our registration.
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
        return words.answer(message_type, params, self.judge.player_id, auth_token=self.auth_token, **fields)

    def join(self, params: dict[str, Any]) -> dict[str, Any]:
        return self.message("GAME_JOIN_ACK", params, accept=True)

    def choose(self, params: dict[str, Any]) -> dict[str, Any]:
        """Answer with our choice; the same one when asked again in the same conversation."""
        match = self.judge.matches.get(str(params.get("match_id")))
        choice = self.options.choice
        if choice == "alternate":
            choice = PARITIES[(match.round_id if match else 0) % 2]
        if match is not None:
            match.choice = choice
        return self.message("CHOOSE_PARITY_RESPONSE", params, parity_choice=choice)


async def main(args: argparse.Namespace) -> int:
    """Serve, register, and play until told to stop; returns the exit code."""
    stop, player, sock = ending(with_parent=args.exit_with_parent), Player(args), bound(args.host, args.port)
    async with listening({"/mcp": player.handle}, sock=sock):
        stopping = asyncio.create_task(stop.wait())
        registering = asyncio.create_task(player.register(sock.getsockname()[1]))
        await asyncio.wait({stopping, registering}, return_when=asyncio.FIRST_COMPLETED)
        code = registering.result() if registering.done() else 0
        if player.registered.is_set():
            dialling = asyncio.create_task(player.dial()) if args.dial else stopping
            await asyncio.wait({stopping, dialling}, return_when=asyncio.FIRST_COMPLETED)
            dialling.cancel()
        registering.cancel()
        stopping.cancel()
    return code


if __name__ == "__main__":
    parser = options("A player that knows 004 chapter 8 and nothing else.")
    parser.add_argument("--name", required=True)
    parser.add_argument("--port", type=int, required=True, help="0 picks a free one")
    parser.add_argument("--log", type=Path, required=True, help="the JSON lines file, overwritten")
    parser.add_argument("--host", default="127.0.0.1", help="the address to listen on")
    parser.add_argument("--register-host", default="localhost", help="the host named in contact_endpoint")
    parser.add_argument("--choice", choices=[*PARITIES, "alternate"], default="even")
    parser.add_argument("--league-id", default="")
    parser.add_argument("--token", default="", help="the auth_token of an earlier registration")
    parser.add_argument("--dial", choices=LOOPS, default="", help="dial out, and give no address")
    parser.add_argument("--delay-choice", type=float, default=0.0, help="seconds")
    sys.exit(asyncio.run(main(parser.parse_args())))
