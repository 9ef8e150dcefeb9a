"""Broadcasts to players that may be MCP servers: the site finds out once which tools they have, and calls those."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from league_sdk.dialects.arguments import Argument
from league_sdk.dialects.discovery import LIMIT_S
from league_sdk.dialects.kept import IDLE_S
from league_sdk.dialects.memory import Memory
from league_sdk.dialects.session import STATELESS_VERSION
from league_sdk.dialects.tools import Tool
from league_sdk.protocol import rpc
from league_sdk.transport.client import NotReached, Reply, TimedOut
from matches.conducting.parcels import Parcel
from matches.conducting.telling import MAX_DISCOVERIES, MAX_REFUSALS, Telling

URL = "http://127.0.0.1:8101/mcp"
ROUND = {"message_type": "ROUND_ANNOUNCEMENT", "round_id": 1}
SCHEMA = {"type": "object", "properties": {"roundId": {"type": "integer"}, "mood": {}}, "required": ["roundId", "mood"]}


def error(code: int, message: str) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": None, "error": {"code": code, "message": message}}


def ok(body: Mapping[str, Any], **fields: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": body.get("id"), "result": fields}


class Player:
    """Replaces the HTTP client: a player with the answers of the test."""

    def __init__(self, answer: Callable[[dict[str, Any]], Any]) -> None:
        self.answer = answer
        self.methods: list[str] = []
        self.tool_calls: list[dict[str, Any]] = []
        self.limits: list[float] = []
        self.deleted: list[str] = []
        self.session = ""

    async def post(self, url: str, body: Any, *, limit_s: float, headers: Any = None) -> Reply:
        body = rpc.loads(body) if isinstance(body, bytes) else body
        self.methods.append(body["method"])
        self.limits.append(round(limit_s))
        self.tool_calls += [body["params"]] if body["method"] == "tools/call" else []
        self.session = (headers or {}).get("mcp-session-id", "")
        reply = self.answer(body)
        if isinstance(reply, Exception):
            raise reply
        reply_headers = (
            {"mcp-session-id": f"s{self.methods.count('initialize')}"} if body["method"] == "initialize" else {}
        )
        return Reply(200, reply, "", 0.0, reply_headers)

    async def delete(self, url: str, headers: Mapping[str, str], *, limit_s: float) -> None:
        self.deleted.append(headers["mcp-session-id"])


def retold(found: Memory) -> tuple[bytes, tuple[str, ...]]:
    """The broadcast as a call of the tool that was found, and the arguments for which no message has a value."""
    tool = found.own.get("ROUND_ANNOUNCEMENT") or Tool("notify_round")
    body, unfilled = tool.call("tools_list", ROUND, 7)
    return rpc.dumps(body), unfilled


def parcel(learned: Mapping[str, Any] | None = None, **changes: Any) -> Parcel:
    """A broadcast to the player, of which ``learned`` is known from earlier broadcasts."""
    body = rpc.dumps(rpc.call("notify_round", ROUND, 7))
    known = {"kind": "ROUND_ANNOUNCEMENT", "registration": "5.1", "retold": retold, "learned": learned or {}}
    return Parcel(7, URL, **{"body": body, "limit_s": 10.0, **known, **changes})


def stateless(body: dict[str, Any]) -> Any:
    """The answers of an MCP server of the stateless version, with one tool."""
    if body["method"] == "server/discover":
        return ok(body, supportedVersions=[STATELESS_VERSION], capabilities={})
    if body["method"] == "tools/list":
        return ok(body, tools=[{"name": "newRound", "inputSchema": SCHEMA}])
    return ok(body, content=[]) if body["method"] == "tools/call" else error(-32601, "Method not found")


async def test_an_mcp_server_is_asked_once_and_gets_the_first_broadcast() -> None:
    player = Player(stateless)
    telling = Telling(player)  # type: ignore[arg-type]
    found = await telling.tell(player, parcel())
    assert player.methods == ["notify_round", "server/discover", "tools/list", "tools/call"]
    assert player.tool_calls[0]["arguments"] == {"roundId": 1, "mood": ""}
    assert (found.registration, found.spoken["ROUND_ANNOUNCEMENT"]) == ("5.1", "tools_list")
    assert found.learned is not None and found.learned["mcp"] == STATELESS_VERSION
    assert found.notes == ("ROUND_ANNOUNCEMENT: no message has a value for mood",)
    # The next broadcast goes to the tool at once, also from another process.
    player.methods.clear()
    other = Telling(player)  # type: ignore[arg-type]
    body = rpc.dumps(Tool("newRound", "", (Argument("roundId", "integer", required=True),)).call("", ROUND, 8)[0])
    assert not await other.tell(player, parcel(found.learned, body=body))
    assert player.methods == ["tools/call"]
    assert "_meta" in player.tool_calls[-1]


async def test_a_player_that_understands_a_broadcast_is_not_asked_for_its_tools() -> None:
    player = Player(lambda body: ok(body, status="received"))
    telling = Telling(player)  # type: ignore[arg-type]
    assert not await telling.tell(player, parcel())
    assert player.methods == ["notify_round"]


async def test_a_player_that_is_not_an_mcp_server_is_asked_only_once_for_its_tools() -> None:
    player = Player(lambda body: error(-32601, "Method not found"))
    telling = Telling(player)  # type: ignore[arg-type]
    found = await telling.tell(player, parcel())
    assert (player.methods, found.learned) == (["notify_round", "server/discover", "initialize"], {"mcp": ""})
    await telling.tell(player, parcel(found.learned))
    assert player.methods[3:] == ["notify_round"]


def with_sessions(player: Player) -> Callable[[dict[str, Any]], Any]:
    def answer(body: dict[str, Any]) -> Any:
        if body["method"] == "initialize":
            return ok(body, protocolVersion="2025-06-18", capabilities={})
        if not player.session:
            return error(-32600, "Bad Request: Missing session ID")
        return stateless(body) if body["method"].startswith("tools/") else None

    return answer


async def test_a_session_is_kept_for_the_next_broadcast_and_ended() -> None:
    player = Player(lambda body: None)
    player.answer = with_sessions(player)
    telling = Telling(player)  # type: ignore[arg-type]
    found = await telling.tell(player, parcel())
    opening = ["server/discover", "initialize", "notifications/initialized", "tools/list"]
    assert player.methods == ["notify_round", *opening, "tools/call"]
    assert found.learned is not None and found.learned["session"] is True
    await telling.tell(player, parcel(found.learned, body=retold(Memory())[0]))
    assert (player.methods[6:], player.session, player.deleted) == (["tools/call"], "s1", [])
    await telling.aclose()
    assert player.deleted == ["s1"]


class SlowPlayer(Player):
    """A player that is an MCP server and takes, for a call of a tool, longer than a session may be idle."""

    def __init__(self) -> None:
        super().__init__(lambda body: None)
        self.answer = with_sessions(self)
        self.seconds = 0.0
        self.telling = Telling(self, now=lambda: self.seconds)  # type: ignore[arg-type]

    async def post(self, url: str, body: Any, *, limit_s: float, headers: Any = None) -> Reply:
        reply = await super().post(url, body, limit_s=limit_s, headers=headers)
        if self.methods[-1] == "tools/call":
            await self.pass_seconds(IDLE_S + 50)
        return reply

    async def pass_seconds(self, seconds: float) -> None:
        self.seconds += seconds
        await self.telling._sessions.end_idle()


async def test_a_session_is_not_ended_during_a_broadcast_that_takes_long() -> None:
    player = SlowPlayer()
    found = await player.telling.tell(player, parcel(limit_s=IDLE_S + 200))
    await player.telling.tell(player, parcel(found.learned, body=retold(Memory())[0], limit_s=IDLE_S + 200))
    assert (player.methods[5:], player.deleted) == (["tools/call", "tools/call"], [])
    await player.pass_seconds(IDLE_S)
    assert player.deleted == ["s1"]


async def test_a_server_that_loses_its_sessions_is_asked_for_its_tools_a_limited_number_of_times() -> None:
    player = Player(lambda body: None)

    def answer(body: dict[str, Any]) -> Any:
        if body["method"] == "initialize":
            return ok(body, protocolVersion="2025-06-18", capabilities={})
        return error(-32001, "Session not found")

    player.answer = answer
    telling = Telling(player)  # type: ignore[arg-type]
    known = parcel({"mcp": "2025-06-18", "session": True})
    for _ in range(2 * MAX_DISCOVERIES):
        await telling.tell(player, known)
    assert player.methods.count("server/discover") == MAX_DISCOVERIES
    player.methods.clear()
    await telling.tell(player, known)
    assert player.methods == ["notify_round"]


async def test_a_player_that_answers_discover_too_late_counts_as_no_mcp_server() -> None:
    def answer(body: dict[str, Any]) -> Any:
        return TimedOut("slow", connected=True) if body["method"] == "server/discover" else error(-32601, "no")

    player = Player(answer)
    telling = Telling(player)  # type: ignore[arg-type]
    found = await telling.tell(player, parcel())
    assert player.limits == [10, round(LIMIT_S)]
    assert found.learned == {"mcp": ""}


async def test_a_tool_that_fails_is_quoted_to_the_owner_once() -> None:
    def answer(body: dict[str, Any]) -> Any:
        content = [{"type": "text", "text": "1 validation error: roundId is missing"}]
        return ok(body, content=content, isError=True) if body["method"] == "tools/call" else stateless(body)

    player = Player(answer)
    telling = Telling(player)  # type: ignore[arg-type]
    known = parcel({"mcp": STATELESS_VERSION}, body=retold(Memory())[0])
    found = await telling.tell(player, known)
    assert found.notes == ("ROUND_ANNOUNCEMENT: its tool failed: 1 validation error: roundId is missing",)
    assert not await telling.tell(player, known)


async def test_a_failed_connection_is_raised_so_that_the_sender_tries_again() -> None:
    player = Player(lambda body: NotReached("no connection", connected=False))
    with pytest.raises(NotReached):
        await Telling(player).tell(player, parcel())  # type: ignore[arg-type]
    assert player.methods == ["notify_round"]


# -- players that refuse ----------------------------------------------------------------------------------------


def unknown(body: dict[str, Any]) -> dict[str, Any]:
    return error(-32601, "Method not found")


async def test_a_kind_of_broadcast_that_is_always_refused_is_not_sent_any_more() -> None:
    player, learned, notes = Player(unknown), {"mcp": ""}, []
    telling = Telling(player)  # type: ignore[arg-type]
    for _ in range(6):
        found = await telling.tell(player, parcel(learned))
        learned |= found.learned or {}
        notes += found.notes
    assert (len(player.methods), learned) == (MAX_REFUSALS, {"mcp": "", "refuses ROUND_ANNOUNCEMENT": True})
    assert notes == ["ROUND_ANNOUNCEMENT was refused 3 times and is not sent any more until the agent registers again"]
    # Another kind, and the same kind after another registration, are sent.
    await telling.tell(player, parcel(learned, kind="ROUND_COMPLETED"))
    await telling.tell(player, parcel({"mcp": ""}, registration="5.2"))
    assert len(player.methods) == MAX_REFUSALS + 2


@pytest.mark.parametrize("kind", ["LEAGUE_COMPLETED", "ROUND_COMPLETED"])
async def test_a_kind_that_was_understood_once_and_the_end_of_the_league_are_always_sent(kind: str) -> None:
    answers = iter([ok({}), *[unknown({})] * 5] if kind == "ROUND_COMPLETED" else [unknown({})] * 6)
    player = Player(lambda body: next(answers))
    telling = Telling(player)  # type: ignore[arg-type]
    found = [await telling.tell(player, parcel({"mcp": ""}, kind=kind)) for _ in range(6)]
    assert (len(player.methods), any(found)) == (6, False)


@pytest.mark.parametrize(("wanted_s", "slept"), [(None, 1.0), (3, 3.0), (3600, 10.0)])
async def test_a_player_that_is_busy_is_left_alone_and_loses_no_kind(wanted_s: float | None, slept: float) -> None:
    refused = {"error": {"code": 429, "message": "slow down", "data": {"retry_after": wanted_s}}}
    player, sleeps = Player(lambda body: refused), []

    async def sleep(seconds: float) -> None:
        sleeps.append(seconds)

    telling = Telling(player, sleep=sleep)  # type: ignore[arg-type]
    found = [await telling.tell(player, parcel(also=(b"{}",))) for _ in range(4)]
    # Neither a second body nor the question what it is follows.
    assert (player.methods, sleeps, any(found)) == (["notify_round"] * 4, [slept] * 4, False)
