"""The SDK's player as an MCP server of both eras at its port, beside league.v2."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from itertools import count
from typing import Any

import pytest
import pytest_asyncio
from aiohttp import ClientResponse, ClientSession

from league_sdk.dialects.answers import Understanding
from league_sdk.dialects.driver import Driver, Replied
from league_sdk.dialects.hunt import Hunt, Memory, Proposal
from league_sdk.dialects.session import through
from league_sdk.mcp.requests import HttpRequest
from league_sdk.mcp.versions import META
from league_sdk.player import AlwaysOdd, Player, PlayerServer
from league_sdk.player import server as server_module
from league_sdk.player.answers import SCHEMAS
from league_sdk.player.offering import STATE
from league_sdk.transport.client import Client, Reply
from tests.league_sdk.mcp.schema_checks import assert_fits
from tests.league_sdk.mcp.talking import BOTH, handshake_body, stateless
from tests.league_sdk.player.samples import ACCEPTED, CHOICE, INVITATION, LEAGUE_TOKEN, OVER, TOKEN

PATIENCE_S = 60.0
IN_R1M1 = {"match_id": "R1M1"}


class Host:
    """A client of MCP at a player's real port."""

    def __init__(self, player: Player, server: PlayerServer, http: ClientSession) -> None:
        self.player, self.server, self.http = player, server, http
        self.url = f"http://127.0.0.1:{server.port}/mcp"

    def send(self, body: Any, *, method: str = "POST", **headers: str) -> Any:
        """The request as a context manager; names of headers are written with underscores."""
        named = {"Accept": BOTH, "Content-Type": "application/json"}
        named |= {name.replace("_", "-"): value for name, value in headers.items()}
        return self.http.request(method, self.url, data=body if isinstance(body, bytes) else json.dumps(body).encode(),
                                 headers=named)  # fmt: skip

    async def post(self, body: Any, **headers: str) -> tuple[int, Any]:
        """Status and decoded body of what is answered with JSON."""
        async with self.send(body, **headers) as reply:
            raw = await reply.read()
            return reply.status, json.loads(raw) if raw else None

    async def ask(self, method: str, *, token: str = "", **params: Any) -> dict[str, Any]:
        """The result of a request of the stateless era."""
        body, headers = stateless(method, **params)
        status, answer = await self.post(body, **headers | _bearer(token))
        assert status == 200, answer
        result: dict[str, Any] = answer["result"]
        assert result["_meta"][f"{META}serverInfo"]["name"] == "league-player"
        return result

    async def call(self, name: str, token: str = "", **arguments: Any) -> dict[str, Any]:
        """The result of a tool, as a client of the stateless era has it."""
        result = await self.ask("tools/call", token=token, name=name, arguments=arguments)
        assert_fits(SCHEMAS[name], result["structuredContent"], refusal=result.get("isError", False), strict=True)
        return result

    async def session(self) -> dict[str, str]:
        """A session of the handshake era: the headers of its requests."""
        body = handshake_body("initialize", protocolVersion="2025-11-25", capabilities={}, clientInfo={"name": "t"})
        async with self.send(body) as reply:
            named = {"mcp_session_id": reply.headers["Mcp-Session-Id"], "mcp_protocol_version": "2025-11-25"}
        assert await self.post({"jsonrpc": "2.0", "method": "notifications/initialized"}, **named) == (202, None)
        return named


def _bearer(token: str) -> dict[str, str]:
    return {"authorization": f"Bearer {token}"} if token else {}


async def next_message(reply: ClientResponse) -> Any:
    """The next message of a stream; None at its end."""
    async with asyncio.timeout(PATIENCE_S):
        while line := await reply.content.readline():
            if line.startswith(b"data:"):
                return json.loads(line[5:])
    return None


@pytest_asyncio.fixture
async def host() -> AsyncIterator[Host]:
    player = Player("Alpha", AlwaysOdd())
    player.accept(ACCEPTED)
    server = PlayerServer({"/mcp": player})
    await server.start("127.0.0.1", 0)
    async with ClientSession() as http:
        yield Host(player, server, http)
    await server.stop()


# -- tools --------------------------------------------------------------------------------------------------


async def test_every_tool_says_what_it_takes_and_does(host: Host) -> None:
    tools = {tool["name"]: tool for tool in (await host.ask("tools/list"))["tools"]}
    assert set(tools) == {
        "handle_game_invitation", "choose_parity", "make_move", "notify_match_result", "notify_round",
        "update_standings", "notify_round_completed", "notify_league_completed", "notify_game_error", "ping",
        "get_player_state",
    }  # fmt: skip
    for tool in tools.values():
        assert tool["title"] and tool["description"] and tool["outputSchema"] == SCHEMAS[tool["name"]]
        assert set(tool["inputSchema"]["required"]) <= set(tool["inputSchema"]["properties"])
    assert {name for name, tool in tools.items() if tool["annotations"]["readOnlyHint"]} == {"ping", "get_player_state"}
    needed = {name: tool["inputSchema"]["required"] for name, tool in tools.items() if tool["inputSchema"]["required"]}
    assert needed == {
        "handle_game_invitation": ["match_id"],
        "choose_parity": ["match_id"],
        "make_move": ["match_id", "move_request"],
        "notify_match_result": ["match_id", "game_result"],
    }


async def test_a_match_is_played_with_few_arguments(host: Host) -> None:
    joined = (await host.call("handle_game_invitation", **IN_R1M1))["structuredContent"]
    assert (joined["message_type"], joined["accept"], joined["player_id"]) == ("GAME_JOIN_ACK", True, "P01")
    chosen = await host.call("choose_parity", **IN_R1M1, auth_token=None)
    assert chosen["structuredContent"]["parity_choice"] == "odd"
    assert json.loads(chosen["content"][0]["text"]) == chosen["structuredContent"]
    assert joined["conversation_id"] == chosen["structuredContent"]["conversation_id"]
    request = {"valid_options": [4], "move_type": "place"}
    moved = await host.call("make_move", **IN_R1M1, game_type="tic_tac_toe", move_request=request)
    assert moved["structuredContent"]["move_data"] == {"move_type": "place", "choice": 4}
    reply = await host.call("notify_match_result", **IN_R1M1, game_result=OVER["game_result"])
    assert reply["structuredContent"] == {"status": "received"}
    assert [row["result"] for row in host.player.memory.matches] == ["WIN"]


async def test_answers_to_odd_arguments_fit_their_schema(host: Host) -> None:
    """``Host.call`` compares each answer with its schema: clients refuse one that does not fit."""
    odd = {"match_id": "M" * 500, "player_id": 7, "conversation_id": None, "message_type": "CHOOSE_PARITY_CALL"}
    for name in ("handle_game_invitation", "choose_parity"):
        await host.call(name, **odd)
    options = {"valid_options": [{"a": 1}], "move_type": [None]}
    assert (await host.call("make_move", **odd, move_request=options))["structuredContent"]["parity_choice"] == "odd"
    odd["message_type"] = ""
    moved = await host.call("make_move", **odd, move_request=options, game_type={"no": "text"})
    assert moved["structuredContent"]["move_data"] == {"move_type": [None], "choice": {"a": 1}}
    await host.call("notify_match_result", **odd, game_result={"choices": {"x": []}, "status": 3, "drawn_number": "?"})
    await host.call("update_standings", standings=[5, None])
    assert (await host.call("get_player_state", TOKEN))["structuredContent"]["standings"] == [5, None]
    host.player.player_id = host.player.auth_token = ""
    assert (await host.call("choose_parity", **odd))["structuredContent"]["player_id"] == "7"


async def test_a_call_of_few_arguments_takes_no_part_in_a_match_under_way(host: Host) -> None:
    contexts: list[Any] = []
    host.player.strategy.choose = lambda options, context: contexts.append(context) or options[len(contexts) - 1]  # type: ignore[method-assign, func-returns-value]
    moves = [(await host.call("choose_parity", **IN_R1M1))["structuredContent"]["parity_choice"] for _ in range(2)]
    body = {"jsonrpc": "2.0", "id": 1, "method": "choose_parity", "params": CHOICE}
    moves.append((await host.post(body))[1]["result"]["parity_choice"])
    assert (moves, len(contexts)) == (["even", "even", "odd"], 2)


@pytest.mark.parametrize(
    "name",
    ["notify_round", "update_standings", "notify_round_completed", "notify_league_completed", "notify_game_error"],
)
async def test_the_strategy_gets_a_message_that_asks_for_nothing_with_its_envelope_filled_in(
    host: Host, name: str
) -> None:
    messages: list[dict[str, Any]] = []
    host.player.strategy.on_message = messages.append  # type: ignore[method-assign]
    assert (await host.call(name, league_id="fall"))["structuredContent"] == {"status": "received"}
    assert (messages[0]["protocol"], messages[0]["league_id"]) == ("league.v2", "fall")
    assert {"message_type", "timestamp", "conversation_id"} <= set(messages[0])


async def test_the_history_needs_a_token_in_a_header_or_among_the_arguments(host: Host) -> None:
    await host.call("notify_match_result", **IN_R1M1, game_result=OVER["game_result"])
    for result in (
        await host.call("get_player_state", TOKEN),
        await host.call("get_player_state", TOKEN, auth_token=""),
        await host.call("get_player_state", auth_token=LEAGUE_TOKEN),
    ):
        assert result["structuredContent"]["stats"]["wins"] == 1
    for token, code in (("", "E011"), ("tok_x", "E012")):
        refused = await host.call("get_player_state", token)
        assert (refused["isError"], refused["structuredContent"]["error_code"]) == (True, code)
        assert "tok_" not in json.dumps(refused)


@pytest.mark.parametrize(
    ("name", "arguments", "code"),
    [
        ("choose_parity", {}, "E003"),
        ("choose_parity", {"match_id": {}}, "E002"),
        ("make_move", IN_R1M1, "E002"),
        ("notify_match_result", IN_R1M1, "E002"),
        ("choose_parity", IN_R1M1 | {"protocol": "league.v1"}, "E018"),
    ],
)
async def test_what_is_wrong_with_a_call_is_said_in_its_result(
    host: Host, name: str, arguments: dict[str, Any], code: str
) -> None:
    result = await host.call(name, **arguments)
    plain = await host.post({"jsonrpc": "2.0", "id": 1, "method": name, "params": arguments})
    assert (result["isError"], result["structuredContent"]["error_code"]) == (True, code)
    assert result["structuredContent"] == plain[1]["error"]["data"]
    assert result["content"][0]["text"] == plain[1]["error"]["message"]


@pytest.mark.parametrize("name", ["list_tools", "GAME_INVITATION", "mcp_message", "no_such_tool"])
async def test_only_tools_that_are_listed_can_be_called(host: Host, name: str) -> None:
    body, headers = stateless("tools/call", name=name, arguments=INVITATION)
    status, answer = await host.post(body, **headers)
    assert (status, answer["error"]["code"]) == (400, -32602)


async def test_a_call_with_the_league_token_counts_as_one_of_the_league(host: Host) -> None:
    for token, called in ((TOKEN, False), ("tok_neighbour", False), (LEAGUE_TOKEN, True)):
        await host.call("ping", token)
        assert host.player.called.is_set() is called


# -- the resource and the prompt ----------------------------------------------------------------------------


async def test_anybody_reads_what_is_public_and_the_owner_the_history(host: Host) -> None:
    public = {"display_name", "player_id", "league_id", "version", "protocol", "game_types"}
    for token, more in (("", False), ("tok_neighbour", False), (TOKEN, True)):
        contents = (await host.ask("resources/read", token=token, uri=STATE))["contents"]
        shown = json.loads(contents[0]["text"])
        assert (shown["display_name"], shown["player_id"]) == ("Alpha", "P01")
        assert ("matches" in shown) is more
        assert more or set(shown) == public
        assert "tok_" not in json.dumps(shown)


async def test_nothing_that_anybody_reads_shows_how_the_player_decides(host: Host) -> None:
    prompt = (await host.ask("prompts/get", name="try_player", arguments={"game_type": "even_odd"}))["messages"]
    assert "even_odd" in prompt[0]["content"]["text"]
    read = [await host.ask(method) for method in ("server/discover", "tools/list", "resources/list", "prompts/list")]
    read += [await host.ask("resources/read", uri=STATE), {"prompt": prompt}]
    assert type(host.player.strategy).__name__ not in json.dumps(read)


async def test_the_prompt_completes_the_games_that_the_player_plays(host: Host) -> None:
    argument = {"name": "game_type", "value": "even"}
    answer = await host.ask("completion/complete", ref={"type": "ref/prompt", "name": "try_player"}, argument=argument)
    assert "even_odd" in answer["completion"]["values"]
    assert set(answer["completion"]["values"]) <= set(host.player.plays)


async def test_a_listener_is_told_of_a_result_and_of_the_end(host: Host) -> None:
    body, headers = stateless("subscriptions/listen", notifications={"resourceSubscriptions": [STATE]})
    async with host.send(body, **headers) as stream:
        assert (await next_message(stream))["method"] == "notifications/subscriptions/acknowledged"
        await host.post({"jsonrpc": "2.0", "id": 1, "method": "notify_match_result", "params": OVER})
        notification = await next_message(stream)
        assert (notification["method"], notification["params"]["uri"]) == ("notifications/resources/updated", STATE)
        await host.server.stop()
        assert (await next_message(stream))["result"]["resultType"] == "complete"
        assert await next_message(stream) is None
    assert host.player.watchers == []


# -- which protocol is whose --------------------------------------------------------------------------------


async def test_a_client_of_the_handshake_era_has_a_session_that_ends_with_the_server(host: Host) -> None:
    session = await host.session()
    assert await host.post(handshake_body("ping"), **session) == (200, {"jsonrpc": "2.0", "id": 7, "result": {}})
    body = handshake_body("tools/call", name="choose_parity", arguments=IN_R1M1)
    result = (await host.post(body, **session))[1]["result"]
    assert "resultType" not in result
    assert (result["isError"], result["structuredContent"]["parity_choice"], result["parity_choice"]) == (
        False,
        "odd",
        "odd",
    )
    assert (await host.post(handshake_body("ping"), **session | {"mcp_session_id": "gone"}))[0] == 404
    async with host.send(b"", method="GET", **session | {"accept": "text/event-stream"}) as stream:
        assert stream.headers["Content-Type"].startswith("text/event-stream")
        await host.server.stop()
        assert await next_message(stream) is None


async def test_a_session_is_deleted(host: Host) -> None:
    session = await host.session()
    for status in (204, 404):
        async with host.send(b"", method="DELETE", **session) as reply:
            assert reply.status == status


async def test_calls_of_the_league_are_answered_in_league_v2(host: Host) -> None:
    def plain(method: str, params: Any = None) -> dict[str, Any]:
        return {"jsonrpc": "2.0", "id": 3, "method": method, "params": params}

    assert (await host.post(plain("ping")))[1]["result"] == {"status": "ok"}
    called = await host.post(plain("tools/call", {"name": "choose_parity", "arguments": CHOICE}))
    assert (called[0], called[1]["error"]["code"], called[1]["error"]["data"]["error_code"]) == (200, -32601, "E002")
    assert (await host.post(plain("choose_parity", CHOICE | {"_meta": {}})))[1]["result"]["parity_choice"] == "odd"
    assert (await host.post(plain("protocol/message", CHOICE)))[1]["error"]["code"] == -32601
    assert (await host.post(plain("choose_parity", CHOICE), origin="https://evil.example"))[0] == 200
    for method in ("GET", "DELETE", "PUT"):
        async with host.send(b"", method=method) as reply:
            assert (reply.status, reply.headers["Allow"]) == (405, "POST")
            assert (await reply.json())["error"]["code"] == -32600


async def test_what_cannot_be_read_is_refused_in_the_protocol_that_its_headers_name(host: Host) -> None:
    _body, headers = stateless("tools/list")
    assert (await host.post(b"{"))[0] == 200
    status, answer = await host.post(b"{", **headers)
    assert (status, answer["error"]["code"], answer["id"]) == (400, -32700, None)
    status, answer = await host.post([stateless("tools/list")[0]], **headers)
    assert (status, answer["error"]["code"]) == (400, -32600)
    big = stateless("tools/list", padding="x" * 70_000)[0]
    assert (await host.post(big, **headers))[0] == 413
    assert (await host.post(stateless("tools/call")[0], **headers))[1]["error"]["code"] == -32020
    async with host.send(b"", method="GET", **headers) as reply:
        assert (reply.status, reply.headers["Allow"]) == (405, "POST")


async def test_a_page_of_another_site_calls_no_tool(host: Host) -> None:
    body, headers = stateless("tools/call", name="notify_match_result", arguments=OVER)
    older_body = handshake_body("tools/call", name="notify_match_result", arguments=OVER)
    for origin, called in (
        ("https://evil.example", "127.0.0.1:1"),
        ("http://evil.example", "evil.example"),
        ("http://localhost:1", f"localhost:{host.server.port}"),
        ("null", f"127.0.0.1:{host.server.port}"),
    ):
        assert (await host.post(body, **headers, origin=origin, host=called))[0] == 403
        assert (await host.post(body, origin=origin, host=called))[0] == 403
        assert (await host.post(older_body, mcp_protocol_version="2025-06-18", origin=origin, host=called))[0] == 403
    assert host.player.memory.matches == []
    own = f"127.0.0.1:{host.server.port}"
    assert (await host.post(body, **headers, origin=f"http://{own}", host=own))[0] == 200


async def test_a_page_at_the_host_name_that_the_server_was_given_may_call_it() -> None:
    mcp = server_module._mcp_server(Player("Alpha"), "Laptop.local")
    body, headers = stateless("tools/list")
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    for host, status in (("laptop.local:8101", 200), ("evil.example:8101", 403)):
        request = HttpRequest("POST", named | {"host": host, "origin": f"http://{host}"}, json.dumps(body).encode())
        assert (await mcp.handle(request)).status == status


async def test_each_path_is_a_server_of_its_own() -> None:
    server = PlayerServer({"/a/mcp": Player("Alpha"), "/b/mcp": Player("Beta")})
    await server.start("127.0.0.1", 0)
    try:
        async with ClientSession() as http:
            for path, name in (("/a/mcp", "Alpha"), ("/a/mcp/", "Alpha"), ("/b/MCP", "Beta")):
                host = Host(server.players["/a/mcp"], server, http)
                host.url = f"http://127.0.0.1:{server.port}{path}"
                shown = (await host.ask("resources/read", uri=STATE))["contents"][0]["text"]
                assert json.loads(shown)["display_name"] == name
    finally:
        await server.stop()


# -- the league's calls -------------------------------------------------------------------------------------


@pytest.mark.parametrize(("message", "field"), [(INVITATION, ""), (CHOICE, "parity_choice")])
async def test_the_league_finds_the_player_by_its_first_plain_call(
    host: Host, message: dict[str, Any], field: str
) -> None:
    memory, ids, client = Memory(), count(1), Client(agent_type="referee")

    async def send(proposal: Proposal, left_s: float) -> Reply:
        async def post(body: Any, **options: Any) -> Reply:
            return await client.post(proposal.url, body, **options)

        return await through(post, proposal.body, memory, lambda: next(ids), limit_s=left_s)

    hunt = Hunt(message, url=host.url, memory=memory, choice_field=field)
    driver = Driver(hunt, send, PATIENCE_S, lambda: next(ids))
    try:
        step = await anext(driver)
    finally:
        await client.aclose()
    assert isinstance(step, Replied)
    assert (step.understanding, step.proposal.shape) == (Understanding.ANSWERED, "canonical")
    assert (next(ids), memory.session, memory.sessions, memory.tools) == (2, None, 0, None)
