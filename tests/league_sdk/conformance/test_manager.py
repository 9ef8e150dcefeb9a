"""The check of league managers, with small ones of these tests; our own is checked in tests/e2e/test_check.py."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from aiohttp import ClientSession, web

from league_sdk.conformance.clauses.manager import MANAGER
from league_sdk.conformance.manager import check_manager
from league_sdk.conformance.report import Report, Verdict
from league_sdk.conformance.subject import Subject
from league_sdk.transport.client import Client
from tests.bots.base import listening
from tests.league_sdk.conformance.agents import failed_and_tolerated, having, stamp
from tests.sizes import sampled

Params = dict[str, Any]
LEAGUE = "league_2025_even_odd"


class Refused(Exception):
    """Makes the league manager answer with an error."""

    def __init__(self, rpc_code: int, error_code: str) -> None:
        super().__init__(error_code)
        self.rpc_code, self.error_code = rpc_code, error_code


class Small:
    """A small correct league manager; tests override its methods."""

    def __init__(self) -> None:
        self.agents: dict[tuple[str, str, str], tuple[str, str]] = {}
        self.tasks: list[asyncio.Task[None]] = []

    async def serve(self, request: web.Request) -> web.Response:
        raw = await request.read()
        if len(raw) > 64 * 1024:
            return self.error(None, Refused(-32600, "E002"), {})
        try:
            body = json.loads(raw)
        except ValueError:
            return self.error(None, Refused(-32700, "E002"), {})
        if not isinstance(body, dict):
            return self.error(None, Refused(-32600, "E002"), {})
        params = body.get("params") or {}
        try:
            result = self.call(body["method"], params)
        except Refused as refused:
            return self.error(body.get("id"), refused, params)
        if "id" not in body:
            return web.Response(status=204)
        return web.json_response({"jsonrpc": "2.0", "result": result, "id": body["id"]})

    def error(self, rpc_id: Any, refused: Refused, params: Params) -> web.Response:
        data = self.message("LEAGUE_ERROR", params, error_code=refused.error_code)
        error = {"code": refused.rpc_code, "message": "no", "data": data}
        return web.json_response({"jsonrpc": "2.0", "error": error, "id": rpc_id})

    def message(self, kind: str, params: Params, **fields: Any) -> Params:
        return {
            "protocol": "league.v2",
            "message_type": kind,
            "sender": "league_manager",
            "timestamp": stamp(),
            "conversation_id": params.get("conversation_id"),
            **fields,
        }

    def call(self, method: str, params: Params) -> Any:
        if method == "ping":
            return {"status": "ok"}
        if method in ("register_player", "register_referee"):
            return self.register(method.partition("_")[2], params)
        if method not in ("league_query", "get_standings", "report_match_result"):
            raise Refused(-32601, "E002")
        self.authenticate(method, params)
        query = params.get("query_type") if method == "league_query" else "GET_STANDINGS"
        if query is None:
            raise Refused(-32602, "E003")
        return self.answer(query, params)

    def authenticate(self, method: str, params: Params) -> None:
        if not params["timestamp"].endswith("Z"):
            raise Refused(-32602, "E021")
        if params.get("league_id") != LEAGUE:
            raise Refused(-32000, "E014")
        if not params.get("auth_token"):
            raise Refused(-32001, "E011")
        kinds = {token: key[0] for key, (_, token) in self.agents.items()}
        if params["auth_token"] not in kinds:
            raise Refused(-32001, "E012")
        if method == "report_match_result" and kinds[params["auth_token"]] == "player":
            raise Refused(-32000, "E013")

    def answer(self, query: str, params: Params) -> Params:
        row = {"rank": 1, "player_id": "P01", "display_name": "Alpha"}
        row |= dict.fromkeys(("played", "wins", "draws", "losses", "points"), 0)
        data = {
            "GET_STANDINGS": {"standings": [row]},
            "GET_SCHEDULE": {"rounds": []},
            "GET_NEXT_MATCH": {"next_match": None},
            "GET_PLAYER_STATS": {"player_id": "P01"},
        }
        if query not in data:
            raise Refused(-32602, "E002")
        return self.message(
            "LEAGUE_QUERY_RESPONSE", params, query_type=query, success=True, data=data[query], error=None
        )

    def register(self, kind: str, params: Params) -> Params:
        meta = params[f"{kind}_meta"]
        if "contact_endpoint" not in meta:
            raise Refused(-32602, "E003")
        if meta["protocol_version"] < "2.0.0":
            raise Refused(-32000, "E018")
        key = (kind, meta["display_name"], meta["contact_endpoint"])
        self.agents.setdefault(key, self.identify(kind))
        own_id, token = self.agents[key]
        name = {"player": "LEAGUE_REGISTER_RESPONSE", "referee": "REFEREE_REGISTER_RESPONSE"}[kind]
        fields = {"status": "ACCEPTED", f"{kind}_id": own_id, "auth_token": token, "league_id": LEAGUE, "reason": None}
        return self.message(name, params, **fields)

    def identify(self, kind: str) -> tuple[str, str]:
        number = len(self.agents) + 1
        return f"{'P' if kind == 'player' else 'REF'}{number:02d}", f"tok_{number:032x}"


async def checked(manager: Small) -> Report:
    client = Client(agent_type="check")
    try:
        async with listening(manager.serve) as url:
            return await check_manager(Subject(url=url), client)
    finally:
        await client.aclose()
        await asyncio.gather(*manager.tasks)


async def test_a_correct_manager_conforms() -> None:
    report = await checked(Small())
    assert having(report, Verdict.CONFORMS) == set(MANAGER.rules) - {"round.announcement"}, report.to_json()
    assert having(report, Verdict.SKIPPED) == {"round.announcement"}
    assert report.summary == (
        "Agents can register and ask here, and all that was asked of it is as the documents have it."
    )


class Trusting(Small):
    def authenticate(self, method: str, params: Params) -> None:
        """Accept any caller."""


class Echoes(Small):
    def error(self, rpc_id: Any, refused: Refused, params: Params) -> web.Response:
        data = self.message("LEAGUE_ERROR", params, error_code=refused.error_code)
        data["context"] = {"provided_token": params.get("auth_token")}
        error = {"code": refused.rpc_code, "message": "no", "data": data}
        return web.json_response({"jsonrpc": "2.0", "error": error, "id": rpc_id})


class InResult(Small):
    """Sends LEAGUE_ERROR as the result, as 004 8.10.1 shows it."""

    def error(self, rpc_id: Any, refused: Refused, params: Params) -> web.Response:
        if refused.rpc_code in (-32700, -32600, -32601):
            return super().error(rpc_id, refused, params)
        data = self.message("LEAGUE_ERROR", params, error_code=refused.error_code)
        return web.json_response({"jsonrpc": "2.0", "result": data, "id": rpc_id})


class Forgetful(Small):
    def register(self, kind: str, params: Params) -> Params:
        params[f"{kind}_meta"]["display_name"] += str(len(self.agents))
        return super().register(kind, params)


class OneForAll(Small):
    def identify(self, kind: str) -> tuple[str, str]:
        return "P01", "tok_" + kind[0] * 32


class TakesAnything(Small):
    def register(self, kind: str, params: Params) -> Params:
        params[f"{kind}_meta"] = {"contact_endpoint": "", **params[f"{kind}_meta"], "protocol_version": "2.1.0"}
        return super().register(kind, params)


class OwnWords(Small):
    def message(self, kind: str, params: Params, **fields: Any) -> Params:
        return super().message(kind, params, **fields) | {"conversation_id": "mine"}


class Local(Small):
    def answer(self, query: str, params: Params) -> Params:
        return super().answer(query, params) | {"timestamp": "2025-01-15T10:30:00"}


AUTH = {"auth.missing", "auth.wrong", "auth.player_report", "message.timestamp", "message.league"}
WRONG: list[tuple[type[Small], set[str], set[str]]] = [
    (Trusting, AUTH, set()),
    (Echoes, set(), {"auth.no_echo"}),
    (InResult, set(), set()),
    (Forgetful, set(), {"player.again"}),
    (OneForAll, {"player.distinct"}, set()),
    (TakesAnything, {"register.no_address", "register.old_version"}, set()),
    (OwnWords, set(), {"query.conversation"}),
    (Local, set(), {"query.standings", "query.schedule", "query.next_match", "query.player_stats"}),
]  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "fails", "tolerated"), sampled(WRONG, every=3), ids=lambda value: getattr(value, "__name__", "")
)
async def test_each_fault_is_reported_and_nothing_else(kind: type[Small], fails: set[str], tolerated: set[str]) -> None:
    report = await checked(kind())
    assert failed_and_tolerated(report) == (fails, tolerated), report.to_json()
    assert report.can_play


async def test_a_manager_that_refuses_registrations_is_reported_as_unusable() -> None:
    class Closed(Small):
        def register(self, kind: str, params: Params) -> Params:
            return self.message("LEAGUE_REGISTER_RESPONSE", params, status="REJECTED", reason="The league is full")

    report = await checked(Closed())
    assert failed_and_tolerated(report)[0] == {"referee.accepted", "player.accepted"}
    assert not report.can_play
    assert report.summary.endswith("It was not accepted: The league is full.")


class WithSessions(Small):
    """Wants a session of MCP for each call."""

    def __init__(self) -> None:
        super().__init__()
        self.opened: list[str] = []
        self.ended: list[str] = []

    async def serve(self, request: web.Request) -> web.Response:
        session_id = request.headers.get("Mcp-Session-Id")
        if request.method == "DELETE":
            self.ended.append(str(session_id))
            return web.Response(status=204)
        if b'"initialize"' in await request.read():
            self.opened.append(f"s{len(self.opened) + 1}")
            reply = await super().serve(request)
            reply.headers["Mcp-Session-Id"] = self.opened[-1]
            return reply
        if session_id not in self.opened:
            message = "Missing session ID"
            return web.json_response({"jsonrpc": "2.0", "error": {"code": -32600, "message": message}}, status=400)
        return await super().serve(request)

    def call(self, method: str, params: Params) -> Any:
        if method == "initialize":
            return {"protocolVersion": "2025-06-18", "capabilities": {}, "serverInfo": {"name": "t", "version": "1"}}
        return super().call(method, params)


async def test_a_session_of_mcp_is_ended_with_the_check() -> None:
    manager = WithSessions()
    assert (await checked(manager)).can_play
    assert manager.opened and manager.ended == manager.opened


async def test_the_announcement_of_a_league_that_starts_by_itself_is_checked() -> None:
    class Eager(Small):
        def register(self, kind: str, params: Params) -> Params:
            answer = super().register(kind, params)
            if kind == "player" and len(self.agents) == 3:
                self.tasks.append(asyncio.create_task(self.announce(params["player_meta"]["contact_endpoint"])))
            return answer

        async def announce(self, url: str) -> None:
            row = {"match_id": "R1M1", "game_type": "even_odd", "player_A_id": "P02", "player_B_id": "P03"}
            row["referee_endpoint"] = "http://127.0.0.1:8001/mcp"
            fields = {"auth_token": "tok_x", "league_id": LEAGUE, "round_id": 1, "matches": [row]}
            params = self.message("ROUND_ANNOUNCEMENT", {"conversation_id": "conv-round-1"}, **fields)
            body = {"jsonrpc": "2.0", "method": "notify_round", "params": params, "id": 10}
            async with ClientSession() as session, session.post(url, json=body) as response:
                assert (await response.json())["result"] == {"status": "received"}

    report = await checked(Eager())
    assert having(report, Verdict.CONFORMS) == set(MANAGER.rules), report.to_json()
