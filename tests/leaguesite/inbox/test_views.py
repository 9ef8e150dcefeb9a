"""The inbox over plain HTTP: who may fetch, answer and deliver messages, and the answers to these calls."""

from __future__ import annotations

import asyncio
import json
from contextlib import ExitStack
from typing import Any

import pytest
from asgiref.testing import ApplicationCommunicator

from league_sdk.protocol import rpc
from league_sdk.protocol.inbox import GRACE_HEADER, KEY_HEADER, LIMIT_HEADER, OUTCOME_HEADER
from league_sdk.protocol.limits import MAX_ANSWER_BYTES, MAX_JSON_DEPTH
from leaguesite.inbox import admission
from matches.inbox.hub import hub
from matches.inbox.keys import SeatKey
from matches.models import Match
from tests import factories as make
from tests import wire
from tests.leaguesite.serving.asgi import Answer, answer_of, begin, send
from tests.matches.agent_server import Agents
from tests.matches.inbox.stalling import stalled_site

pytestmark = pytest.mark.django_db(transaction=True)
JSON = "application/json"
CHOOSE = {"jsonrpc": "2.0", "method": "choose_parity", "params": {"match_id": "R1M1"}, "id": 1001}


@pytest.fixture
def here() -> Agents:
    return Agents()


async def registered(here: Agents, **changes: Any) -> dict[str, Any]:
    """The league's answer to a player that dials out."""
    await here.in_db(lambda: make.open_league("fall"))
    body = json.dumps(wire.request("register_player", wire.player_request(delivery="poll", **changes))).encode()
    answer = await send("POST", "/mcp", body, content_type=JSON)
    return dict(answer.json["result"])


async def seat(here: Agents, **line: str) -> tuple[str, dict[str, str]]:
    """The auth_token of the first player of a match in play, and the headers of a referee that asks it."""
    made = await here.in_db(make.running_league)
    key = await here.in_db(lambda: _key(Match.objects.get(match_id="R1M1")))
    headers = {KEY_HEADER: key, LIMIT_HEADER: "20", GRACE_HEADER: "10"} | line
    return made.players[0].token, {name.lower(): value for name, value in headers.items()}


def _key(match: Match) -> str:
    return SeatKey(match.pk, match.attempt, match.player_a_id).text()


async def poll(token: str, query: str = "wait=20") -> Answer:
    return await send("GET", f"/inbox?{query}", authorization=f"Bearer {token}")


async def waiting(token: str) -> ApplicationCommunicator:
    """A poll that waits."""
    talk = await begin("GET", "/inbox?wait=20", authorization=f"Bearer {token}")
    while not hub.lines():  # noqa: ASYNC110 - the hub has no event for a new line
        await asyncio.sleep(0)
    return talk


async def respond(token: str, *responses: Any) -> Answer:
    body = json.dumps({"responses": responses}).encode()
    return await send("POST", "/inbox", body, content_type=JSON, authorization=f"Bearer {token}")


async def test_a_player_that_registers_without_an_address_is_told_where_its_inbox_is(here: Agents) -> None:
    result = await registered(here)
    assert result["status"] == "ACCEPTED"
    assert result["inbox"] == {"poll_url": "http://testserver/inbox", "websocket_url": "ws://testserver/ws/inbox"}


async def test_a_poll_without_news_ends_with_an_empty_list(here: Agents) -> None:
    token = (await registered(here))["auth_token"]
    answer = await poll(token, "wait=0")
    assert (answer.status, answer.json) == (200, {"messages": [], "next": "0"})
    assert answer.all("cache-control") == ["no-store"]


async def test_a_poll_gets_a_referees_message_and_the_referee_gets_the_answer(here: Agents) -> None:
    token, headers = await seat(here)
    asking = asyncio.create_task(send("POST", "/inbox/deliver", json.dumps(CHOOSE).encode(), **headers))
    answer = await poll(token)
    [message] = answer.json["messages"]
    assert message["request"] == CHOOSE | {"id": message["request"]["id"]}
    assert message["cursor"] == answer.json["next"]
    assert 0 < message["seconds_left"] <= 20
    # The cursor says that the agent has this message, so the next poll does not offer it; without the cursor it does.
    assert (await poll(token, f"wait=0&after={answer.json['next']}")).json["messages"] == []
    assert (await poll(token, "wait=0")).json["messages"][0]["request"] == message["request"]
    response = {"jsonrpc": "2.0", "result": {"parity_choice": "even"}, "id": message["request"]["id"]}
    assert (await respond(token, response)).json == {"accepted": 1, "not_awaited": []}
    outcome = await asking
    assert (outcome.status, outcome.all(OUTCOME_HEADER.lower())) == (200, ["answered"])
    assert outcome.json == {"jsonrpc": "2.0", "result": {"parity_choice": "even"}, "id": 1001}
    assert (await respond(token, response)).json == {"accepted": 0, "not_awaited": [response["id"]]}


async def test_a_relay_is_told_the_call_and_hands_on_the_reply_of_its_server(here: Agents) -> None:
    token, headers = await seat(here)
    headers |= {"x-inbox-path": "/mcp/", "mcp-session-id": "s1", "x-other": "not for it"}
    asking = asyncio.create_task(send("POST", "/inbox/deliver", json.dumps(CHOOSE).encode(), **headers))
    [message] = (await poll(token)).json["messages"]
    assert message["http"] == {"id": 1001, "path": "/mcp/", "headers": {"mcp-session-id": "s1"}}
    reply = {"status": 404, "headers": {"content-type": "text/plain"}, "body": "Not Found"}
    await respond(token, {"id": message["request"]["id"], "http": reply})
    response = await asking
    assert (response.status, response.all(OUTCOME_HEADER.lower())) == (200, ["answered"])
    assert response.json == {"id": 1001, "http": reply}


async def test_the_referee_is_told_that_nobody_took_its_message(here: Agents) -> None:
    _, headers = await seat(here, **{GRACE_HEADER: "0"})
    response = await send("POST", "/inbox/deliver", json.dumps(CHOOSE).encode(), **headers)
    assert (response.status, response.all(OUTCOME_HEADER.lower())) == (504, ["not_connected"])


async def test_a_referee_hears_of_no_outcome_while_a_process_of_the_site_stands_still(
    here: Agents,
) -> None:
    _, headers = await seat(here, **{GRACE_HEADER: "0.01"})
    with stalled_site():
        response = await send("POST", "/inbox/deliver", json.dumps(CHOOSE).encode(), **headers)
    assert (response.status, response.all(OUTCOME_HEADER.lower()), response.all("retry-after")) == (503, [], ["1"])
    assert "stands still" in response.json["error"]


async def test_the_referee_is_told_that_its_message_was_taken_and_not_answered(here: Agents) -> None:
    token, headers = await seat(here, **{LIMIT_HEADER: "1"})
    line = await waiting(token)
    response = await send("POST", "/inbox/deliver", json.dumps(CHOOSE).encode(), **headers)
    assert (response.status, response.all(OUTCOME_HEADER.lower())) == (504, ["silent"])
    assert (await answer_of(line)).json["messages"]


async def test_a_newer_poll_takes_over_and_the_older_one_is_told_so(here: Agents) -> None:
    token = (await registered(here))["auth_token"]
    older = await waiting(token)
    newer = await begin("GET", "/inbox?wait=0", authorization=f"Bearer {token}")
    lost = await answer_of(older)
    assert lost.status == 409
    assert "took over" in lost.json["error"]["message"]
    assert (await answer_of(newer)).status == 200


async def test_a_caller_that_breaks_off_ends_its_line(here: Agents) -> None:
    token = (await registered(here))["auth_token"]
    talk = await waiting(token)
    await talk.send_input({"type": "http.disconnect"})
    await talk.wait()
    assert hub.lines() == []


@pytest.mark.parametrize("authorization", ["", "Bearer", "Bearer tok_of_nobody", "Basic x"])
async def test_nobody_fetches_without_a_valid_token(here: Agents, authorization: str) -> None:
    await registered(here)
    answer = await send("GET", "/inbox?wait=0", authorization=authorization)
    assert (answer.status, answer.json["error"]["data"]["error_code"]) == (401, "E012")


@pytest.mark.parametrize(
    "body", [b"", b"no json", b"[]", b"5", b'{"responses": 5}', b'{"responses": [5]}', b'{"responses": [{}]}']
)
async def test_an_answer_that_cannot_be_read_is_refused_with_a_reason(here: Agents, body: bytes) -> None:
    token = (await registered(here))["auth_token"]
    answer = await send("POST", "/inbox", body, content_type=JSON, authorization=f"Bearer {token}")
    assert (answer.status, answer.json["error"]["code"]) in [(400, -32700), (400, -32602)]
    assert answer.json["error"]["message"]


async def test_a_key_is_valid_for_its_seat_and_attempt_only(here: Agents) -> None:
    _, headers = await seat(here)
    match = await here.in_db(lambda: Match.objects.get(match_id="R1M1"))
    wrong = [
        "",
        "1.1.1",
        "x" * 300,
        "é",
        headers[KEY_HEADER.lower()][:-1] + "0g",
        SeatKey(match.pk, match.attempt + 1, match.player_a_id).text(),
        SeatKey(match.pk + 1, match.attempt, match.player_a_id).text(),
        SeatKey(match.pk, match.attempt, match.player_b_id + 1000).text(),
    ]
    for key in wrong:
        with_key = headers | {KEY_HEADER.lower(): key.encode().decode("latin1")}
        assert (await send("POST", "/inbox/deliver", json.dumps(CHOOSE).encode(), **with_key)).status == 404
    await here.in_db(lambda: Match.objects.filter(pk=match.pk).update(attempt=match.attempt + 1))
    assert (await send("POST", "/inbox/deliver", json.dumps(CHOOSE).encode(), **headers)).status == 404


async def test_polls_beyond_the_limit_are_refused_with_retry_after(here: Agents) -> None:
    token = (await registered(here))["auth_token"]
    with ExitStack() as lines:
        for number in range(admission.MAX_LINES):
            lines.enter_context(admission.OPEN_LINES.taken(f"198.51.{number // 250}.{number % 250}"))
        answer = await poll(token)
    assert (answer.status, answer.all("retry-after")) == (429, ["5"])
    assert hub.lines() == []


async def test_an_answer_that_is_too_large_after_encoding_is_not_passed_on(here: Agents) -> None:
    token, headers = await seat(here)
    asking = asyncio.create_task(send("POST", "/inbox/deliver", json.dumps(CHOOSE).encode(), **headers))
    [message] = (await poll(token)).json["messages"]
    numbers = ",".join(["1e15"] * 12_000)
    body = f'{{"responses":[{{"id":{message["request"]["id"]},"result":[{numbers}]}}]}}'.encode()
    assert len(body) < MAX_ANSWER_BYTES
    receipt = await send("POST", "/inbox", body, content_type=JSON, authorization=f"Bearer {token}")
    assert receipt.json["accepted"] == 1
    response = await asking
    assert (response.status, response.all(OUTCOME_HEADER.lower())) == (504, ["too_large"])
    assert response.json == {}


async def test_a_message_that_would_make_a_poll_unreadable_is_refused(here: Agents) -> None:
    token, headers = await seat(here)
    deep: Any = {}
    for _ in range(MAX_JSON_DEPTH - 3):
        deep = {"deeper": deep}
    refused = await send("POST", "/inbox/deliver", json.dumps(CHOOSE | {"params": deep}).encode(), **headers)
    assert (refused.status, refused.all(OUTCOME_HEADER.lower())) == (400, [])
    params = deep["deeper"]["deeper"]
    asking = asyncio.create_task(
        send("POST", "/inbox/deliver", json.dumps(CHOOSE | {"params": params}).encode(), **headers)
    )
    [message] = rpc.loads((await poll(token)).body)["messages"]
    await respond(token, {"id": message["request"]["id"], "result": {}})
    await asking


@pytest.mark.parametrize("query", ["&".join(["wait=0"] * 11), "wait=nan", "wait=-1", "wait=soon"])
async def test_a_query_that_cannot_be_read_is_refused_with_a_reason(here: Agents, query: str) -> None:
    token = (await registered(here))["auth_token"]
    answer = await poll(token, query)
    assert answer.status == 400
    assert answer.json["error"]["message"]
