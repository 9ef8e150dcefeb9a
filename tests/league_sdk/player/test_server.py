"""The HTTP server of a player at a real port, with the messages of chapter 8 (004 8.6 to 8.11)."""

import json
import random
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio
from aiohttp import ClientSession

from league_sdk.player import AlwaysOdd, Player, PlayerServer, Random
from league_sdk.protocol.envelope import parse_stamp
from tests.league_sdk.player.samples import ACCEPTED, CHOICE, INVITATION, LEAGUE_TOKEN, OVER, TOKEN, message


class Host:
    """A player at a real port, and a client for it."""

    def __init__(self, player: Player, server: PlayerServer, http: ClientSession) -> None:
        self.player, self.server, self.http = player, server, http
        self.base = f"http://127.0.0.1:{server.port}"

    async def post(self, body: bytes, **headers: str) -> tuple[int, Any]:
        sent = {"Content-Type": "application/json"} | {k.replace("_", "-"): v for k, v in headers.items()}
        async with self.http.post(self.base + "/mcp", data=body, headers=sent) as reply:
            raw = await reply.read()
            return reply.status, json.loads(raw) if raw else None

    async def call(self, method: str, params: Any = None, rpc_id: Any = 1101) -> dict[str, Any]:
        body = {"jsonrpc": "2.0", "method": method, "params": params, "id": rpc_id}
        status, reply = await self.post(json.dumps(body).encode())
        assert (status, reply["jsonrpc"], reply["id"]) == (200, "2.0", rpc_id)
        return dict(reply)


async def open_host(player: Player) -> AsyncIterator[Host]:
    server = PlayerServer({"/mcp": player})
    await server.start("127.0.0.1", 0)
    async with ClientSession() as http:
        yield Host(player, server, http)
    await server.stop()


@pytest_asyncio.fixture
async def host() -> AsyncIterator[Host]:
    player = Player("Alpha", AlwaysOdd())
    player.accept(ACCEPTED)
    async for made in open_host(player):
        yield made


# -- chapter 8's calls ------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["handle_game_invitation", "GAME_INVITATION", "mcp_message"])
async def test_an_invitation_is_answered_as_chapter_8_shows(host: Host, method: str) -> None:
    result = (await host.call(method, INVITATION))["result"]
    parse_stamp(result.pop("timestamp"))
    parse_stamp(result.pop("arrival_timestamp"))
    assert result == {
        "protocol": "league.v2",
        "message_type": "GAME_JOIN_ACK",
        "sender": "player:P01",
        "conversation_id": "conv-r1m1-001",
        "auth_token": TOKEN,
        "match_id": "R1M1",
        "player_id": "P01",
        "accept": True,
    }


@pytest.mark.parametrize("method", ["choose_parity", "CHOOSE_PARITY_CALL", "make_move"])
async def test_a_choice_is_answered_as_chapter_8_shows(host: Host, method: str) -> None:
    result = (await host.call(method, CHOICE))["result"]
    parse_stamp(result.pop("timestamp"))
    assert result == {
        "protocol": "league.v2",
        "message_type": "CHOOSE_PARITY_RESPONSE",
        "sender": "player:P01",
        "conversation_id": "conv-r1m1-001",
        "auth_token": TOKEN,
        "match_id": "R1M1",
        "player_id": "P01",
        "parity_choice": "odd",
    }


@pytest.mark.parametrize("method", ["make_move", "GAME_MOVE_CALL"])
async def test_a_generic_move_is_answered(host: Host, method: str) -> None:
    host.player.decider.strategy = Random(random.Random(1))
    request = {"move_type": "place", "valid_options": [4], "context": {"board": []}}
    params = message("GAME_MOVE_CALL", game_type="tic_tac_toe", move_request=request)
    result = (await host.call(method, params))["result"]
    assert (result["message_type"], result["game_type"]) == ("GAME_MOVE_RESPONSE", "tic_tac_toe")
    assert result["move_data"] == {"move_type": "place", "choice": 4}


@pytest.mark.parametrize(
    ("method", "message_type"),
    [
        ("notify_round", "ROUND_ANNOUNCEMENT"),
        ("update_standings", "LEAGUE_STANDINGS_UPDATE"),
        ("notify_round_completed", "ROUND_COMPLETED"),
        ("notify_league_completed", "LEAGUE_COMPLETED"),
        ("notify_game_error", "GAME_ERROR"),
    ],
)
async def test_messages_that_ask_for_nothing_are_received_by_method_and_by_message_type(
    host: Host, method: str, message_type: str
) -> None:
    for name in (method, message_type):
        assert (await host.call(name, message(message_type)))["result"] == {"status": "received"}


async def test_a_match_is_remembered_and_shown_to_holders_of_a_token_only(host: Host) -> None:
    for method, params in (
        ("handle_game_invitation", INVITATION),
        ("choose_parity", CHOICE),
        ("notify_match_result", OVER),
    ):
        assert "result" in await host.call(method, params)
    for token in (TOKEN, LEAGUE_TOKEN):
        state = (await host.call("get_player_state", {"auth_token": token}))["result"]
        assert state["stats"] == {"total_matches": 1, "wins": 1, "losses": 0, "draws": 0}
        assert state["matches"] == [
            {
                "match_id": "R1M1",
                "league_id": "league_2025_even_odd",
                "round_id": 1,
                "opponent_id": "P02",
                "result": "WIN",
                "status": "WIN",
                "my_choice": "odd",
                "opponent_choice": "even",
                "drawn_number": 7,
            }
        ]
    for params, code in (({}, "E011"), ({"auth_token": 7}, "E011"), ({"auth_token": "tok_x"}, "E012")):
        error = (await host.call("get_player_state", params))["error"]
        assert (error["code"], error["data"]["error_code"]) == (-32001, code)
        assert "tok_" not in json.dumps(error)


async def test_an_unregistered_player_shows_its_state_to_nobody() -> None:
    async for host in open_host(Player("Alpha", AlwaysOdd())):
        error = (await host.call("get_player_state", {"auth_token": ""}))["error"]
        assert error["data"]["error_code"] == "E011"


async def test_the_server_lists_its_tools_and_reports_its_health(host: Host) -> None:
    assert (await host.call("ping"))["result"] == {"status": "ok"}
    tools = (await host.call("list_tools"))["result"]["tools"]
    listed = (await host.call("tools/list"))["result"]["tools"]
    assert [tool["inputSchema"] for tool in listed] == [tool["inputSchema"] for tool in tools[:-1]]
    assert all(tool["description"] and tool["inputSchema"]["type"] == "object" for tool in tools)
    names = {tool["name"] for tool in tools}
    assert names == {
        "handle_game_invitation", "choose_parity", "make_move", "notify_match_result", "notify_game_error",
        "notify_round", "update_standings", "notify_round_completed", "notify_league_completed", "ping",
        "get_player_state", "list_tools",
    }  # fmt: skip
    async with host.http.get(host.base + "/health") as reply:
        assert await reply.json() == {"status": "ok", "players": {"Alpha": "P01"}}


# -- what is not usable -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"{", -32700),
        (b"\xff", -32700),
        (b"[]", -32600),
        (b"7", -32600),
        (b'{"jsonrpc":"2.0","id":1}', -32600),
        (b'{"jsonrpc":"2.0","method":"nothing_like_it","id":1}', -32601),
        (b'{"jsonrpc":"2.0","method":"mcp_message","id":1,"params":{"message_type":["x"]}}', -32601),
        (b'{"jsonrpc":"2.0","method":"choose_parity","id":1,"params":[1]}', -32602),
        (b'{"jsonrpc":"2.0","method":"choose_parity","id":1}', -32602),
        (b'{"jsonrpc":"2.0","method":"choose_parity","id":1,"params":{"match_id":{}}}', -32602),
        (b'{"jsonrpc":"2.0","method":"make_move","id":1,"params":{"match_id":"R1M1"}}', -32602),
        (b'{"jsonrpc":"2.0","method":"notify_match_result","id":1,"params":{"match_id":"R1M1"}}', -32602),
        (b'{"jsonrpc":"2.0","method":"choose_parity","id":1,"params":{"protocol":"league.v1"}}', -32000),
    ],
)
async def test_what_is_malformed_gets_a_json_rpc_error(host: Host, body: bytes, code: int) -> None:
    status, reply = await host.post(body)
    assert (status, reply["error"]["code"]) == (200, code)
    assert "Traceback" not in json.dumps(reply)


async def test_a_game_over_that_is_refused_leaves_the_invitation_for_the_next(host: Host) -> None:
    await host.call("handle_game_invitation", INVITATION)
    assert "error" in await host.call("notify_match_result", OVER | {"game_result": None})
    await host.call("notify_match_result", OVER | {"game_result": {"status": "DRAW", "winner_player_id": None}})
    (row,) = host.player.memory.matches
    assert (row["league_id"], row["round_id"], row["opponent_id"]) == ("league_2025_even_odd", 1, "P02")


async def test_wrong_http_requests_are_refused_and_notifications_and_a_trailing_slash_are_not(host: Host) -> None:
    big = json.dumps({"jsonrpc": "2.0", "method": "ping", "id": 1, "params": {"x": "y" * 70_000}}).encode()
    assert (await host.post(big))[0] == 413
    assert (await host.post(b"{}", Content_Type="text/plain"))[1]["error"]["code"] == -32600
    assert await host.post(b'{"jsonrpc":"2.0","method":"ping"}') == (204, None)
    async with host.http.get(host.base + "/mcp") as reply:
        assert (reply.status, reply.headers["Allow"]) == (405, "POST")
    async with host.http.post(host.base + "/elsewhere", json={}) as reply:
        assert (reply.status, (await reply.json())["error"]["code"]) == (404, -32601)
    async with host.http.post(host.base + "/mcp/", json={"jsonrpc": "2.0", "method": "ping", "id": 1}) as reply:
        assert reply.status == 200


async def test_a_call_of_the_league_at_the_port_is_noted_and_no_other(host: Host) -> None:
    for token, called in (("tok_neighbour", False), (host.player.league_token, True)):
        await host.call("ping", {"protocol": "league.v2", "message_type": "PING", "auth_token": token})
        assert host.player.called.is_set() is called
