"""Each bot of the zoo registers, and reads the answer, in the way of its kind."""

from __future__ import annotations

import asyncio
import copy
import json
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from tests.bots.base import listening
from tests.bots.words import INVITE, rpc_result
from tests.bots.zoo import entries
from tests.bots.zoo.asking import GONE, LEAGUE, tell
from tests.bots.zoo.base import Bot
from tests.bots.zoo.cast import BOTS
from tests.bots.zoo.entries import Post, Received, Unregistered, message_002
from tests.bots.zoo.mixed import mixtures
from tests.bots.zoo.serving import Serving
from tests.bots.zoo.speech import split

ACCEPTED = {
    "protocol": "league.v2",
    "message_type": "LEAGUE_REGISTER_RESPONSE",
    "sender": "league_manager:LM01",
    "status": "ACCEPTED",
    "player_id": "P07",
    "auth_token": "tok_1",
    "league_id": "league_2025_even_odd",
}


def answer(post: Post, accepted: dict[str, Any]) -> Received:
    """The answer of a league manager, in the shape of the request."""
    body = post.body
    method, rpc_id = body.get("method"), body.get("id")
    if method == "initialize":
        return Received(200, rpc_result({"protocolVersion": "1", "capabilities": {}, "serverInfo": {}}, rpc_id))
    if method == "tools/list":
        return Received(200, rpc_result({"tools": [{"name": "register_player"}]}, rpc_id))
    if method in ("resources/list", "prompts/list"):
        return Received(200, rpc_result({method.partition("/")[0]: []}, rpc_id))
    if method == "notifications/initialized":
        return Received(204)
    if method == "tools/call":
        return Received(200, rpc_result({"content": [{"type": "text", "text": json.dumps(accepted)}]}, rpc_id))
    if method == "league.handle":
        return Received(200, rpc_result(split(accepted) | {"payload": accepted}, rpc_id))
    if "message_id" in body:
        return Received(200, in_002(body["message_id"], accepted))
    if "message_id" in body.get("params", {}):
        return Received(200, rpc_result(in_002(body["params"]["message_id"], accepted), rpc_id))
    if method is not None:
        return Received(200, rpc_result(accepted, rpc_id))
    if "request_id" in body:
        return Received(200, {"request_id": body["request_id"], "data": accepted})
    return Received(200, accepted)


def in_002(message_id: str, payload: dict[str, Any]) -> dict[str, Any]:
    return message_002(
        "PLAYER_REGISTER_RESPONSE", "league_manager:LM01", payload, correlation_id=message_id, auth_token="tok_1"
    )


def register(bot: Bot, change: Any = None, **accepted: Any) -> list[Post]:
    """Let a bot register; ``change`` alters each answer. Returns the bot's requests."""
    exchange, posted = bot.enters(bot.applicant()), []
    fields = {name: value for name, value in (ACCEPTED | accepted).items() if value is not GONE}
    try:
        post = next(exchange)
        while True:
            posted.append(post)
            received = answer(post, fields)
            post = exchange.send(change(copy.deepcopy(received)) if change else received)
    except StopIteration as end:
        bot.read_registration(end.value)
    return posted


REGISTERING = [name for name, kind in BOTS.items() if kind.enters is not entries.never]


@pytest.mark.parametrize("name", [*REGISTERING, *mixtures()])
def test_a_bot_registers_when_the_league_manager_answers_in_its_own_shape(name: str) -> None:
    bot = (BOTS | mixtures())[name](LEAGUE, 8101)
    register(bot, status=bot.accepted_word)
    assert (bot.registered, bot.given_id, bot.auth_token) == (True, "P07", "tok_1")


@pytest.mark.parametrize(
    ("name", "accepted", "change"),
    [
        ("Chapter8", {"status": "REGISTERED"}, None),
        ("Chapter8", {"auth_token": ""}, None),
        ("Chapter8", {"player_id": GONE}, None),
        ("Chapter8", {}, lambda received: Received(200, received.body["result"])),
        ("Chapter8", {}, lambda received: Received(200, received.body | {"id": 2})),
        ("ReadsRegistered", {"status": "ACCEPTED"}, None),
        ("CapitalManager", {"sender": "league_manager"}, None),
        ("CapitalManager", {"sender": "league_manager:main"}, None),
        ("ToolsDirect", {}, lambda received: Received(200, rpc_result(ACCEPTED, 1))),
        ("LeagueHandle", {}, lambda received: Received(200, rpc_result(ACCEPTED, 1))),
        ("FlatOnMcp", {}, lambda received: Received(200, rpc_result(ACCEPTED, 1))),
        ("SmallBody", {}, lambda received: Received(400, ACCEPTED)),
        ("OwnEnvelope", {}, lambda received: Received(200, ACCEPTED)),
        ("HandshakeFirst", {}, lambda received: Received(200, rpc_result({}, received.body["id"]))),
        ("Seed001", {"status": "REJECTED"}, None),
        ("Seed002", {}, lambda received: Received(200, received.body | {"correlation_id": "another"})),
        ("Seed002", {}, lambda received: Received(200, ACCEPTED)),
    ],
)
def test_a_bot_stays_unregistered_after_an_answer_it_cannot_read(name: str, accepted: Any, change: Any) -> None:
    bot = BOTS[name](LEAGUE, 8101)
    with pytest.raises(Unregistered):
        register(bot, change, **accepted)
    assert not bot.registered
    assert tell(bot, INVITE).verdict == "not registered: not registered"


@pytest.mark.parametrize(
    ("name", "methods"),
    [
        ("Chapter8", ["register_player"]),
        ("TypeAsMethod", ["LEAGUE_REGISTER_REQUEST"]),
        ("LeagueRegister", ["league_register"]),
        ("ToolsDirect", ["tools/call"]),
        ("HandshakeFirst", ["initialize", "tools/list", "notifications/initialized", "tools/call"]),
        ("OtherWords", ["initialize", "notifications/initialized", "tools/list", "tools/call"]),
        ("NestedMessage", ["handle_message"]),
        ("LeagueHandle", ["league.handle"]),
        ("FlatOnMcp", [None]),
    ],
)
def test_a_bot_registers_by_the_calls_of_its_kind(name: str, methods: list[str | None]) -> None:
    posted = register(BOTS[name](LEAGUE, 8101))
    assert [(post.body.get("method"), post.at) for post in posted] == [(method, "mcp") for method in methods]
    assert [
        post for post in posted if str(post.body.get("method")).startswith("notifications/") and "id" in post.body
    ] == []


def test_bots_post_small_bodies_or_their_own_envelope_to_register() -> None:
    bodies = {name: register(BOTS[name](LEAGUE, 8101))[0] for name in ("SmallBody", "OwnEnvelope", "FlatAfterRegister")}
    assert {post.at for post in bodies.values()} == {"register"}
    assert {name: sorted(post.body) for name, post in bodies.items()} == {
        "SmallBody": ["endpoint", "name", "player_id"],
        "OwnEnvelope": ["data", "request_id", "type"],
        "FlatAfterRegister": ["display_name", "endpoint_url", "game_types", "version"],
    }


def test_a_bot_does_not_send_the_registration_fields_it_leaves_out() -> None:
    params = register(BOTS["HalfEnvelope"](LEAGUE, 8101))[0].body["params"]
    assert (sorted(params), sorted(params["player_meta"])) == (
        ["message_type", "player_meta", "protocol"],
        ["display_name", "endpoint_url"],
    )


async def test_a_bot_may_register_before_its_port_is_open_and_from_its_own_address(tmp_path: Path) -> None:
    callers: list[tuple[str | None, bool]] = []

    async def league(request: web.Request) -> web.Response:
        body = await request.json()
        endpoint = body["params"]["player_meta"]["contact_endpoint"].replace("localhost", str(request.remote))
        port = int(endpoint.split(":")[2].split("/")[0])
        try:
            _, writer = await asyncio.open_connection(str(request.remote), port)
        except ConnectionRefusedError:
            callers.append((request.remote, False))
        else:
            writer.close()
            await writer.wait_closed()
            callers.append((request.remote, True))
        return web.json_response(rpc_result(ACCEPTED, body["id"]))

    lines = []
    async with listening(league) as url:
        for name in ("PortLater", "LocalTime"):
            serving = Serving(BOTS[name], league=url, log=tmp_path / name)
            lines.append(await serving.start())
            await serving.stop()
    assert callers == [("127.0.0.1", False), ("127.0.0.5", True)]
    assert [line.split()[:2] for line in lines] == [["READY", "PortLater"], ["READY", "LocalTime"]]
    logged = [json.loads((tmp_path / name).read_text()) for name in ("PortLater", "LocalTime")]
    assert [line["reply"]["result"] for line in logged] == [ACCEPTED, ACCEPTED]
