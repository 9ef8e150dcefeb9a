"""A referee as an MCP server of both eras, beside league.v2: the same tools, admitted and refused in the same way."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from typing import Any

import pytest
import pytest_asyncio
from aiohttp import ClientResponse, TCPConnector
from aiohttp.test_utils import TestClient, TestServer

from league_sdk.judging.door import mounting
from league_sdk.judging.door.answers import SCHEMAS
from league_sdk.judging.door.budgets import Budgets, Rate
from league_sdk.judging.worker.referee import Referee
from league_sdk.mcp.listening import MAX_LISTENERS_PER_CALLER
from league_sdk.mcp.server import McpServer
from league_sdk.mcp.versions import META
from league_sdk.protocol import tokens
from league_sdk.protocol.limits import MAX_BODY_BYTES
from tests.league_sdk.judging.at_door import application
from tests.league_sdk.judging.staged import DETAILS, KEY, TAKEN, WIN, Stage, begin
from tests.league_sdk.judging.starts import LEAGUE_TOKEN, START, Link, auth_token_of, with_tokens
from tests.league_sdk.mcp.schema_checks import assert_fits
from tests.league_sdk.mcp.talking import BOTH, handshake_body, stateless

KEY_OF_METRICS = "key-of-the-metrics"
STEPS = ("collect_choices", "draw_number", "finalize_match")
TOKEN_OF_P01 = auth_token_of("league_2P01")
"""The auth_token of P01 in the match of :func:`with_tokens`."""
START_WITHOUT_TOKEN = {name: value for name, value in START.items() if name != "auth_token"}


class Host:
    """Clients of MCP, and of league.v2, at a referee's door."""

    def __init__(self, client: Any, referee: Referee, stage: Stage, budgets: Budgets, mcp: McpServer) -> None:
        self.client, self.referee, self.stage, self.budgets, self.mcp = client, referee, stage, budgets, mcp
        self.address = f"127.0.0.1:{client.port}"

    def send(self, body: Any, *, method: str = "POST", path: str = "/mcp", **headers: str) -> Any:
        """A request as a context manager; names of headers are written with underscores."""
        named = {"Accept": BOTH, "Content-Type": "application/json"}
        named |= {name.replace("_", "-"): value for name, value in headers.items()}
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        return self.client.request(method, path, data=data, headers=named)

    async def post(self, body: Any, **options: str) -> tuple[int, Any]:
        """Status and decoded body of what is answered with JSON."""
        async with self.send(body, **options) as reply:
            raw = await reply.read()
            return reply.status, json.loads(raw) if raw else None

    async def listed(self, era: str) -> dict[str, Any]:
        """The tools by name, as the referee lists them to a client of an era."""
        if era == "stateless":
            body, headers = stateless("tools/list")
            _, answer = await self.post(body, **headers)
        else:
            _, answer = await self.post(handshake_body("tools/list"), **await self.session())
        return {tool["name"]: tool for tool in answer["result"]["tools"]}

    async def call(self, era: str, name: str, token: str = "", **arguments: Any) -> dict[str, Any]:
        """The result of a tool, as a client of an era has it."""
        bearer = {"authorization": f"Bearer {token}"} if token else {}
        if era == "stateless":
            body, headers = stateless("tools/call", name=name, arguments=arguments)
            status, answer = await self.post(body, **headers | bearer)
            assert answer["result"]["resultType"] == "complete"
        else:
            body = handshake_body("tools/call", name=name, arguments=arguments)
            status, answer = await self.post(body, **await self.session(**bearer) | bearer)
            assert "resultType" not in answer["result"]
        assert (status, answer["id"]) == (200, 7)
        result: dict[str, Any] = answer["result"]
        assert_fits(SCHEMAS[name], result["structuredContent"], refusal=result.get("isError", False), strict=True)
        return result

    async def session(self, **bearer: str) -> dict[str, str]:
        """A session of the handshake era: the headers of its requests."""
        body = handshake_body("initialize", protocolVersion="2025-11-25", capabilities={}, clientInfo={"name": "t"})
        async with self.send(body, **bearer) as reply:
            assert (await reply.json())["result"]["serverInfo"]["name"] == "league-referee"
            named = {"mcp_session_id": reply.headers["Mcp-Session-Id"], "mcp_protocol_version": "2025-11-25"}
        assert await self.post({"jsonrpc": "2.0", "method": "notifications/initialized"}, **named, **bearer) == (
            202,
            None,
        )
        return named

    def streams(self, **options: str) -> Any:
        """A stream of the stateless era, as a context manager."""
        body, headers = stateless("subscriptions/listen", notifications={})
        return self.send(body, **headers, **options)


@pytest_asyncio.fixture
async def host(referee: Referee, link: Link, stage: Stage, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Host]:
    budgets, server = Budgets(), mounting.make_server()
    monkeypatch.setattr(mounting, "make_server", lambda: server)
    served = TestServer(application(referee, link, [KEY_OF_METRICS], budgets))  # type: ignore[arg-type]
    async with TestClient(served, connector=TCPConnector(limit=0)) as client:
        yield Host(client, referee, stage, budgets, server)


# -- tools --------------------------------------------------------------------------------------------------

ERAS = pytest.mark.parametrize("era", ["stateless", "handshake"])


@ERAS
async def test_every_tool_says_what_it_takes_and_does(host: Host, era: str) -> None:
    tools = await host.listed(era)
    assert set(tools) == {
        "start_match", *STEPS, "get_match_state", "GAME_JOIN_ACK", "CHOOSE_PARITY_RESPONSE", "GAME_MOVE_RESPONSE",
        "notify_round", "notify_league_completed", "ping", "list_tools",
    }  # fmt: skip
    for tool in tools.values():
        assert tool["title"] and tool["description"] and tool["outputSchema"] == SCHEMAS[tool["name"]]
        assert set(tool["inputSchema"]["required"]) <= set(tool["inputSchema"]["properties"])
    writing = {"start_match", "GAME_JOIN_ACK", "CHOOSE_PARITY_RESPONSE", "GAME_MOVE_RESPONSE"}
    assert {name for name, tool in tools.items() if not tool["annotations"]["readOnlyHint"]} == writing
    starting = tools["start_match"]
    assert starting["annotations"] == {
        "readOnlyHint": False, "openWorldHint": False, "destructiveHint": False, "idempotentHint": True,
    }  # fmt: skip
    assert "league manager only" in starting["description"]
    assert (
        set(starting["inputSchema"]["required"])
        == START_WITHOUT_TOKEN.keys() & starting["inputSchema"]["properties"].keys()
    )
    for name in (*STEPS, "get_match_state"):
        assert tools[name]["inputSchema"]["required"] == ["match_id"]


@ERAS
async def test_a_tool_is_called_by_the_name_under_which_it_is_listed(host: Host, era: str) -> None:
    for name in await host.listed(era):
        message = (await host.call(era, name, match_id="R9M9"))["structuredContent"]
        assert message.get("error_code") != "E002" or message["context"]["field"] != "method", name


async def test_only_listed_tools_can_be_called(host: Host) -> None:
    for name in ("health", "metrics", "register_player", "GAME_OVER", "tools/list", "START_MATCH", ""):
        body, headers = stateless("tools/call", name=name, arguments={"auth_token": LEAGUE_TOKEN})
        status, answer = await host.post(body, **headers)
        assert (status, answer["error"]["code"]) == (400, -32602)
        status, answer = await host.post(handshake_body("tools/call", name=name), **await host.session())
        assert (status, answer["error"]["code"]) == (200, -32602)


@ERAS
async def test_a_match_is_started_with_the_league_managers_token_only(host: Host, era: str) -> None:
    for token in ("", TOKEN_OF_P01, LEAGUE_TOKEN[:-1]):
        refused = await host.call(era, "start_match", token, **START_WITHOUT_TOKEN)
        assert refused["isError"] is True
        assert refused["structuredContent"]["error_code"] == "E012"
        assert refused["structuredContent"]["sender"] == "referee:REF01"
    assert (await host.call(era, "start_match", TOKEN_OF_P01, **START))["structuredContent"] == TAKEN
    assert host.referee.in_play == 1
    assert (await host.call(era, "start_match", LEAGUE_TOKEN, **START_WITHOUT_TOKEN))["structuredContent"] == TAKEN
    assert host.referee.in_play == 1


@ERAS
async def test_what_is_missing_in_a_start_is_named(host: Host, era: str) -> None:
    refused = await host.call(era, "start_match", LEAGUE_TOKEN, match_id="R1M1")
    assert (refused["isError"], refused["structuredContent"]["error_code"]) == (True, "E003")
    assert refused["structuredContent"]["context"]["field"] == "settings"


# -- what is shown, and to whom -----------------------------------------------------------------------------


@ERAS
async def test_a_player_is_shown_what_league_v2_shows_it(host: Host, era: str) -> None:
    await begin(host.referee, with_tokens())
    host.stage.logs[KEY].lock_in("P02")
    arguments = {"match_id": "R1M1", "auth_token": TOKEN_OF_P01}
    _, plain = await host.post({"jsonrpc": "2.0", "id": 1, "method": "get_match_state", "params": arguments})
    shown = await host.call(era, "get_match_state", TOKEN_OF_P01, match_id="R1M1")
    assert shown["structuredContent"] == plain["result"] == await _state(host, era, **arguments)
    assert shown["structuredContent"]["locked_in"] == ["P02"]


async def _state(host: Host, era: str, **arguments: Any) -> Any:
    return (await host.call(era, "get_match_state", **arguments))["structuredContent"]


@ERAS
@pytest.mark.parametrize("name", [*STEPS, "get_match_state"])
async def test_a_stranger_is_told_the_same_of_every_match_in_play_or_not(host: Host, era: str, name: str) -> None:
    async def refused(match_id: str, token: str = "") -> tuple[str, str, str]:
        answer = await host.call(era, name, token, match_id=match_id)
        assert answer["isError"] is True
        message = answer["structuredContent"]
        return message["error_code"], answer["content"][0]["text"], message["context"].get("legacy_code", "")

    await begin(host.referee, with_tokens())
    missing = "E011", "auth_token is missing.", ""
    unknown = "E002", "This match is not being played here.", "G003"
    assert [await refused(match) for match in ("R1M1", "R9M9")] == [missing, missing]
    for token in (auth_token_of("league_2P09"), LEAGUE_TOKEN, START["player_A"]["league_token"]):
        assert await refused("R1M1", token) == await refused("R9M9", token) == unknown
    await host.stage.end_and_settle(WIN)
    # A stranger is told the same of a match in play as of one that is over or never was.
    assert await refused("R1M1", auth_token_of("league_2P09")) == unknown


@ERAS
async def test_the_steps_are_told_to_the_players_after_game_over(host: Host, era: str) -> None:
    await begin(host.referee, with_tokens())
    for name in STEPS:
        early = await host.call(era, name, TOKEN_OF_P01, match_id="R1M1")
        assert (early["isError"], early["structuredContent"]["error_code"]) == (True, "E002")
        assert "after GAME_OVER" in early["content"][0]["text"]
    calls = host.stage.callers[0].called[:]
    await host.stage.end_and_settle(WIN)
    steps = [(await host.call(era, name, TOKEN_OF_P01, match_id="R1M1"))["structuredContent"] for name in STEPS]
    about = {"league_id": KEY[0], "match_id": "R1M1", "attempt": 1}
    at = steps[2].pop("at")
    assert steps == [
        about | {"step": "COLLECTING_CHOICES", "at": None, "choices": DETAILS["choices"], "moves": []},
        about
        | {"step": "DRAWING_NUMBER", "at": None, "drawn_number": 8, "number_parity": "even", "draw_seed": None}
        | {"play": None},
        about
        | {"step": "FINISHED"}
        | {"game_result": {"status": "WIN", "winner_player_id": "P01", "reason": WIN.reason} | DETAILS},
    ]
    assert at
    # Calling the steps has started nothing, and reported nothing again.
    assert host.stage.callers[0].called == calls
    assert (host.referee.in_play, host.stage.begun) == (0, [KEY])


# -- which protocol is spoken -------------------------------------------------------------------------------


async def test_course_agents_are_answered_in_league_v2(host: Host) -> None:
    status, answer = await host.post(handshake_body("tools/call", name="ping", arguments={}))
    assert (status, answer["result"]["status"], answer["result"]["isError"]) == (200, "ok", False)
    for method in ("ping", "list_tools"):
        status, answer = await host.post({"method": method, "id": "x"})
        assert (status, answer["id"]) == (200, "x")
        assert answer["result"].get("status") == "ok" or answer["result"]["tools"]
    status, answer = await host.post({"jsonrpc": "2.0", "id": 1, "method": "collect_choices", "params": {}})
    assert (status, answer["error"]["code"], answer["error"]["data"]["error_code"]) == (200, -32001, "E011")
    status, answer = await host.post({"jsonrpc": "2.0", "id": 1, "method": "no_such_method"})
    assert (status, answer["error"]["code"]) == (200, -32601)
    for method, expected in (("GET", 404), ("DELETE", 404), ("PUT", 404)):
        async with host.send(b"", method=method) as reply:
            assert (reply.status, await reply.json()) == (expected, {"error": "Messages are sent by POST to /mcp."})


async def test_a_start_that_fits_neither_era_is_not_carried_out(host: Host) -> None:
    body, headers = stateless("tools/call", name="start_match", arguments=START)
    meta = body["params"].pop("_meta")
    assert (await host.post(body, **headers))[1]["error"]["code"] == -32602
    body["params"]["_meta"] = meta
    for changed, code in (
        (headers | {"mcp_method": "tools/list"}, -32020),
        (headers | {"mcp_name": "ping"}, -32020),
        (headers | {"mcp_protocol_version": "2025-11-25"}, -32020),
        ({}, -32020),
    ):
        status, answer = await host.post(body, **changed)
        assert (status, answer["error"]["code"], "data" in answer["error"]) == (400, code, False)
    newer = meta | {f"{META}protocolVersion": "2027-01-01"}
    body["params"]["_meta"] = newer
    status, answer = await host.post(body, **headers | {"mcp_protocol_version": "2027-01-01"})
    assert (status, answer["error"]["code"]) == (400, -32022)
    older_body = handshake_body("tools/call", name="start_match", arguments=START)
    assert (await host.post(older_body, mcp_session_id="gone", mcp_protocol_version="2025-11-25"))[0] == 404
    assert (await host.post(older_body, mcp_protocol_version="2020-01-01"))[0] == 400
    # A notification is never carried out.
    silent = {name: value for name, value in stateless("tools/call", name="start_match", arguments=START)[0].items()
              if name != "id"}  # fmt: skip
    assert await host.post(silent, **headers) == (202, None)
    assert host.referee.in_play == 0


async def test_get_and_delete_are_taken_in_a_session_only(host: Host) -> None:
    _body, headers = stateless("tools/list")
    for method in ("GET", "DELETE", "PUT"):
        async with host.send(b"", method=method, **headers) as reply:
            assert (reply.status, reply.headers["Allow"], await reply.read()) == (405, "POST", b"")
    session = await host.session()
    async with host.send(b"", method="GET", **session) as reply:
        assert (reply.status, reply.headers["Content-Type"]) == (200, "text/event-stream")
    async with host.send(b"", method="DELETE", **session) as reply:
        assert reply.status == 204
    assert (await host.post(handshake_body("ping"), **session))[0] == 404


async def test_what_cannot_be_read_is_refused_in_the_protocol_that_its_headers_name(host: Host) -> None:
    _body, headers = stateless("tools/list")
    status, answer = await host.post(b"{")
    assert (status, answer["error"]["code"], answer["error"]["data"]["error_code"]) == (200, -32700, "E002")
    status, answer = await host.post(b"{", **headers)
    assert (status, answer) == (400, {"jsonrpc": "2.0", "id": None, "error": answer["error"]})
    assert (answer["error"]["code"], answer["error"]["data"]) == (-32700, None)
    status, answer = await host.post([stateless("tools/list")[0]], **headers)
    assert (status, answer["error"]["code"]) == (400, -32600)
    assert (await host.post(b" " * (MAX_BODY_BYTES + 1), **headers))[0] == 413


async def test_a_page_of_another_site_calls_no_tool(host: Host) -> None:
    body, headers = stateless("tools/call", name="start_match", arguments=START)
    older_body = handshake_body("tools/call", name="start_match", arguments=START)
    session = await host.session()
    for origin, called in (
        ("https://evil.example", host.address),
        ("http://evil.example", "evil.example"),
        ("http://localhost:1", f"localhost:{host.client.port}"),
        ("null", host.address),
    ):
        assert (await host.post(body, **headers, origin=origin, host=called))[0] == 403
        assert (await host.post(older_body, **session, origin=origin, host=called))[0] == 403
        async with host.send(b"", method="GET", **session, origin=origin, host=called) as reply:
            assert reply.status == 403
    assert host.referee.in_play == 0
    listed, headers = stateless("tools/list")
    assert (await host.post(listed, **headers, origin=f"http://{host.address}", host=host.address))[0] == 200


# -- how much anybody may ask -------------------------------------------------------------------------------


async def test_requests_of_mcp_use_the_budget_of_their_sender(host: Host) -> None:
    body, headers = stateless("tools/list")
    assert (await host.post(body, **headers))[0] == 200
    host.budgets._strangers.requests._rate = Rate(0.0, 0.0)
    async with host.send(body, **headers) as reply:
        assert (reply.status, reply.headers["Retry-After"]) == (429, "1")
        assert (await reply.json())["error"]["data"]["error_code"] == "E009"
    assert (await host.post(handshake_body("initialize")))[0] == 429
    assert (await host.post(body, **headers, authorization=f"Bearer {LEAGUE_TOKEN}"))[0] == 200
    assert host.budgets.turned_away["stranger"] == 2


async def test_a_crowd_of_streams_leaves_room_for_a_player(host: Host) -> None:
    await begin(host.referee, with_tokens())
    seat = min(host.referee.open_seats)
    host.budgets.open_seats([seat])
    host.budgets.know_players({tokens.digest(TOKEN_OF_P01): seat})
    async with AsyncExitStack() as stack:
        opened: list[ClientResponse] = []
        for _ in range(MAX_LISTENERS_PER_CALLER):
            opened.append(await stack.enter_async_context(host.streams()))
        assert {reply.status for reply in opened} == {200}
        assert len(host.mcp.listeners) == MAX_LISTENERS_PER_CALLER
        async with host.streams() as reply:
            assert reply.status == 503
        # Neither the player's streams nor anybody's requests wait for those of the crowd.
        for own in ({"path": f"/mcp/{seat}"}, {"authorization": f"Bearer {TOKEN_OF_P01}"}):
            opened.append(await stack.enter_async_context(host.streams(**own)))
            assert opened[-1].status == 200
        assert host.mcp.listeners._by_caller[seat] == 2
        body, headers = stateless("tools/list")
        assert (await host.post(body, **headers))[0] == 200
        host.mcp.close()
        for reply in opened:
            assert (await reply.read()).count(b"data:") == 2
    assert len(host.mcp.listeners) == 0


async def test_the_door_counts_what_it_answers_itself(host: Host) -> None:
    body, headers = stateless("tools/list")
    await host.post(body, **headers)
    await host.call("stateless", "ping")
    await host.post(b"{", **headers)
    await host.call("stateless", "get_match_state", match_id="R1M1")
    async with host.client.get("/metrics", headers={"Authorization": f"Bearer {KEY_OF_METRICS}"}) as reply:
        counted = [line.partition("{")[2] for line in (await reply.text()).splitlines() if '"mcp"' in line]
    assert counted == ['message_type="mcp",outcome="ok"} 2', 'message_type="mcp",outcome="HTTP 400"} 1']
