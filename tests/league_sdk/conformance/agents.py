"""A small correct player whose methods tests override, the strict player of 004 chapter 8, and helpers of checks."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from aiohttp import ClientSession, web

from league_sdk.conformance.player import check_player
from league_sdk.conformance.report import Clause, Report, Verdict
from league_sdk.conformance.subject import NOBODY, Subject
from league_sdk.conformance.verdicts import OnClause
from league_sdk.protocol.league_settings import LeagueSettings
from league_sdk.transport.client import Client
from tests.bots.base import listening
from tests.paths import ROOT

TOKEN = "tok_" + "a" * 32
SHORT_LIMITS = LeagueSettings(
    join_timeout_s=0.5, move_timeout_s=0.5, game_over_timeout_s=0.5, generic_timeout_s=0.5, retry_base_s=0.05
)
"""Short time limits, for agents that do not answer."""
NAMES = {
    "handle_game_invitation": "GAME_INVITATION",
    "choose_parity": "CHOOSE_PARITY_CALL",
    "notify_match_result": "GAME_OVER",
    "notify_game_error": "GAME_ERROR",
    "notify_round": "ROUND_ANNOUNCEMENT",
    "update_standings": "LEAGUE_STANDINGS_UPDATE",
    "notify_round_completed": "ROUND_COMPLETED",
    "notify_league_completed": "LEAGUE_COMPLETED",
}
Params = dict[str, Any]


class Wrong(Exception):
    """Makes the agent answer with a JSON-RPC error."""

    def __init__(self, code: int) -> None:
        super().__init__(str(code))
        self.code = code


def stamp() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


class Agent:
    """A player that does what the documents say; tests override its methods."""

    names = NAMES
    player_id = "P01"

    def __init__(self) -> None:
        self.seen: list[Params] = []
        self.methods: list[str] = []
        self.choices = 0
        self.over = asyncio.Event()

    async def never(self) -> Any:
        """Wait until the end of the test instead of answering."""
        await self.over.wait()
        raise Wrong(-32000)

    async def serve(self, request: web.BaseRequest) -> web.StreamResponse:
        """Answer one HTTP request."""
        try:
            body = json.loads(await request.read())
        except ValueError:
            return web.json_response(self.error(None, -32700))
        if not isinstance(body, dict):
            return web.json_response(self.error(None, -32600))
        try:
            result = await self.call(body.get("method"), body.get("params") or {})
        except Wrong as wrong:
            reply = self.error(body.get("id"), wrong.code)
        else:
            reply = self.reply(body.get("id"), result)
        return web.json_response(reply) if "id" in body else web.Response(status=204)

    def error(self, rpc_id: Any, code: int) -> Any:
        return {"jsonrpc": "2.0", "error": {"code": code, "message": "no"}, "id": rpc_id}

    def reply(self, rpc_id: Any, result: Any) -> Any:
        return {"jsonrpc": "2.0", "result": result, "id": rpc_id}

    async def call(self, method: Any, params: Params) -> Any:
        self.methods.append(method)
        if method == "ping":
            return {"status": "ok"}
        kind = self.names.get(method)
        if kind is None:
            raise Wrong(-32601)
        self.seen.append(params)
        if kind not in ("GAME_INVITATION", "CHOOSE_PARITY_CALL"):
            return await self.acknowledge(kind, params)
        if not isinstance(params.get("match_id"), str):
            raise Wrong(-32602)
        return await (self.join(params) if kind == "GAME_INVITATION" else self.choose(params))

    async def acknowledge(self, kind: str, params: Params) -> Any:
        return {"status": "received"}

    async def join(self, params: Params) -> Any:
        return self.message("GAME_JOIN_ACK", params, arrival_timestamp=stamp(), accept=True)

    async def choose(self, params: Params) -> Any:
        self.choices += 1
        return self.message("CHOOSE_PARITY_RESPONSE", params, parity_choice="even")

    def message(self, kind: str, params: Params, **fields: Any) -> Params:
        return {
            "protocol": "league.v2",
            "message_type": kind,
            "sender": f"player:{self.player_id}",
            "timestamp": stamp(),
            "conversation_id": params["conversation_id"],
            "auth_token": TOKEN,
            "match_id": params["match_id"],
            "player_id": self.player_id,
            **fields,
        }


async def checked(agent: Agent | str, on_clause: OnClause | None = None, **known: Any) -> Report:
    """Check an agent, or an address; ``known`` are attributes of the Subject."""
    if not isinstance(agent, str):
        async with listening(agent.serve) as url:
            report = await checked(url, on_clause, **known)
            agent.over.set()
            return report
    client = Client(agent_type="check")
    try:
        return await check_player(Subject(url=agent, **{"listen": NOBODY} | known), client, on_clause)
    finally:
        await client.aclose()


def having(report: Report, verdict: Verdict) -> set[str]:
    """The ids of the clauses with that verdict."""
    return {clause.id for clause in report.clauses if clause.verdict is verdict}


def clause(report: Report, name: str) -> Clause:
    """The clause of that id."""
    return next(one for one in report.clauses if one.id == name)


def failed_and_tolerated(report: Report) -> tuple[set[str], set[str]]:
    """The ids of the clauses that fail, and of those that are tolerated."""
    return having(report, Verdict.FAILS), having(report, Verdict.TOLERATED)


async def post(url: str, body: Mapping[str, Any]) -> None:
    """POST a body as JSON."""
    async with ClientSession() as session, session.post(url, json=body) as response:
        await response.read()


@asynccontextmanager
async def chapter8(log: Path) -> AsyncIterator[str]:
    """Run the strict player (``tests/bots/chapter8.py``) as a process, registered as P01 at a league of its own."""

    async def register(request: web.BaseRequest) -> web.Response:
        body = await request.json()
        result = {
            "protocol": "league.v2",
            "message_type": "LEAGUE_REGISTER_RESPONSE",
            "sender": "league_manager:LM01",
            "timestamp": stamp(),
            "conversation_id": body["params"]["conversation_id"],
            "status": "ACCEPTED",
            "player_id": "P01",
            "auth_token": TOKEN,
            "league_id": "league_2025_even_odd",
            "reason": None,
        }
        return web.json_response({"jsonrpc": "2.0", "result": result, "id": body["id"]})

    async with listening(register) as league:
        command = ["-m", "tests.bots.chapter8", "--league", league, "--name", "Strict", "--port", "0"]
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            *command,
            "--log",
            str(log),
            "--exit-with-parent",
            cwd=ROOT,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
        )
        try:
            assert process.stdout is not None
            line = (await process.stdout.readline()).decode().split()
            assert line[:1] == ["READY"], line
            yield line[1].replace("localhost", "127.0.0.1")
        finally:
            process.kill()
            await process.communicate()
